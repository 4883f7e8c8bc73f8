"""One step of a loop as sums of what it reads: its states, and a row of a tensor around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ...format.schema import RecurrentFn
from ...ir import Array, Graph, Node, Value
from .sums import MASK, NoSum, Real, Sum, joined

PLAIN = {f.name: f for f in (RecurrentFn.Sigmoid, RecurrentFn.Tanh, RecurrentFn.Softsign)}
"""Operators that are a function without attributes."""

X = "x"


@dataclass(frozen=True)
class Counter:
    """by * step + start, an integer."""

    by: int
    start: int

    @property
    def next(self) -> Counter:
        return Counter(self.by, self.start + self.by)


@dataclass(frozen=True)
class Rows:
    """What a step reads of a tensor around the loop: one index of an axis."""

    whole: Value
    axis: int
    at: Counter


class Step:
    """Reads the nodes of a step of `batch` samples. `inputs` are the step's own, as far as they
    are known."""

    def __init__(
        self, graph: Graph, inputs: Mapping[Value, Sum | Counter | Rows], batch: int
    ) -> None:
        self._made = {v: n for n in graph.nodes for v in n.outputs}
        self._inputs, self._batch = inputs, batch
        self._sums: dict[Value, Sum] = {}
        self._rows: set[Rows] = set()
        self._masks: set[Rows] = set()

    def rows(self) -> Rows:
        """Where x is from, of what was read. Raises NoSum unless it is one tensor."""
        if len(self._rows) != 1:
            raise NoSum
        return next(iter(self._rows))

    @property
    def is_masked(self) -> bool:
        return bool(self._masks)

    def mask(self) -> Rows:
        """As `rows`, of the mask."""
        if len(self._masks) != 1:
            raise NoSum
        return next(iter(self._masks))

    def sum_of(self, v: Value) -> Sum:
        """Raises NoSum."""
        if v not in self._sums:
            self._sums[v] = self._new_sum(v)
            if v.const is None and self._sums[v].size != v.shape[-1]:
                raise NoSum
        return self._sums[v]

    def _new_sum(self, v: Value) -> Sum:
        if v.const is not None:
            return Sum.constant(_vector(v.const))
        if v.dtype != np.float32 or not _is_matrix(v, self._batch):
            raise NoSum
        given, node = self._inputs.get(v), self._made.get(v)
        if isinstance(given, Sum):
            return given
        if isinstance(given, Rows):
            return self._x(given)
        if node is None:
            raise NoSum
        if node.op in PLAIN:
            return self.sum_of(node.input(0)).applied(PLAIN[node.op])
        if node.op not in _READ:
            raise NoSum
        return _READ[node.op](self, node)

    def _x(self, rows: Rows) -> Sum:
        if rows.whole.const is not None or not rows.at.by:
            raise NoSum
        self._rows.add(rows)
        return Sum.of(X, rows.whole.shape[-1])

    def counter_of(self, v: Value) -> Counter:
        """Raises NoSum."""
        given = self._inputs.get(v)
        if isinstance(given, Counter):
            return given
        if v.const is not None and v.const.size == 1 and v.const.dtype.kind == "i":
            return Counter(0, int(v.const.ravel()[0]))
        node = self._made.get(v)
        if node is None or v.dtype.kind != "i" or v.type.size != 1:
            raise NoSum
        if node.op in ("Reshape", "Cast"):
            return self.counter_of(node.input(0))
        if node.op in ("Add", "Sub"):
            a, b = (self.counter_of(node.input(i)) for i in (0, 1))
            sign = 1 if node.op == "Add" else -1
            return Counter(a.by + sign * b.by, a.start + sign * b.start)
        raise NoSum

    def _mask_of(self, v: Value) -> Sum:
        """A bool of each sample."""
        given, node = self._inputs.get(v), self._made.get(v)
        if v.dtype != np.uint8 or v.type.size != self._batch:
            raise NoSum
        if node is not None and node.op == "Gather":
            given = self._row_of(node)
        if isinstance(given, Rows) and given.whole.const is None and given.at.by:
            self._masks.add(given)
            return Sum({}, {(MASK,): np.ones(1)}, np.zeros(1))
        if node is None:
            raise NoSum
        if node.op == "Reshape":
            return self._mask_of(node.input(0))
        if node.op == "Equal" and (other := node.input(1).const) is not None and not other.any():
            return Sum.constant(np.ones(1)) + self._mask_of(node.input(0)).scaled(-np.ones(1))
        raise NoSum

    def _cast(self, node: Node) -> Sum:
        inner = self._made.get(node.input(0))
        if inner is not None and inner.op == "Cast":
            return self._cast(inner)
        return self._mask_of(node.input(0))

    def _where(self, node: Node) -> Sum:
        mask, a, b = self._mask_of(node.input(0)), *(self.sum_of(node.input(i)) for i in (1, 2))
        size = max(a.size, b.size)
        a, b, mask = a.wide(size), b.wide(size), mask.wide(size)
        return mask * a + b + (mask * b).scaled(-np.ones(size))

    def _of_two(self, node: Node) -> tuple[Sum, Sum]:
        a, b = (self.sum_of(node.input(i)) for i in (0, 1))
        size = max(a.size, b.size)
        return a.wide(size), b.wide(size)

    def _add(self, node: Node) -> Sum:
        a, b = self._of_two(node)
        return a + b

    def _sub(self, node: Node) -> Sum:
        a, b = self._of_two(node)
        return a + b.scaled(-np.ones(b.size))

    def _mul(self, node: Node) -> Sum:
        a, b = self._of_two(node)
        if node.input(0).const is not None:
            return b.scaled(a.bias)
        return a.scaled(b.bias) if node.input(1).const is not None else a * b

    def _div(self, node: Node) -> Sum:
        a, b = self._of_two(node)
        if node.input(1).const is None or not b.bias.all():
            raise NoSum
        return a.scaled(1 / b.bias)

    def _neg(self, node: Node) -> Sum:
        a = self.sum_of(node.input(0))
        return a.scaled(-np.ones(a.size))

    def _product(self, node: Node) -> Sum:
        weights, *bias = node.inputs[1:]
        assert weights is not None
        if weights.const is None or weights.const.ndim != 2:
            raise NoSum
        matrix = weights.const.astype(np.float64).T
        total = self.sum_of(node.input(0)) @ matrix
        if bias and bias[0] is not None:
            total += self.sum_of(bias[0]).wide(total.size)
        return total

    def _clip(self, node: Node) -> Sum:
        """Limits that are no Relu are those of a HardSigmoid."""
        x, low, high = self.sum_of(node.input(0)), node.attrs["min"], node.attrs["max"]
        if low == 0 and high == np.inf:
            return x.applied(RecurrentFn.Relu)
        if low != 0 or high == np.inf:
            raise NoSum
        scale = np.full(x.size, float(high))
        return x.scaled(1 / scale).applied(RecurrentFn.HardSigmoid).scaled(scale)

    def _hard_sigmoid(self, node: Node) -> Sum:
        x = self.sum_of(node.input(0))
        beta = Sum.constant(np.full(x.size, node.attrs["beta"]))
        inner = x.scaled(np.full(x.size, node.attrs["alpha"])) + beta
        return inner.applied(RecurrentFn.HardSigmoid)

    def _slice(self, node: Node) -> Sum:
        starts, sizes, steps = (node.attrs[k] for k in ("starts", "sizes", "steps"))
        whole = node.input(0).shape
        if tuple(sizes[:-1]) != whole[:-1] or steps[-1] != 1:
            raise NoSum
        return self.sum_of(node.input(0)).columns(slice(starts[-1], starts[-1] + sizes[-1]))

    def _concat(self, node: Node) -> Sum:
        if node.attrs["axis"] % len(node.output.shape) != len(node.output.shape) - 1:
            raise NoSum
        return joined([self.sum_of(v) for v in node.inputs if v is not None])

    def _reshape(self, node: Node) -> Sum:
        return self.sum_of(node.input(0))

    def _gather(self, node: Node) -> Sum:
        rows = self._row_of(node)
        if rows.axis == len(rows.whole.shape) - 1:
            raise NoSum
        return self._x(rows)

    def _row_of(self, node: Node) -> Rows:
        whole, at = node.input(0), node.input(1)
        if whole in self._made or whole in self._inputs:
            raise NoSum
        return Rows(whole, node.attrs["axis"] % len(whole.shape), self.counter_of(at))


_READ: dict[str, Callable[[Step, Node], Sum]] = {
    "Add": Step._add, "Sub": Step._sub, "Mul": Step._mul, "Div": Step._div, "Neg": Step._neg,
    "FullyConnected": Step._product, "Clip": Step._clip, "HardSigmoid": Step._hard_sigmoid,
    "Slice": Step._slice, "Concat": Step._concat, "Reshape": Step._reshape,
    "Gather": Step._gather, "Cast": Step._cast, "Where": Step._where,
}  # fmt: skip


def _is_matrix(v: Value, batch: int) -> bool:
    return bool(v.shape) and v.type.size == batch * v.shape[-1]


def _vector(array: Array) -> Real:
    """A constant that is the same for the whole batch, [n] or [1]."""
    rows = array.reshape(-1, array.shape[-1] if array.shape else 1)
    if not len(rows) or np.any(rows != rows[0]):
        raise NoSum
    found: Real = rows[0].astype(np.float64)
    return found
