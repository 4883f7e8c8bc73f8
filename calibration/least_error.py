"""The 8-bit range with the smallest mean squared error, searched on a histogram.

Values are taken as evenly spread within their bin; all else is exact: rounding, clipping, and
zero being representable. After Sung, Shin and Hwang, "Resiliency of deep neural networks under
quantization" (2015), and Nagel et al., "A white paper on neural network quantization" (2021), 3.1.
"""

import numpy as np
from numpy.typing import NDArray

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

    def errors(self, step: float, most: float = np.inf) -> _F64:
        """The summed squared error [levels] for the zero points 0 to levels - 1; infinity where
        what is clipped alone makes more than `most` for certain.

        Representable values are multiples of the step, so the rounding error up to a point does
        not depend on the zero point: one running sum serves them all.
        """
        top = self.levels - 1
        lattice = np.arange(-top, top + 1, dtype=np.float64) * np.float64(step)
        at = np.clip(lattice, self.edges[0], self.edges[-1])
        # Index i of the lattice is the value (i - top) * step; zero point z spans [-z, top - z].
        low, high = slice(top, None, -1), slice(2 * top, top - 1, -1)
        below, above = self._below(at[low], lattice[low]), self._above(at[high], lattice[high])
        if float((below + above).min()) > most + _SLACK * self.moments[2, -1]:
            return np.full(self.levels, np.inf)
        rounding = self._rounding_below(at, step)
        result: _F64 = rounding[high] - rounding[low] + below + above
        return np.maximum(result, 0.0)

    def _bin(self, at: _F64) -> NDArray[np.intp]:
        index = np.floor(at / self.width).astype(np.intp) - self.first
        return np.clip(index, 0, len(self.counts) - 1)

    def _rounding_below(self, at: _F64, step: float) -> _F64:
        """The squared rounding error of all values below each point, up to a constant."""
        k = self._bin(at)
        start, stop = int(k[0]), int(k[-1]) + 1
        density = self.counts[start:stop] * (step**3 / self.width)
        primitive = _rounding_primitive(self.edges[start : stop + 1] / step)
        total = np.concatenate([[0.0], np.cumsum(density * np.diff(primitive))])
        k -= start
        result: _F64 = total[k] + density[k] * (_rounding_primitive(at / step) - primitive[k])
        return result

    def _below(self, at: _F64, to: _F64) -> _F64:
        """The squared distances to points, not above zero, of all values below them."""
        if not self.first:
            return np.zeros_like(at)
        k = self._bin(at)
        left = at - self.edges[k]
        m0, m1, m2 = self.moments[:, k]
        found: _F64 = m2 - 2 * to * m1 + to * to * m0
        return found + self.counts[k] / self.width * (left * left * left) / 3

    def _above(self, at: _F64, to: _F64) -> _F64:
        """The squared distances to points, not below zero, of all values above them."""
        k = self._bin(at)
        right = self.edges[k + 1] - at
        m0, m1, m2 = self.moments[:, -1:] - self.moments[:, k + 1]
        found: _F64 = m2 - 2 * to * m1 + to * to * m0
        return found + self.counts[k] / self.width * (right * right * right) / 3


def _rounding_primitive(u: _F64) -> _F64:
    """The integral of (v - round(v))^2 over v from 0 to u."""
    whole = np.rint(u)
    apart = u - whole
    result: _F64 = whole / 12 + apart * apart * apart / 3
    return result


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
