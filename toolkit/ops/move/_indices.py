"""Places in a tensor that are computed at run time: arithmetic on int32, and a checked look-up."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...ir import Shape, Value
from .._broadcast import within_reach
from .._opdef import Builder, Unsupported

MOST = 1 << 31


def as_index(b: Builder, x: Value) -> Value:
    """`x`, of integers, in int32."""
    if x.const is not None:
        return b.constant(x.const.astype(np.int32), x.name)
    return x if x.dtype == np.int32 else b.emit("Cast", [x], to=np.dtype(np.int32))


def add(b: Builder, x: Value, y: Value) -> Value:
    """x + y, broadcast; what is all 0 is left out where the shape stays."""
    for one, other in ((x, y), (y, x)):
        nothing = one.const is not None and not np.any(one.const)
        if nothing and np.broadcast_shapes(one.shape, other.shape) == other.shape:
            return other
    return b.emit("Add", within_reach(b, [x, y]))


def steps(b: Builder, at: Value, size: int, step: int) -> Value:
    """`at`, indices along an axis of `size`, counted from the front and times `step`.

    One that is outside the axis stops the run.
    """
    if size * step >= MOST:
        raise Unsupported(f"it indexes {size * step} elements; at most {MOST - 1} are supported")
    table = b.constant((np.arange(size, dtype=np.int64) * step).astype(np.int32))
    return b.emit("Gather", [table, as_index(b, at)], axis=0)


def element_places(b: Builder, shape: Shape, at: Value, axis: int) -> Value:
    """Places in a tensor of `shape`, flattened: those of the grid `at`.shape, along `axis` `at`."""
    stride = prod(shape[axis + 1 :])
    grid = [1 if i == axis else d for i, d in enumerate(at.shape)]
    base = np.zeros(grid, np.int64)
    for i, d in enumerate(at.shape):
        if i != axis:
            column = [d if k == i else 1 for k in range(len(grid))]
            base = base + np.arange(d).reshape(column) * prod(shape[i + 1 :])
    return add(b, steps(b, at, shape[axis], stride), b.constant(base.astype(np.int32)))


def point_places(b: Builder, lead: Shape, at: Value, batch: int) -> Value:
    """Rows of a tensor whose first axes are `lead`, flattened: `at` [batch.., .., k] has the
    coordinates along the k axes behind the first `batch`."""
    where = at.shape[:-1]
    total: Value | None = None
    for k, size in enumerate(lead[batch:]):
        column = column_of(b, at, k)
        found = steps(b, column, size, prod(lead[batch + k + 1 :]))
        total = found if total is None else add(b, total, found)
    base = np.zeros([1] * len(where), np.int64)
    for i in range(batch):
        column_shape = [lead[i] if k == i else 1 for k in range(len(where))]
        base = base + np.arange(lead[i]).reshape(column_shape) * prod(lead[i + 1 :])
    assert total is not None
    return add(b, total, b.constant(base.astype(np.int32)))


def column_of(b: Builder, x: Value, k: int) -> Value:
    """x[..., k]."""
    if x.const is not None:
        return b.constant(x.const[..., k])
    if x.shape[-1] > 1:
        rank = len(x.shape)
        x = b.emit(
            "Slice", [x], starts=(0,) * (rank - 1) + (k,), sizes=(*x.shape[:-1], 1),
            steps=(1,) * rank,
        )  # fmt: skip
    return b.reshape(x, x.shape[:-1])


def rows_at(b: Builder, x: Value, places: Value, rest: Sequence[int]) -> Value:
    """The rows of shape `rest` of x at `places`: [*places.shape, *rest]."""
    rows = x.type.size // prod(rest)
    return b.emit("Gather", [b.reshape(x, (rows, *rest)), places], axis=0)
