"""From statistics to the range (low, high) that a tensor is quantized over.

Every range holds 0, because the quantizer must represent it exactly: padding and ReLU live on it.
A tensor that is always 0 has the range (0, 0). All raise CalibrationError on statistics that have
seen no value.
"""

from collections.abc import Callable, Mapping

import numpy as np

from .errors import CalibrationError
from .least_divergence import least_divergence_bins
from .least_error import least_error_range
from .observers import TensorStats

Range = tuple[float, float]

# Two ranges whose ends differ by less than this part of the range are one candidate: an eighth
# of an int8 step.
_SAME = 1 / 2048


def minmax(stats: TensorStats) -> Range:
    """The smallest and largest value seen."""
    _need_values(stats)
    return min(0.0, stats.minimum), max(0.0, stats.maximum)


def moving_average(stats: TensorStats) -> Range:
    """The moving averages of the extremes of each update; they depend on the samples' order."""
    _need_values(stats)
    return min(0.0, stats.moving_minimum), max(0.0, stats.moving_maximum)


def percentile(stats: TensorStats, percent: float = 99.99) -> Range:
    """The range that holds `percent` % of the values, as many being cut off above as below.

    Exact to a bin of the histogram. Raises ValueError unless 0 < percent <= 100.
    """
    if not 0 < percent <= 100:
        raise ValueError(f"percent is {percent}; it must be above 0 and at most 100")
    low, high = minmax(stats)
    if percent == 100:
        return low, high
    histogram = stats.histogram
    zero = -histogram.first
    # The distribution function: linear within a bin, with a jump where the exact zeros are.
    below = np.concatenate([[0], np.cumsum(histogram.counts)])
    function = np.concatenate([below[: zero + 1], below[zero:] + stats.zeros])
    edges = histogram.edges
    values = np.concatenate([edges[: zero + 1], edges[zero:]])
    cut = stats.count * (1 - percent / 100) / 2
    cuts = np.interp([cut, stats.count - cut], function, values)
    return max(low, min(0.0, float(cuts[0]))), min(high, max(0.0, float(cuts[1])))


def entropy(stats: TensorStats) -> Range:
    """The range whose 256 levels keep the most information; `least_divergence.py` says how."""
    low, high = minmax(stats)
    if stats.count == stats.zeros:
        return low, high
    edges = stats.histogram.edges
    first, stop = least_divergence_bins(stats.histogram)
    return max(low, float(edges[first])), min(high, float(edges[stop]))


def mse(stats: TensorStats) -> Range:
    """The range whose 256 levels have the least mean squared error; `least_error.py` says how."""
    return least_error_range(stats, *minmax(stats))


OBSERVERS: dict[str, Callable[[TensorStats], Range]] = {
    "minmax": minmax,
    "moving-average": moving_average,
    "percentile": percentile,
    "entropy": entropy,
    "mse": mse,
}
BY_EXTREMES = frozenset({"minmax", "moving-average"})
"""Observers that need no histogram."""


def candidates(
    stats: TensorStats, known: Mapping[str, Range] | None = None
) -> list[tuple[str, Range]]:
    """Every observer's range and two more percentiles, named, those of no difference left out.

    The first is always minmax; of ranges that agree to an eighth of a step the first one stays.
    Ranges of observers that are `known` already are not looked for again.
    """
    known = known or {}
    offers = [(name, known.get(name) or find(stats)) for name, find in OBSERVERS.items()]
    offers += [(f"percentile-{p}", percentile(stats, p)) for p in (99.9, 99.999)]
    kept: list[tuple[str, Range]] = []
    for name, offer in offers:
        if not any(_alike(offer, other) for _, other in kept):
            kept.append((name, offer))
    return kept


def _alike(one: Range, other: Range) -> bool:
    tolerance = _SAME * min(one[1] - one[0], other[1] - other[0])
    return abs(one[0] - other[0]) <= tolerance and abs(one[1] - other[1]) <= tolerance


def _need_values(stats: TensorStats) -> None:
    if stats.count == 0:
        raise CalibrationError(
            f"{stats.title} has seen no values; run the model on at least one sample"
        )
