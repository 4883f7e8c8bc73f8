"""Graphs inside of nodes -> one flat list of operators, with Regions as borders.

What a loop carries has memory that is written in front of the loop and at the end of each step;
what both branches give has memory that both write. Where the operator that makes such a value can
write there at once, nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..format.schema import RegionFn
from ..ir import Graph, Node, Value
from ..ops import definition, is_a, is_view
from ..ops.control.regions import Branch, Loop, Region, region
from ..ops.convert.fake_quantize import spelled_out
from ..ops.move.movement import Copy
from .schedule import schedule


@dataclass
class Flat:
    """Operators in the order in which the file has them."""

    order: list[Node]
    home: dict[Value, Value] = field(default_factory=dict)
    """Values that are written where another has its memory already."""
    stands_for: dict[Value, Value] = field(default_factory=dict)
    """Values of nodes with graphs inside, and what they are in the list."""
    times: dict[int, int] = field(default_factory=dict)
    """How often an operator runs at most, by the id of its node, where that is not once."""

    def value(self, v: Value) -> Value:
        """What `v` is in the list."""
        while v in self.stands_for:
            v = self.stands_for[v]
        return v

    def graph(self, graph: Graph) -> Graph:
        """The graph with the ports of the list."""
        if not self.stands_for:
            return graph
        outputs = [replace(p, value=self.value(p.value)) for p in graph.outputs]
        return replace(graph, outputs=outputs)


def flattened(order: Sequence[Node]) -> Flat:
    """The operators of `order` and of the graphs inside of them."""
    if not any(is_a(node, Loop, Branch) for node in order):
        return Flat(list(order))
    flat = Flat([])
    flat.order = _list(order, flat, 1)
    _measure(flat.order)
    return flat


def _list(nodes: Sequence[Node], flat: Flat, times: int) -> list[Node]:
    found: list[Node] = []
    for node in nodes:
        if is_a(node, Loop):
            found += _loop(node, flat, times)
        elif is_a(node, Branch):
            found += _branch(node, flat, times)
        else:
            inputs = [None if v is None else flat.value(v) for v in node.inputs]
            found.append(Node(node.op, inputs, node.outputs, node.attrs, node.name))
            if times > 1:
                flat.times[id(found[-1])] = times
    return found


def _loop(node: Node, flat: Flat, times: int) -> list[Node]:
    body = spelled_out(node.attrs["body"])
    most = int(node.attrs["most"])
    trips, condition = (None if v is None else flat.value(v) for v in node.inputs[:2])
    given = [flat.value(v) for v in node.inputs[2:] if v is not None]
    made = [port.value for port in body.outputs]
    starts = [*([] if condition is None else [condition]), *given][: len(made)]
    asked = bool(node.attrs["asked"])
    homes = [Value(f"{port.name}.held", port.value.type) for port in body.outputs]
    first = [copied(v, home) for v, home in zip(starts, homes, strict=True)]
    step, *inside = [port.value for port in body.inputs]
    carried = homes[1:] if asked else homes
    flat.stands_for.update(zip(inside, [*carried, *given[len(carried) :]], strict=True))
    steps = _list(schedule(body), flat, times * most)
    steps += _stores(steps, [flat.value(v) for v in made], homes, flat)
    flat.stands_for.update(zip(node.outputs, [*carried, step], strict=True))
    operands: list[Value | None] = [trips, *([] if asked else [None]), *homes]
    begin, end = (region(fn, operands, [step]) for fn in (RegionFn.Loop, RegionFn.EndLoop))
    for border in (begin, end):
        border.attrs |= {"most": most, "strict": int(node.attrs["strict"])}
    return [*first, begin, *steps, end]


def _stores(
    steps: list[Node], made: Sequence[Value], homes: Sequence[Value], flat: Flat
) -> list[Node]:
    """What brings the carried values of a step where the next one reads them."""
    made_by = {v: n for n in steps for v in n.outputs}
    roots = [_root(v, made_by) for v in made]
    safe, kept = [], []
    for v, root, home in zip(made, roots, homes, strict=True):
        if root in homes and root is not home:  # a store may overwrite it before it is read
            kept.append(copied(v, Value(f"{home.name}.was", home.type)))
            v = root = kept[-1].output
        safe.append((v, root, home))
    steps += kept
    stores = []
    for v, root, home in safe:
        if root is home:
            continue
        if root not in flat.home and _writes_at(root, home, steps, made_by):
            flat.home[root] = home
            continue
        stores.append(copied(v, Value(f"{home.name}.next", home.type)))
        flat.home[stores[-1].output] = home
    return stores


def _writes_at(root: Value, home: Value, steps: list[Node], made_by: dict[Value, Node]) -> bool:
    """Whether the operator that makes `root` may write it where `home` lies."""
    node = made_by.get(root)
    if node is None or is_a(node, Region) or root.type.nbytes != home.type.nbytes:
        return False
    at = steps.index(node)
    for i, other in enumerate(steps):
        if is_view(other) or i < at:
            continue
        reads = [v for v in other.dynamic_inputs if _root(v, made_by) is home]
        if i > at and reads:
            return False
        places = [other.inputs[k] for k in definition(other.op).inplace if k < len(other.inputs)]
        if i == at and reads and (len(set(reads)) > 1 or reads[0] not in places[:1]):
            return False
    return not any(v is not root and _root(v, made_by) is home for v in node.outputs)


def _branch(node: Node, flat: Flat, times: int) -> list[Node]:
    condition, *given = [None if v is None else flat.value(v) for v in node.inputs]
    homes = [Value(f"{v.name}.chosen", v.type) for v in node.outputs]
    lists: list[list[Node]] = []
    for body in map(spelled_out, (node.attrs["yes"], node.attrs["no"])):
        flat.stands_for.update({p.value: v for p, v in zip(body.inputs, given, strict=True) if v})
        steps = _list(schedule(body), flat, times)
        made_by = {v: n for n in steps for v in n.outputs}
        stores = []
        for v, home in zip((flat.value(p.value) for p in body.outputs), homes, strict=True):
            root = _root(v, made_by)
            maker = made_by.get(root)
            if maker is not None and root not in flat.home and not is_a(maker, Region):
                flat.home[root] = home
                continue
            stores.append(copied(v, Value(f"{home.name}.{len(lists)}", home.type)))
            flat.home[stores[-1].output] = home
        lists.append([*steps, *stores])
    flat.stands_for.update(zip(node.outputs, homes, strict=True))
    return [
        region(RegionFn.If, [condition], homes),
        *lists[0],
        region(RegionFn.Else, [], homes),
        *lists[1],
        region(RegionFn.EndIf, [], homes),
    ]


def _root(v: Value, made_by: dict[Value, Node]) -> Value:
    """What has the memory of `v`."""
    while v in made_by and is_view(made_by[v]):
        v = made_by[v].input(0)
    return v


def copied(x: Value, y: Value) -> Node:
    """The node that copies `x` to `y`. Of a constant of equal elements one is in the file."""
    same = x.const is not None and x.const.size > 1 and bool(np.all(x.const == x.const.flat[0]))
    if same and x.const is not None:
        one = np.ascontiguousarray(x.const.reshape(-1)[:1])
        x = Value(x.name, replace(x.type, shape=(1,)), one)
    attrs = {
        "dims": (y.type.size,), "strides": (0 if same else 1,), "offset": 0, "shape": y.shape
    }  # fmt: skip
    return Node(Copy.name, [x], [y], attrs, y.name)


def _measure(order: Sequence[Node]) -> None:
    """Fill in how many operators of the file lie between borders."""
    open_at: list[tuple[int, Node]] = []
    for at, node in enumerate(n for n in order if not is_view(n)):
        if not is_a(node, Region):
            continue
        fn = node.attrs["fn"]
        if fn not in (RegionFn.If, RegionFn.Loop):
            begun, border = open_at.pop()
            border.attrs["length"] = node.attrs["back"] = at - begun
        if fn not in (RegionFn.EndIf, RegionFn.EndLoop):
            open_at.append((at, node))


def loops(order: Sequence[Node]) -> Iterator[tuple[int, int]]:
    """The steps, from 1, at which loops begin and end, inner ones before outer ones."""
    begun: list[int] = []
    for step, node in enumerate(order, 1):
        if not is_a(node, Region):
            continue
        if node.attrs["fn"] == RegionFn.Loop:
            begun.append(step)
        elif node.attrs["fn"] == RegionFn.EndLoop:
            yield begun.pop(), step
