"""Sums of integer elements before requantization: their unit and bound (docs/arithmetic.md)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...fixed_point import (
    ACC_LIMIT16,
    MAX_SHIFT,
    multipliers,
    multipliers16,
    requantize,
    requantize16,
)
from ...ir import Array, QuantParams

LIMIT = 1 << 30

UNIT = 16
"""Sums of int8 are requantized in sixteenths: near a ratio of 1 the double rounding would show."""

LEAST_BITS = 12
"""That the multiplier of a mean over a number of elements that varies keeps: it is off by 2^-12 of
itself at most, 1/16 of a step."""

Table = tuple[NDArray[np.int32], NDArray[np.int8] | NDArray[np.uint8]]


def sum_table(x: QuantParams, y: QuantParams, divisors: Array) -> Table:
    """Multipliers and shifts from sums of `x` to `y`, by divisor. ValueError if out of range."""
    over = divisors.astype(np.float64)
    if x.dtype == np.int16:
        return multipliers16(x.scalar / (y.scalar * over))
    return multipliers(x.scalar / (UNIT * y.scalar * over))


def mean_table(x: QuantParams, y: QuantParams, count: int, most: int) -> Table:
    """The entry of a mean over `count` elements that varies: floor(m / count), with m and the shift
    of a mean over one. ValueError where `most` elements leave too little of m, and for int16, whose
    multipliers have 23 bits."""
    if x.dtype == np.int16:
        raise ValueError("a mean over a number of elements that varies has no int16 form")
    ratio = x.scalar / (UNIT * y.scalar)
    shift = max(0, int(np.frexp(ratio)[1]) + 1)
    whole = min(int(np.rint(np.ldexp(ratio, 31 - shift))), (1 << 30) - 1)
    if whole < most << LEAST_BITS or shift > MAX_SHIFT:
        raise ValueError(f"a mean over up to {most} elements with a ratio of {ratio:g}")
    return np.array([whole // count], np.int32), np.array([shift], np.int8)


def requantized_sum(acc: Array, m: Array, shift: Array, y: QuantParams) -> Array:
    """Sums of q - zero_point, in `y`, by entries of a `sum_table`."""
    if y.dtype == np.int16:
        return requantize16(acc, m, shift, y.qmin, y.qmax)
    return requantize(acc * UNIT, m, shift, y.zero_point, y.qmin, y.qmax)


def sum_problem(counts: Array, x: QuantParams, shifts: Array) -> str | None:
    """Why sums of `counts` elements of `x`, by entries of a `sum_table`, do not fit, or None."""
    if x.dtype == np.int16:
        bound, limit = counts.astype(np.int64) * 32768, ACC_LIMIT16
    else:
        largest = max(127 - x.zero_point, x.zero_point + 128)
        left = np.maximum(shifts.astype(np.int64), 0)
        bound, limit = counts.astype(np.int64) * (largest * UNIT) << left, LIMIT
    if np.all(bound < limit):
        return None
    most = int(counts[int(np.argmax(bound))])
    return f"a sum of {most} elements may exceed 2^{limit.bit_length() - 1} before rounding"
