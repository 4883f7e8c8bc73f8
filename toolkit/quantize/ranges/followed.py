"""Outputs that follow an input, as a forecast follows the most recent values of a series.

Most of the energy of such an output is a level that the input already has. The difference from it
matters, but it contributes little to the SQNR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...numerics import FLOAT
from ..outputs.evaluation_points import EvaluationPoint
from ..outputs.kept_samples import KeptSample

MOST_NUMBERS = 1024
"""Maximum size of inputs and outputs: series and tables, not images."""
ENOUGH = 16
"""Minimum number of samples; on fewer, unrelated outputs may seem to follow an input."""
PART = 0.5
"""Maximum variation of the difference, relative to the variation of the output."""

COPY = 1e-6
"""Relative variation of the difference below which an element is a copy, as in a state's cache."""


def follows_an_input(points: Sequence[EvaluationPoint], kept: Sequence[KeptSample]) -> bool:
    """Whether the elements of an evaluated output other than a softmax vary less around elements of
    an input than around their own means."""
    if len(kept) < ENOUGH:
        return False
    inputs = _rows([list(s.inputs.values()) for s in kept])
    outputs = [_rows([[s.at_points[p.tensor]] for s in kept]) for p in points if p.axis is None]
    return inputs is not None and any(y is not None and _follows(y, inputs) for y in outputs)


def _rows(arrays: list[list[NDArray[np.generic]]]) -> NDArray[np.float64] | None:
    """The floats of each sample minus their means, [samples, elements]; None if there are none or
    too many, or some are masked with infinity."""
    floats = [[a.ravel() for a in some if a.dtype == FLOAT] for some in arrays]
    sizes = {sum(a.size for a in some) for some in floats}
    if len(sizes) > 1 or not 0 < max(sizes) <= MOST_NUMBERS:
        return None
    rows = np.array([np.concatenate(some) for some in floats], np.float64)
    if not np.isfinite(rows).all():
        return None
    centred: NDArray[np.float64] = rows - rows.mean(axis=0)
    return centred


def _follows(y: NDArray[np.float64], x: NDArray[np.float64]) -> bool:
    variation = np.square(y).sum(axis=0)
    about = variation[:, None] + np.square(x).sum(axis=0) - 2 * (y.T @ x)
    nearest = about.min(axis=1)
    made = nearest > COPY * variation
    return bool(made.any() and nearest[made].sum() <= PART * variation[made].sum())
