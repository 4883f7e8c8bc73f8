"""The bound of sums of int8 elements before requantization (docs/arithmetic.md)."""

from __future__ import annotations

import numpy as np

from ..ir import Array

LIMIT = 1 << 30

UNIT = 16
"""Sums are requantized in sixteenths: their ratio may be near 1, where double rounding shows."""


def sum_problem(counts: Array, zero_point: int, shifts: Array) -> str | None:
    """Why sums of `counts` elements, in units and shifted, do not stay below 2^30, or None."""
    largest = max(127 - zero_point, zero_point + 128)
    bound = counts.astype(np.int64) * (largest * UNIT) << np.maximum(shifts.astype(np.int64), 0)
    if np.all(bound < LIMIT):
        return None
    return f"a sum of {int(counts[int(np.argmax(bound))])} elements may exceed 2^30 before rounding"
