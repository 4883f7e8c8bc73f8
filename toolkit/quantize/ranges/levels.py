"""Outputs whose size follows that of the input, as that of a denoiser for sounds.

Recordings differ in loudness. In a sum of squares the loud ones are nearly all, and a quiet one of
which int8 leaves a few steps is lost without a trace; but quality is measured relative to each
recording (scale-invariant SDR, Le Roux et al. 2019; relative errors of forecasts).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .kept_samples import KeptSample
from .signals import ENOUGH

if TYPE_CHECKING:
    from .evaluation_points import EvaluationPoint

SPREAD_DB = 3.0
"""Least standard deviation of the inputs' levels. Of photos, windows of sensors and normalized
spectra it is up to 2, of recordings 5 to 20."""
FOLLOWS, SLOPE = 0.9, (0.75, 1.25)
"""Least correlation of the levels of input and output in dB, and the slope of one by the other. Of
networks that denoise, separate or forecast on levels that vary it is 0.96 or more, and 0.9 to 1.05;
of networks that answer otherwise the correlation is less than 0.9."""
LEAST_NUMBERS = 4
"""Minimum size of an output: fewer may measure the level, as a power or a loudness."""
QUIETEST_DB = 20.0
"""Samples that are quieter than the median by more count as that: pauses between sounds."""


def levels(samples: Sequence[KeptSample]) -> NDArray[np.float64] | None:
    """The energy of each sample's input in dB; None of models with several inputs of floats, which
    may be states, and of few or constant samples."""
    energies = [sample.energy for sample in samples]
    if len(samples) < ENOUGH or any(not e for e in energies):
        return None
    return 10 * np.log10(np.array(energies, np.float64))


def follows_level(point: EvaluationPoint, samples: Sequence[KeptSample]) -> bool:
    """Whether what counts at a point is as large as the sample is loud, and samples differ in
    loudness."""
    of_input = levels(samples)
    if of_input is None or of_input.std() < SPREAD_DB or point.axis is not None or point.empty:
        return False
    views = [point.view(s.at_points[point.tensor]) for s in samples]
    energies = np.array([np.sum(v * v) for v in views])
    if min(v.size for v in views) < LEAST_NUMBERS or not energies.all():
        return False
    of_output = 10 * np.log10(energies)
    with np.errstate(invalid="ignore"):  # of outputs on one level
        correlation = np.corrcoef(of_input, of_output)[0, 1]
    slope = correlation * of_output.std() / of_input.std()
    return bool(correlation >= FOLLOWS and SLOPE[0] <= slope <= SLOPE[1])


def level_weights(
    points: Sequence[EvaluationPoint], samples: Sequence[KeptSample]
) -> NDArray[np.float64]:
    """[points, samples]: what the squares of each sample count; 1 but where the point follows the
    level."""
    found = np.ones((len(points), len(samples)))
    db = levels(samples)
    if db is not None and any(p.leveled for p in points):
        below = np.maximum(db - np.median(db), -QUIETEST_DB)
        found[[p.leveled for p in points]] = 10 ** (-below / 10)
    return found
