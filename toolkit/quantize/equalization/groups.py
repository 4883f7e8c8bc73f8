"""Tensors whose channels can be scaled: from the producers to the readers that undo it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...format.schema import BinaryFn
from ...ir import Graph, Node, Value
from ...ops import computes, definition, is_a, is_view
from ...ops.move.gather import Gather
from ...ops.norm.layer_norm import LayerNorm
from ..scheme.lookup_chains import find_chains

Reals = NDArray[np.float64]


@dataclass
class EqualizationGroup:
    """Tensors whose channels (the last axis) must have equal scales, as data moves or adds up
    between them.

    makers     nodes that produce the tensors and can scale them: by weights, by scale and bias
               (LayerNorm), by table rows (Gather), or by a lookup table (the last node of a chain);
               the group is named after the first one's output
    readers    nodes that undo the scale: by their weights, or a LayerNorm by its shifts
    sums       Adds in between, in execution order
    products   Muls in between whose other operand is not in the group, in execution order
    constants  constant operands of the sums, as (node, input)
    looked_up  nodes of lookup chains, by the tensor they read; their tables undo the scale
    tensors    outputs of makers, sums and products, in execution order
    tensor_of  the entry of `tensors` from which data movement produces each value of the group
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
        """Whether scaling it requires lookup tables per class of channels."""
        return bool(self.looked_up) or not all(map(makes_by_constants, self.makers))

    @property
    def channels(self) -> int:
        return self.makers[0].output.shape[-1]


def find_equalization_groups(graph: Graph) -> list[EqualizationGroup]:
    """The groups of a graph, in execution order. Nodes with a clamp that scaling would move are
    excluded.

    Groups with a sum or a Gather must have a LayerNorm among the readers; others were not measured.
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
    """The groups named in `numbers`, with one number for each channel.

    Raises ValueError for a name that is not a group, or a wrong number of channels; `to_do` ends
    the message.
    """
    by_name = {s.name: s for s in groups}
    for name, found in numbers.items():
        group = by_name.get(name)
        if group is None or group.channels != len(found):
            raise ValueError(f"'{name}' is not a tensor of {len(found)} channels {to_do}")
        yield group, np.array(found, np.float64)


def names_outside(
    graph: Graph, groups: Iterable[EqualizationGroup], numbers: Mapping[str, Sequence[float]]
) -> set[str]:
    """Names of the tensors of `graph` that are not in one of the `groups` named in `numbers`: their
    values do not change with those of the group."""
    names = {v.name for v in graph.values()}
    for group in groups:
        if group.name in numbers:
            names -= {v.name for v in (*group.tensors, *group.tensor_of)}
    return names


def has_weights(node: Node) -> bool:
    """Whether a node has weights and a float output."""
    op = definition(node.op)
    return op.weight is not None and node.output.dtype == np.float32


def _homogeneous(node: Node) -> bool:
    low, high = node.attrs.get("act_min", -np.inf), node.attrs.get("act_max", np.inf)
    return low in (0.0, -np.inf) and bool(high == np.inf)


def makes_by_constants(node: Node) -> bool:
    """Whether its constants can scale the channels of its output."""
    if node.output.dtype != np.float32 or not node.output.shape or not _homogeneous(node):
        return False
    if is_a(node, Gather):
        table = node.input(0)
        return table.const is not None and node.attrs["axis"] == 0 and len(table.shape) == 2
    return has_weights(node) or _is_norm(node)


def _is_norm(node: Node) -> bool:
    """Whether it is a LayerNorm over the channel axis."""
    return is_a(node, LayerNorm) and tuple(node.attrs["axes"]) == (len(node.output.shape) - 1,)


def _passes_on(node: Node) -> bool:
    if is_view(node):
        return node.input(0).shape[-1:] == node.output.shape[-1:]
    return "scale" in definition(node.op).channelwise


def _adds(node: Node) -> bool:
    """Whether it adds tensors of one shape, or a constant with the same channels."""
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
    """Whether its first operand is used only once among its inputs."""
    return node.inputs.count(node.inputs[0]) == 1


def _doubles(node: Node) -> bool:
    """Whether it adds a tensor to itself: a lookup chain, but also linear in each channel."""
    return _adds(node) and node.input(0) is node.input(1)


def _scaled_by_other(node: Node) -> Value | None:
    """The operand of a product of two tensors that can be scaled; the other one is a gate."""
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
    """Finds the tensors and nodes that must change together with a node's output.

    `passes_on` tells whether a change to a node's input appears unchanged in its output. `widely`
    also follows sums, products, layer normalizations and lookup tables.
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
        """Whether its constants or its table can scale the channels of its output."""
        return makes_by_constants(node) or self._ends_chain(node)

    def _ends_chain(self, node: Node) -> bool:
        v = node.output
        several = v in self.ends and v.shape[-1:] > (1,)
        return several and not self.passes_on(node) and not _doubles(node)

    def _looks_up(self, node: Node) -> bool:
        """Whether it is part of a lookup chain and does not merely pass channels on."""
        return node in self.inside and not _doubles(node)

    def group(self, maker: Node) -> EqualizationGroup | None:
        """The group of `maker`; None if any consumer cannot undo the scale."""
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
        """Tensors that must change together with `v`; adds its makers, readers and sums to
        `group`."""
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
