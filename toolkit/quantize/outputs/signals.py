"""What the error of an evaluation point is compared with: its energy, or the part that counts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .evaluation_points import EvaluationPoint

FEW_NUMBERS, ENOUGH = 16, 8
"""Maximum size of an output that is measured by its variation, and minimum number of samples."""
CONSTANT = 1e-12
"""Variation relative to the signal below which an output counts as constant: some roundings of
float32. Latitudes within a building vary by more."""
OFFSET = 0.01
"""Variation relative to the signal up to which an output of more than FEW_NUMBERS is measured by
it: pressures around 1,013 that vary by 8."""
MOST_NUMBERS = 4096
"""Maximum size of an output of which each number has a mean of its own; larger ones have one."""

Views = Sequence[Collection[NDArray[np.float64]]]
"""By evaluation point and sample."""


def energies(views: Views, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Sum of squares over the samples, by evaluation point; with `weights` [points, samples]."""
    pairs = zip(views, _known(weights, views), strict=True)
    each = ((w * float(np.sum(v * v)) for v, w in zip(vs, ws, strict=True)) for vs, ws in pairs)
    return np.array([sum(of_samples) for of_samples in each])


def variations(
    points: Sequence[EvaluationPoint], views: Views, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """The same, but for outputs of few numbers, for others that hardly vary, and for those relative
    to the level of each sample, minus the mean of each number over the samples (of large ones, that
    of all numbers); of outputs that add to an input what is added alone; and 1 for each number to
    which errors are relative.

    A regressor is useful if it distinguishes samples: a price around 200,000 with an error of
    20,000 has 20 dB and is useless.
    """
    weights = _known(weights, views)
    found = energies(views, weights)
    for i, (point, rows) in enumerate(zip(points, views, strict=True)):
        if point.least is not None:
            found[i] = sum(row.size for row in rows)
            continue
        size = next(iter(rows)).size if len(rows) >= ENOUGH else 0
        alike = size > 0 and all(row.size == size for row in rows)
        if point.axis is None and alike and not point.empty:
            few = size <= FEW_NUMBERS or (point.follows is not None and size <= MOST_NUMBERS)
            varied = _varied(rows, np.sqrt(weights[i]), each=size <= MOST_NUMBERS)
            if CONSTANT * found[i] < varied <= (1.0 if few else OFFSET) * found[i]:
                found[i] = varied
        found[i] *= point.part
    return found


def _varied(rows: Collection[NDArray[np.float64]], roots: NDArray[np.float64], each: bool) -> float:
    """The sum of squares of the rows, times their roots, minus the mean of each number over the
    rows; else of all numbers, as of maps, of which each place may show anything."""
    mean = sum(
        r * (row.ravel() if each else row.mean()) for r, row in zip(roots, rows, strict=True)
    )
    centre = mean / len(rows)
    pairs = zip(roots, rows, strict=True)
    return sum(float(np.sum(np.square(r * row.ravel() - centre))) for r, row in pairs)


def _known(weights: NDArray[np.float64] | None, views: Views) -> NDArray[np.float64]:
    """The weights, 1 if none are given."""
    return np.ones((len(views), max(map(len, views), default=0))) if weights is None else weights
