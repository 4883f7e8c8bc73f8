"""Outputs whose size follows that of the input, as that of a denoiser for sounds.

Recordings differ in loudness. In a sum of squares the loud ones are nearly all, and a quiet one of
which int8 leaves a few steps is lost without a trace; but quality is measured relative to each
recording (scale-invariant SDR, Le Roux et al. 2019; relative errors of forecasts).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .kept_samples import KeptSample
from .signals import ENOUGH

if TYPE_CHECKING:
    from .evaluation_points import EvaluationPoint

RANGE_DB = 8.0
"""Least range of the inputs' levels without a tenth of the samples at either end, which may be
outliers. Of photos, windows of sensors and normalized spectra it is up to 5, of recordings 12 or
more."""
FOLLOWS, SLOPE = 0.9, (0.75, 1.25)
"""Least correlation of the levels of input and output in dB, and the slope of one by the other. Of
networks that denoise, separate or forecast on levels that vary it is 0.96 or more, and 0.9 to 1.05;
of networks that answer otherwise the correlation is less than 0.9."""
LEAST_NUMBERS = 4
"""Minimum size of an output: fewer may measure the level, as a power or a loudness."""
QUIETEST_DB = 20.0
"""Samples that are quieter than the median by more count as that: pauses between sounds."""


def followed_input(
    point: EvaluationPoint, samples: Sequence[KeptSample], inputs: Collection[str]
) -> str | None:
    """The first of the `inputs` whose level what counts at the point follows, if samples differ in
    it."""
    of_inputs = {name: levels(name, samples) for name in inputs}
    spread = {name: db for name, db in of_inputs.items() if _differ(db)}
    if not spread or point.axis is not None or point.empty:
        return None
    views = [point.view(s.at_points[point.tensor]) for s in samples]
    if min(v.size for v in views) < LEAST_NUMBERS:
        return None
    of_output = _in_db([float(np.sum(v * v)) for v in views])
    return next((name for name, db in spread.items() if _follows(of_output, db)), None)


def level_weights(
    points: Sequence[EvaluationPoint], samples: Sequence[KeptSample]
) -> NDArray[np.float64]:
    """[points, samples]: what the squares of each sample count; 1 but where the point follows the
    level of an input."""
    found = np.ones((len(points), len(samples)))
    for weights, point in zip(found, points, strict=True):
        if point.follows is not None:
            db = levels(point.follows, samples)
            weights[:] = 10 ** (-np.maximum(db - np.median(db), -QUIETEST_DB) / 10)
    return found


def levels(name: str, samples: Sequence[KeptSample]) -> NDArray[np.float64]:
    """The energy of an input in dB, -inf where all is 0."""
    return _in_db([s.energies.get(name, 0.0) for s in samples])


def _in_db(energies: Sequence[float]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):  # of silence
        found: NDArray[np.float64] = 10 * np.log10(np.array(energies))
    return found


def _differ(db: NDArray[np.float64]) -> bool:
    """Whether most samples are not silent, and those differ in level."""
    heard = db[np.isfinite(db)]
    if len(heard) < ENOUGH or 2 * len(heard) <= len(db):
        return False
    low, high = np.quantile(heard, (0.1, 0.9))
    return bool(high - low >= RANGE_DB)


def _follows(of_output: NDArray[np.float64], of_input: NDArray[np.float64]) -> bool:
    heard = np.isfinite(of_output) & np.isfinite(of_input)
    y, x = of_output[heard], of_input[heard]
    if not _differ(x) or not y.std():
        return False
    correlation = float(np.corrcoef(x, y)[0, 1])
    return correlation >= FOLLOWS and SLOPE[0] <= correlation * y.std() / x.std() <= SLOPE[1]
