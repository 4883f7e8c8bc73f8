"""Chains of elementwise functions of one tensor: on int8, each becomes one table of 256 entries.

A chain consists of any number of unary operators, binary operators with a constant scalar, binary
operators of two functions of the same tensor (x * sigmoid(x), x * hardsigmoid(x), x + relu(x)), and
Where with a condition on that tensor only (a softplus that is x above 20). It may also contain
power-of-two factors per channel, as inserted by equalization/cross_layer.py; then there is one
table for each class of channels with equal factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ...format.schema import BinaryFn, CompareFn
from ...ir import Graph, Node, QuantParams, Value
from ...ops import computes, definition, is_a
from ...ops._opdef import Activation
from ...ops.elementwise.binary import FUNCTIONS
from ...ops.elementwise.compare import FUNCTIONS as COMPARISONS
from ...ops.elementwise.lut import MOST_TABLES, Lut
from ...ops.elementwise.where import Where

Reals = NDArray[np.float64]
Function = Callable[[Reals], Reals]

CONDITIONS = {
    fn.name: COMPARISONS[fn] for fn in (CompareFn.Equal, CompareFn.Less, CompareFn.LessOrEqual)
}


@dataclass(eq=False)
class LookupChain:
    """`end` as a function of the element of `root` at the same position.

    functions  one per class of channels, in double precision; infinities and NaN are kept
    index      the class of each channel (the last axis), None if there is only one
    """

    root: Value
    end: Value
    nodes: tuple[Node, ...]  # from root to end, in execution order

    @cached_property
    def index(self) -> NDArray[np.uint8] | None:
        found = _classes(self.nodes)
        return None if found is None else found.astype(np.uint8)

    @cached_property
    def functions(self) -> list[Function]:
        if self.index is None:
            return [partial(self._of, 0)]
        _, channels = np.unique(self.index, return_index=True)
        return [partial(self._of, int(c)) for c in channels]

    @cached_property
    def node(self) -> Node:
        """The table, whose operands are not made yet."""
        return Node(Lut.name, [self.root], [self.end], {}, self.nodes[-1].name)

    @property
    def op(self) -> str:
        """The operator shown to users: the last one that is not a factor per channel."""
        own = [n for n in self.nodes if _classes([n]) is None]
        return (own or self.nodes)[-1].op

    def _of(self, channel: int, x: Reals) -> Reals:
        known = {self.root: x}

        def operand(v: Value) -> Reals:
            if v.const is not None:
                return np.full_like(x, float(v.const.ravel()[channel % v.const.size]))
            return known[v]

        with np.errstate(all="ignore"):
            for node in self.nodes:
                y = _apply(node, operand)
                inside = node.output is not self.end
                known[node.output] = _rounded(y, node.output.quant) if inside else y
        return known[self.end]


def _rounded(y: Reals, quant: QuantParams | None) -> Reals:
    """`y` rounded to the grid that the model specifies for the tensor, if any."""
    if quant is None:
        return y
    q = np.clip(np.rint(y / quant.scalar) + quant.zero_point, quant.qmin, quant.qmax)
    real: Reals = (q - quant.zero_point) * quant.scalar
    return real


def _classes(nodes: Iterable[Node]) -> NDArray[np.intp] | None:
    """The class of each channel, from the factors of all nodes; None if there is only one."""
    constants = [v.const for n in nodes for v in n.inputs if v is not None]
    factors = [c.ravel() for c in constants if c is not None and c.size > 1]
    if not factors:
        return None
    _, index = np.unique(np.stack(factors), axis=1, return_inverse=True)
    return index.ravel() if index.any() else None


def _has_tables(nodes: Iterable[Node]) -> bool:
    """Whether a Lut supports that many classes of channels."""
    index = _classes(nodes)
    return index is None or int(index.max()) < MOST_TABLES


def _apply(node: Node, operand: Callable[[Value], Reals]) -> Reals:
    if is_a(node, Where):
        condition, x, y = (operand(node.input(i)) for i in range(3))
        return np.where(condition != 0, x, y)
    if node.op in CONDITIONS:
        return CONDITIONS[node.op](operand(node.input(0)), operand(node.input(1))).astype(
            np.float64
        )
    if node.op not in BinaryFn.__members__:
        table = definition(node.op).table(node)
        assert table is not None, node
        return table(operand(node.input(0)))
    fn, act = FUNCTIONS[BinaryFn[node.op]], Activation.of(node)
    return np.clip(fn(operand(node.input(0)), operand(node.input(1))), act.low, act.high)


def _is_scalar(v: Value) -> bool:
    return v.const is not None and v.const.size == 1


def _are_factors(v: Value, node: Node) -> bool:
    """Whether constant `v` scales each channel of the node's output by a power of two."""
    if v.const is None or not computes(node, BinaryFn.Mul) or v.shape != node.output.shape[-1:]:
        return False
    mantissa, _ = np.frexp(v.const)
    return bool(np.all(mantissa == 0.5))


def _elementwise(node: Node) -> bool:
    """Whether a node maps each element to one element, by a function that depends only on the
    channel."""
    dynamic = node.dynamic_inputs
    if not dynamic or any(v.shape != node.output.shape for v in dynamic):
        return False
    if node.op in CONDITIONS or is_a(node, Where):
        return all(_is_scalar(v) for v in node.inputs if v is not None and v.const is not None)
    if len(node.outputs) != 1 or node.output.dtype != np.float32:
        return False
    if any(v.type != node.output.type for v in dynamic):
        return False
    if node.op in BinaryFn.__members__:
        given = [v for v in node.inputs if v is not None]
        constants = [v for v in given if v.const is not None]
        return len(given) == 2 and all(_is_scalar(v) or _are_factors(v, node) for v in constants)
    return definition(node.op).table(node) is not None


def find_chains(graph: Graph) -> list[LookupChain]:
    """The longest chains whose ends are read outside of them, in execution order.

    Ends are numeric: a condition that is read outside is not part of a chain.
    """
    outside: set[Node] = set()
    while True:
        chains = _find_chains(graph, outside)
        told = {c.nodes[-1] for c in chains if c.end.dtype != np.float32}
        if not told:
            return chains
        outside |= told


def _find_chains(graph: Graph, outside: set[Node]) -> list[LookupChain]:
    root: dict[Value, Value] = {}
    path: dict[Value, tuple[Node, ...]] = {}
    for node in graph.nodes:
        if node in outside or not _elementwise(node):
            continue
        roots = {root.get(v, v) for v in node.dynamic_inputs}
        before = [n for v in node.dynamic_inputs for n in path.get(v, ())]
        nodes = (*dict.fromkeys(before), node)
        numbers = all(v.dtype == np.float32 for v in roots)
        if len(roots) == 1 and numbers and _has_tables(nodes):
            root[node.output] = roots.pop()
            path[node.output] = nodes
    order = {id(n): i for i, n in enumerate(graph.nodes)}
    ends = _read_outside(graph, root)
    return [
        LookupChain(root[end], end, tuple(sorted(path[end], key=lambda n: order[id(n)])))
        for end in root
        if end in ends
    ]


def _read_outside(graph: Graph, root: dict[Value, Value]) -> set[Value]:
    ends = graph.output_values() & root.keys()
    for node in graph.nodes:
        for v in node.dynamic_inputs:
            if v in root and not (node.output in root and root[node.output] is root[v]):
                ends.add(v)
    return ends
