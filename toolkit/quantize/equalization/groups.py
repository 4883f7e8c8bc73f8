"""Where the channels of a tensor may be scaled: from what makes them to what takes it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...build import open_once
from ...format.schema import BinaryFn
from ...ir import Array, Graph, Node, Value
from ...ops import computes, definition, is_a, is_view
from ...ops.move.gather import Gather
from ...ops.norm.layer_norm import LayerNorm
from ..scheme.lookup_chains import find_chains

Reals = NDArray[np.float64]


@dataclass
class EqualizationGroup:
    """Tensors whose channels (the last axis) are scaled alike, as they are moved or added.

    makers     nodes whose weights, or scale and bias, or rows that they pick, make the tensors, or
               the last of a chain, whose tables do; the first one's output gives the group its name
    readers    nodes that take a scale back: by their weights, or a LayerNorm by its factors
    sums       Adds in between, in order of execution
    products   Muls in between by what is no part of the group, in order of execution
    constants  operands of the sums that are constant
    looked_up  nodes of chains by the tensors they read: their tables take a scale back
    tensors    those that have sizes of their own, in order of execution
    tensor_of  the one of these that a value of the group is, but for what moves it
    """

    makers: list[Node] = field(default_factory=list)
    readers: list[Node] = field(default_factory=list)
    sums: list[Node] = field(default_factory=list)
    products: list[Node] = field(default_factory=list)
    constants: list[tuple[Node, int]] = field(default_factory=list)
    looked_up: dict[Value, list[Node]] = field(default_factory=dict)
    tensors: list[Value] = field(default_factory=list)
    tensor_of: dict[Value, Value] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.makers[0].output.name

    @property
    def needs_tables(self) -> bool:
        """Whether tables for classes of channels are made, or read, where it is scaled."""
        return bool(self.looked_up) or not all(map(makes_by_constants, self.makers))

    @property
    def channels(self) -> int:
        return self.makers[0].output.shape[-1]


def find_equalization_groups(graph: Graph) -> list[EqualizationGroup]:
    """In order of execution; not before a clamp that would move.

    Over a sum, and from a table of rows, only if a LayerNorm reads: nothing else was measured.
    """
    finder, done = GroupFinder(graph, _passes_on, widely=True), set[Node]()
    groups: list[EqualizationGroup] = []
    for node in graph.nodes:
        if node in done or not finder.makes(node):
            continue
        group = finder.group(node)
        if group is not None:
            done.update(group.makers)
            groups.append(group)
    return groups


def groups_named(
    groups: Iterable[EqualizationGroup], numbers: Mapping[str, Sequence[float]], to_do: str
) -> Iterator[tuple[EqualizationGroup, Reals]]:
    """The groups that `numbers` are for, by name, with one for each channel.

    Raises ValueError for a name that is no group's, or other channels; `to_do` says what for.
    """
    by_name = {s.name: s for s in groups}
    for name, found in numbers.items():
        group = by_name.get(name)
        if group is None or group.channels != len(found):
            raise ValueError(f"'{name}' is no tensor of {len(found)} channels {to_do}")
        yield group, np.array(found, np.float64)


def observe_channels(
    graph: Graph,
    names: set[str],
    samples: Iterable[Mapping[str, Array]],
    see: Callable[[str, Array], None],
) -> int:
    """Show the tensors of these names as [places, channels], sample by sample; how many samples.

    What is shown is valid during the call only. Without a name nothing runs.
    """
    if not names:
        return 0
    session, count = open_once(graph), 0

    def look(_: int, name: str, array: Array) -> None:
        if name in names:
            see(name, array.reshape(-1, array.shape[-1]))

    for sample in samples:
        session.run_layers(sample, look)
        count += 1
    return count


def has_weights(node: Node) -> bool:
    """Whether a node makes a float tensor with weights."""
    op = definition(node.op)
    return op.weight is not None and node.output.dtype == np.float32


def _homogeneous(node: Node) -> bool:
    low, high = node.attrs.get("act_min", -np.inf), node.attrs.get("act_max", np.inf)
    return low in (0.0, -np.inf) and bool(high == np.inf)


def makes_by_constants(node: Node) -> bool:
    """Whether the channels of its output may be scaled by its constants."""
    if node.output.dtype != np.float32 or not node.output.shape or not _homogeneous(node):
        return False
    if is_a(node, Gather):
        table = node.input(0)
        return table.const is not None and node.attrs["axis"] == 0 and len(table.shape) == 2
    return has_weights(node) or _is_norm(node)


def _is_norm(node: Node) -> bool:
    """A LayerNorm of channels."""
    return is_a(node, LayerNorm) and tuple(node.attrs["axes"]) == (len(node.output.shape) - 1,)


def _passes_on(node: Node) -> bool:
    if is_view(node):
        return node.input(0).shape[-1:] == node.output.shape[-1:]
    return "scale" in definition(node.op).channelwise


def _adds(node: Node) -> bool:
    """A sum of tensors of one shape, or of one and a constant with its channels."""
    if (
        not computes(node, BinaryFn.Add)
        or node.output.dtype != np.float32
        or not _homogeneous(node)
    ):
        return False
    return all(
        v.type == node.output.type
        or (v.const is not None and v.shape[-1:] == node.output.shape[-1:])
        for v in (node.input(0), node.input(1))
    )


def _alone(node: Node) -> bool:
    """Whether it reads its first operand but once."""
    return node.inputs.count(node.inputs[0]) == 1


def _doubles(node: Node) -> bool:
    """Whether it adds a tensor to itself: a chain of its own, but channels pass through it too."""
    return _adds(node) and node.input(0) is node.input(1)


def _scaled_by_other(node: Node) -> Value | None:
    """Of a product of two tensors that one whose channels it may pass on: the other is a gate."""
    if (
        not computes(node, BinaryFn.Mul)
        or node.output.dtype != np.float32
        or not _homogeneous(node)
    ):
        return None
    a, b = node.input(0), node.input(1)
    if a is b or a.const is not None or b.const is not None:
        return None
    return next((v for v in (a, b) if v.type == node.output.type), None)


class GroupFinder:
    """Finds all that has to change with what a node makes.

    `passes_on` says of a node that reads a tensor once whether its output is that in all that
    matters. `widely`: over sums and products, to layer normalizations, and from table to table.
    """

    def __init__(self, graph: Graph, passes_on: Callable[[Node], bool], widely: bool) -> None:
        self.passes_on, self.widely = passes_on, widely
        self.consumers: Mapping[Value, list[Node]] = graph.consumers()
        self.producers, self.outputs = graph.producers(), graph.output_values()
        self.place = {n: i for i, n in enumerate(graph.nodes)}
        chains = find_chains(graph) if widely else []
        self.ends = {c.end for c in chains}
        self.inside = {n for c in chains for n in c.nodes}

    def makes(self, node: Node) -> bool:
        """Whether the channels of its output may be scaled by its constants, or by its table."""
        return makes_by_constants(node) or self._ends_chain(node)

    def _ends_chain(self, node: Node) -> bool:
        v = node.output
        several = v in self.ends and v.shape[-1:] > (1,)
        return several and not self.passes_on(node) and not _doubles(node)

    def _looks_up(self, node: Node) -> bool:
        """Whether it is part of a table, if channels do not pass through it."""
        return node in self.inside and not _doubles(node)

    def group(self, maker: Node) -> EqualizationGroup | None:
        """What `maker` makes, with all else, ends in the readers; None if in anything else too."""
        group, seen, waiting = EqualizationGroup([maker]), set[Value](), [maker.output]
        while waiting:
            v = waiting.pop()
            if v in seen:
                continue
            seen.add(v)
            beyond = None if v in self.outputs else self._around(v, group)
            if beyond is None:
                return None
            waiting += beyond
        picks = any(is_a(n, Gather) for n in group.makers)
        if (group.sums or picks) and not any(_is_norm(n) for n in group.readers):
            return None
        for nodes in (group.makers, group.readers, group.sums, group.products):
            nodes[:] = sorted(dict.fromkeys(nodes), key=lambda n: self.place[n])
        sized = sorted({*group.makers, *group.sums, *group.products}, key=lambda n: self.place[n])
        group.tensors = [n.output for n in sized]
        group.tensor_of = {v: self._source(v, set(group.tensors)) for v in seen}
        group.constants = [
            (n, i) for n in group.sums for i, v in enumerate(n.inputs) if v and v.const is not None
        ]
        return group if group.readers or group.looked_up else None

    def _source(self, v: Value, tensors: set[Value]) -> Value:
        while v not in tensors:
            v = self.producers[v].input(0)
        return v

    def _around(self, v: Value, group: EqualizationGroup) -> list[Value] | None:
        """The other tensors that change with `v`; makers, readers and sums go to the group."""
        source, beyond = self.producers.get(v), list[Value]()
        if source is None:
            return None
        if source in group.makers or (self.widely and self.makes(source)):
            group.makers.append(source)
        elif self.passes_on(source) and _alone(source):
            beyond.append(source.input(0))
        elif self._looks_up(source):
            return None
        elif self.widely and _adds(source):
            beyond += self._sum(source, group)
        elif self.widely and _scaled_by_other(source) is not None:
            beyond += self._product(source, group)
        else:
            return None
        for node in self.consumers.get(v, []):
            first = node.inputs[0] is v
            if first and (has_weights(node) or (self.widely and _is_norm(node))):
                group.readers.append(node)
            elif first and _alone(node) and self.passes_on(node):
                beyond.append(node.output)
            elif self._looks_up(node):
                group.looked_up.setdefault(v, []).append(node)
            elif self.widely and _scaled_by_other(node) is v:
                beyond += self._product(node, group)
            elif self.widely and _adds(node):
                beyond += self._sum(node, group)
            else:
                return None
        return beyond

    def _product(self, node: Node, group: EqualizationGroup) -> list[Value]:
        group.products.append(node)
        main = _scaled_by_other(node)
        assert main is not None
        return [node.output, main]

    def _sum(self, node: Node, group: EqualizationGroup) -> list[Value]:
        group.sums.append(node)
        return [v for v in (node.output, *node.inputs) if v is not None and v.const is None]
