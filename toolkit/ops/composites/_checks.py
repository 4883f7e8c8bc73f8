"""Parameters that are computed at run time, held to what the model's shapes say of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ...ir import Shape, Value
from .._formula import Term, stacked
from .._opdef import Builder


def checked(x: Term, *conditions: Term) -> Term:
    """`x`; a run in which an element of `conditions` (bools) is false stops with an index that is
    out of range."""
    b = x.b
    flat = stacked([c.reshape(int(np.prod(c.shape))) for c in conditions], 0)
    zeros = Term(b, np.zeros(1, np.int32)).take((~flat).to(np.int32))
    return x.reshape(1, *x.shape).take(zeros.part(0, 0).reshape())


def agrees(found: Term, wanted: Sequence[int]) -> Term:
    """Bools: whether each of the int32 `found` is what the model's shapes say."""
    return found.equals(np.asarray(wanted, np.int32))


def as_ints(b: Builder, value: Value) -> Term:
    """An int32 tensor of one axis."""
    if value.const is not None:
        ends = np.iinfo(np.int32)
        return Term(b, np.clip(value.const, ends.min, ends.max).astype(np.int32).ravel())
    term = Term(b, value).to(np.int32)
    return term.reshape(value.type.size)


def chosen_axes(b: Builder, axes: Value, rank: int, sets: Sequence[tuple[int, ...]]) -> Term:
    """Which of `sets` the axes, computed, are: an int32 scalar, len(sets) for none of them."""
    powers = Term(b, np.array([1 << i for i in range(rank)], np.int32))
    bits = powers.take(as_ints(b, axes))
    code = bits.part(0, 0)
    for i in range(1, bits.shape[0]):
        code = code + bits.part(0, i)
    table = np.full((1 << rank) * max(bits.shape[0], 1), len(sets), np.int32)
    for i, one in enumerate(sets):
        table[sum(1 << a for a in one)] = i
    return Term(b, table).take(code).reshape()


def axis_sets(shape: Shape, count: int, result: Shape, keepdims: bool) -> list[tuple[int, ...]]:
    """The sets of `count` axes whose reduction makes `result` of `shape`."""

    def reduced(axes: tuple[int, ...]) -> Shape:
        if keepdims:
            return tuple(1 if i in axes else d for i, d in enumerate(shape))
        return tuple(d for i, d in enumerate(shape) if i not in axes)

    return [c for c in combinations(range(len(shape)), count) if reduced(c) == result]
