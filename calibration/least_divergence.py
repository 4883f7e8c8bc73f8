"""The 8-bit range that keeps the most information, by Kullback-Leibler divergence.

After Migacz, "8-bit inference with TensorRT" (GTC 2017), with these differences:
  - both ends are searched, so the range may be asymmetric;
  - bins are dealt evenly to the levels; the usual code gives all the remainder to the last one;
  - a range ends at a bin that holds values, so the divergence is finite without smoothing;
  - exact zeros are left out: they are represented without error whatever the range.
"""

import numpy as np
from numpy.typing import NDArray

from .histogram import Histogram

_Indices = NDArray[np.intp]
_ROUNDS = 3
_GRID = 25
# Ranges at a time: temporary arrays of more are given back to the system each time.
_PART = 64


class Divergence:
    """The divergence of each range of bins [a, b) of a histogram."""

    def __init__(self, counts: NDArray[np.int64], levels: int) -> None:
        self.counts = counts.astype(np.float64)
        self.levels = levels
        self.mass = _running_sum(self.counts)
        self.filled = _running_sum((self.counts > 0).astype(np.float64))
        self.plogp = _running_sum(_plogp(self.counts))

    def of(self, a: _Indices, b: _Indices) -> NDArray[np.float64]:
        """The divergence in nats [K] of clipping to bins a[k] to b[k] - 1 and quantizing these.

        Reference: the counts with the clipped values moved to the outermost bins kept. Candidate:
        the counts kept, merged into levels, each level spread evenly over its filled bins.
        Infinite when values are clipped to an empty bin or the range has fewer bins than levels.
        """
        steps = np.arange(self.levels + 1)
        borders = a[:, None] + (b - a)[:, None] * steps // self.levels
        mass = np.diff(self.mass[borders], axis=1)
        filled = np.diff(self.filled[borders], axis=1)
        height = mass / np.maximum(filled, 1)
        log_height = np.log(height, out=np.zeros_like(height), where=height > 0)
        total = np.maximum(self.mass[-1], 1)
        inside = self.mass[b] - self.mass[a]
        below, above = self.mass[a], total - self.mass[b]
        first, last = self.counts[a], self.counts[b - 1]
        reference = self.plogp[b] - self.plogp[a]
        reference += _plogp(first + below) - _plogp(first) + _plogp(last + above) - _plogp(last)
        cross = (mass * log_height).sum(axis=1)
        cross += below * log_height[:, 0] + above * log_height[:, -1]
        result: NDArray[np.float64] = (reference - cross) / total + np.log(
            np.maximum(inside, 1) / total
        )
        unusable = (b - a < min(self.levels, len(self.counts))) | (inside == 0)
        unusable |= ((below > 0) & (first == 0)) | ((above > 0) & (last == 0))
        return np.where(unusable, np.inf, result)


def least_divergence_bins(histogram: Histogram, levels: int = 256) -> tuple[int, int]:
    """The bins (a, b), a before and b behind the range, of the least divergence.

    A grid of 25 x 25 ranges is tried, then twice a finer one around the best.
    """
    counts = histogram.counts
    zero = -histogram.first
    divergence = Divergence(counts, levels)
    filled = np.flatnonzero(counts)
    starts = np.append(filled[filled < zero], zero)
    stops = np.append(zero, filled[filled >= zero] + 1)
    if starts[0] == zero:
        starts = starts[:1]
    if stops[-1] == zero:
        stops = stops[-1:]
    span_a, span_b = (0, int(starts[-1])), (int(stops[0]), len(counts))
    best = (int(starts[0]), int(stops[-1]))
    for _ in range(_ROUNDS):
        a, b = _nearest(starts, *span_a), _nearest(stops, *span_b)
        a, b = np.append(a, best[0]), np.append(b, best[1])
        pairs_a, pairs_b = (grid.ravel() for grid in np.meshgrid(a, b, indexing="ij"))
        parts = (slice(i, i + _PART) for i in range(0, len(pairs_a), _PART))
        values = np.concatenate([divergence.of(pairs_a[p], pairs_b[p]) for p in parts])
        chosen = int(values.argmin())
        best = (int(pairs_a[chosen]), int(pairs_b[chosen]))
        span_a, span_b = _around(best[0], span_a), _around(best[1], span_b)
    return best


def _nearest(allowed: _Indices, low: int, high: int) -> _Indices:
    """The allowed bins at or after evenly spaced points of [low, high], each once."""
    points = np.linspace(low, high, _GRID)
    index = np.searchsorted(allowed, points).clip(max=len(allowed) - 1)
    return np.unique(allowed[index])


def _around(best: int, span: tuple[int, int]) -> tuple[int, int]:
    reach = max(1, (span[1] - span[0]) // (_GRID - 1))
    return best - reach, best + reach


def _plogp(p: NDArray[np.float64]) -> NDArray[np.float64]:
    return p * np.log(np.maximum(p, 1))


def _running_sum(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(x)])
