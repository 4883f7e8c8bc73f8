"""Arithmetic on tensors written as formulas: what composite operators are built with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import Array, Shape, Value
from ._broadcast import within_reach
from ._opdef import Builder, Unsupported
from .move.movement import expand

Number = int | float
INT32 = np.dtype(np.int32)
FLOAT32 = np.dtype(np.float32)


def _divided(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    return np.asarray(np.trunc(a / np.where(b == 0, 1, b)).astype(a.dtype))


_CONSTANT: dict[str, Any] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Min": np.minimum, "Max": np.maximum,
    "Div": _divided, "Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal,
    "And": np.logical_and, "Or": np.logical_or,
}  # fmt: skip


class Term:
    """A tensor in a formula: int32, float32, or bool (uint8, 0 or 1). Other operands are Terms,
    arrays or numbers; what is constant is computed at once."""

    __array_ufunc__ = None  # arrays leave operators to Term

    def __init__(
        self, b: Builder, value: Value | Array | Number, like: Value | None = None
    ) -> None:
        if not isinstance(value, Value):
            array = np.asarray(value)
            if like is not None and array.dtype.kind != "b":
                array = array.astype(like.dtype)
            value = b.constant(_held(array))
        elif value.const is not None:
            value = b.constant(_held(value.const))
        self.b, self.value = b, value

    @property
    def shape(self) -> Shape:
        return self.value.shape

    @property
    def const(self) -> Array | None:
        return self.value.const

    def _with(self, other: Any) -> Term:
        return other if isinstance(other, Term) else Term(self.b, other, self.value)

    def _call(self, op: str, x: Term, y: Term) -> Term:
        if x.const is not None and y.const is not None and op in _CONSTANT:
            return Term(self.b, _CONSTANT[op](x.const, y.const))
        return Term(self.b, self.b.emit(op, within_reach(self.b, [x.value, y.value])))

    def __add__(self, other: Any) -> Term:
        return self._call("Add", self, self._with(other))

    def __radd__(self, other: Any) -> Term:
        return self._call("Add", self._with(other), self)

    def __sub__(self, other: Any) -> Term:
        return self._call("Sub", self, self._with(other))

    def __rsub__(self, other: Any) -> Term:
        return self._call("Sub", self._with(other), self)

    def __mul__(self, other: Any) -> Term:
        return self._call("Mul", self, self._with(other))

    def __rmul__(self, other: Any) -> Term:
        return self._call("Mul", self._with(other), self)

    def __truediv__(self, other: Any) -> Term:
        """Of integers towards zero."""
        return self._call("Div", self, self._with(other))

    def __rtruediv__(self, other: Any) -> Term:
        return self._call("Div", self._with(other), self)

    def __lt__(self, other: Any) -> Term:
        return self._call("Less", self, self._with(other))

    def __le__(self, other: Any) -> Term:
        return self._call("LessOrEqual", self, self._with(other))

    def __gt__(self, other: Any) -> Term:
        return self._call("Less", self._with(other), self)

    def __ge__(self, other: Any) -> Term:
        return self._call("LessOrEqual", self._with(other), self)

    def __and__(self, other: Term) -> Term:
        return self._call("And", self, other)

    def __or__(self, other: Term) -> Term:
        return self._call("Or", self, other)

    def __invert__(self) -> Term:
        return self._call("Equal", self, Term(self.b, np.zeros((), np.uint8)))

    def equals(self, other: Any) -> Term:
        return self._call("Equal", self, self._with(other))

    def at_least(self, other: Any) -> Term:
        return self._call("Max", self, self._with(other))

    def at_most(self, other: Any) -> Term:
        return self._call("Min", self, self._with(other))

    def modulo(self, n: int) -> Term:
        """Of int32: the remainder that is not negative, for n > 0."""
        rest = self - (self / n) * n
        return (rest < 0).where(rest + n, rest)

    def where(self, x: Any, y: Any) -> Term:
        """x where this is true, y where it is not."""
        a = x if isinstance(x, Term) else Term(self.b, x, y.value if isinstance(y, Term) else None)
        c = y if isinstance(y, Term) else Term(self.b, y, a.value)
        if self.const is not None and a.const is not None and c.const is not None:
            return Term(self.b, np.where(self.const != 0, a.const, c.const))
        chosen = self.b.emit("Where", within_reach(self.b, [self.value, a.value, c.value]))
        return Term(self.b, chosen)

    def to(self, dtype: Any) -> Term:
        wanted = np.dtype(dtype)
        if self.value.dtype == wanted:
            return self
        if self.const is not None:
            return Term(self.b, self.const.astype(wanted))
        return Term(self.b, self.b.emit("Cast", [self.value], to=wanted))

    def function(self, op: str, **attrs: Any) -> Term:
        """A unary operator of the IR."""
        return Term(self.b, self.b.emit(op, [self.value], **attrs))

    def reshape(self, *shape: int) -> Term:
        return Term(self.b, self.b.reshape(self.value, shape))

    def transpose(self, *perm: int) -> Term:
        return Term(self.b, self.b.transpose(self.value, perm))

    def expand(self, *shape: int) -> Term:
        if self.const is not None:
            return Term(self.b, np.broadcast_to(self.const, shape))
        return Term(self.b, expand(self.b, self.value, shape))

    def sum(self, *axes: int) -> Term:
        """Of float32, over neighbouring axes, which stay as 1."""
        return Term(self.b, self.b.emit("ReduceSum", [self.value], axes=axes, keepdims=True))

    def take(self, indices: Any, axis: int = 0) -> Term:
        """Slices at int32 `indices` along an axis; one outside of it stops the run."""
        at = indices if isinstance(indices, Term) else Term(self.b, np.asarray(indices, np.int32))
        if self.const is not None and at.const is not None:
            return Term(self.b, np.take(self.const, at.const, axis))
        return Term(self.b, self.b.emit("Gather", [self.value, at.value], axis=axis))

    def part(self, axis: int, start: int, size: int = 1) -> Term:
        """`size` neighbours along an axis."""
        if self.const is not None:
            return Term(self.b, np.take(self.const, range(start, start + size), axis))
        if start == 0 and size == self.shape[axis]:
            return self
        starts, sizes = [0] * len(self.shape), list(self.shape)
        starts[axis], sizes[axis] = start, size
        part = self.b.emit(
            "Slice", [self.value], starts=tuple(starts), sizes=tuple(sizes),
            steps=(1,) * len(sizes),
        )  # fmt: skip
        return Term(self.b, part)


def _held(array: Array) -> Array:
    """In an element type that formulas compute in."""
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        if np.any(narrow != array):
            raise Unsupported("a constant does not fit int32", "use smaller numbers")
        return narrow
    return array.astype(np.float32) if array.dtype == np.float64 else array


def stacked(terms: Sequence[Term], axis: int) -> Term:
    """Tensors one behind the other along an axis."""
    if len(terms) == 1:
        return terms[0]
    b = terms[0].b
    return Term(b, b.emit("Concat", [t.value for t in terms], axis=axis))


def column(n: int, axis: int, rank: int, step: int = 1) -> Array:
    """0, step, .. along one axis of `rank`, as int32."""
    shape = [n if i == axis else 1 for i in range(rank)]
    return (np.arange(n, dtype=np.int64) * step).astype(np.int32).reshape(shape)
