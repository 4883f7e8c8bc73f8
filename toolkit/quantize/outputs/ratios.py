"""Maps of positive numbers that differ by a large factor, as depths: an error counts relative to
each number.

Metrics of depths do so (threshold accuracy and relative error, Eigen et al. 2014). A sum of squares
is made by what is far: one scale up to 80 m has steps of 0.3 m for what is 1 m away.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Shape
from .signals import ENOUGH

LEAST_SIDE = 16
"""Least height and width of such a map."""
LOW, HIGH = 0.05, 0.95
"""Quantiles that are compared."""
FACTOR = 8.0
"""The least factor between them: that of depths is 10 or more."""
SMALLEST = 1 / 500
"""Least value of the lower one, relative to the largest number: a density or a heat map is zero in
most places, and what is nearly zero counts like zero."""


def least_of_ratios(samples: Sequence[Array]) -> float | None:
    """The number below which errors no longer become more important, if the `samples` of a tensor
    are such maps; None of other tensors."""
    if len(samples) < ENOUGH or not all(is_map(x.shape, LEAST_SIDE) for x in samples):
        return None
    if not all(np.isfinite(x).all() and (x >= 0).all() for x in samples):
        return None
    low, high = np.median([np.quantile(x, (LOW, HIGH)) for x in samples], axis=0)
    largest = max(float(x.max()) for x in samples)
    if high < FACTOR * low or low < SMALLEST * largest:
        return None
    return SMALLEST * largest


def logarithms(x: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Of numbers, those below `least` as that: differences are relative errors."""
    found: NDArray[np.float64] = np.log(np.maximum(x, least))
    return found


def is_map(shape: Shape, least_side: int) -> bool:
    """Whether it has two axes at least this long, and no more than one number for each place."""
    sides = sorted(shape)[-2:]
    return len(sides) == 2 and sides[0] >= least_side and sides[0] * sides[1] == prod(shape)
