"""The 8-bit range with the smallest mean squared error, searched on a histogram.

Values are taken as evenly spread within their bin; all else is exact: rounding, clipping, and
zero being representable. After Sung, Shin and Hwang, "Resiliency of deep neural networks under
quantization" (2015), and Nagel et al., "A white paper on neural network quantization" (2021), 3.1.
"""

import numpy as np
from numpy.typing import NDArray

from .array_statistics import range_errors
from .observers import TensorStats

_F64 = NDArray[np.float64]
# Steps tried, as factors: the whole range; a little more, so that rounding the zero point need not
# clip an end, down to 1/64 of it, 6 % apart; then twice closing in on the best so far.
_TRIALS = (
    np.append(1.0, 256 / 255 * 1.06 ** -np.arange(72.0)),
    1.06 ** np.linspace(-1, 1, 9),
    1.06 ** np.linspace(-1 / 4, 1 / 4, 7),
)
# Of the values' sum of squares: far more than sums are off by.
_SLACK = 1e-9


class ErrorModel:
    """The squared error that each (step, zero point) makes on the values of a histogram."""

    def __init__(self, stats: TensorStats, levels: int) -> None:
        histogram = stats.histogram
        self.levels = levels
        self.width = histogram.width
        self.first = histogram.first
        self.edges = histogram.edges
        self.counts = histogram.counts.astype(np.float64)
        middle = (self.edges[:-1] + self.edges[1:]) / 2
        # Moments 0, 1 and 2 of all bins below each edge.
        powers = np.stack([np.ones_like(middle), middle, middle**2 + self.width**2 / 12])
        self.moments = np.zeros((3, len(self.edges)))
        np.cumsum(self.counts * powers, axis=1, out=self.moments[:, 1:])
        self.slack = _SLACK * self.moments[2, -1]

    def errors(self, step: float, most: float = np.inf) -> _F64:
        """The summed squared error [levels] for the zero points 0 to levels - 1; infinity where
        what is clipped alone makes more than `most` for certain.

        Representable values are multiples of the step, so the rounding error up to a point does
        not depend on the zero point: one running sum serves them all.
        """
        return range_errors(
            self.counts, self.moments, self.first, self.width, step, self.levels, most + self.slack
        )


def quantization_error(stats: TensorStats, low: float, high: float, levels: int = 256) -> float:
    """The expected mean squared error of quantizing to [low, high] with `levels` values.

    The zero point is rounded to an integer, as the quantizer does. The range (0, 0) turns every
    value into 0. Raises ValueError when low > 0 or high < 0.
    """
    if low > 0 or high < 0:
        raise ValueError(f"the range [{low}, {high}] does not contain 0")
    if stats.count == 0:
        return 0.0
    model = ErrorModel(stats, levels)
    if low == high:
        return float(model.moments[2, -1]) / stats.count
    step = (high - low) / (levels - 1)
    return float(model.errors(step)[round(-low / step)]) / stats.count


def least_error_range(
    stats: TensorStats, low: float, high: float, levels: int = 256
) -> tuple[float, float]:
    """The range of least expected mean squared error; low <= 0 <= high are the extremes seen.

    Its ends are whole multiples of the step from zero, so the quantizer need not move them.
    """
    if low == high:
        return low, high
    model = ErrorModel(stats, levels)
    step, zero, least = (high - low) / (levels - 1), 0, np.inf
    for factors in _TRIALS:  # of which all but the first have the best so far among them
        errors = np.full((len(factors), levels), np.inf)
        for i in np.argsort(-factors, kind="stable"):  # what is narrower clips more
            errors[i] = model.errors(step * float(factors[i]), least)
            if errors[i, 0] == np.inf:
                break
            least = min(least, float(errors[i].min()))
        trial, zero = divmod(int(errors.argmin()), levels)
        step *= float(factors[trial])
    return -zero * step, (levels - 1 - zero) * step
