"""A histogram whose state depends on the values seen, never on their order or batching."""

import math

import numpy as np
from numpy.typing import NDArray

from .array_statistics import SPARE, add_to_bins

# Bin widths are 2^exponent. Both 2^MIN_EXPONENT and its reciprocal are normal float32 numbers.
MIN_EXPONENT = -126


class Histogram:
    """Counts of float32 values in bins [k * width, (k + 1) * width), k a signed integer.

    The bins cover the values seen and zero. The width is the smallest power of two that needs at
    most `bins` of them. A wider grid is the finer one with its bins merged pairwise, so counts
    stay exact integers, and every order and batching of the same values gives the same state.
    """

    def __init__(self, bins: int) -> None:
        """Start empty; bins is the largest number of bins kept, 2 to 2**20."""
        if not 2 <= bins <= 1 << 20:
            raise ValueError(f"bins is {bins}; it must be 2 to {1 << 20}")
        self.bins = bins
        self.low = 0.0
        self.high = 0.0
        self.exponent = MIN_EXPONENT
        self.first = 0
        self._counts: NDArray[np.int64] = np.zeros(1 + SPARE, np.int64)

    @property
    def counts(self) -> NDArray[np.int64]:
        return self._counts[:-SPARE]

    @property
    def width(self) -> float:
        """The width of a bin, a power of two."""
        return math.ldexp(1.0, self.exponent)

    @property
    def edges(self) -> NDArray[np.float64]:
        """The len(counts) + 1 borders of the bins; one of them is exactly 0."""
        index = np.arange(self.first, self.first + len(self.counts) + 1, dtype=np.float64)
        return index * np.float64(self.width)

    def cover(self, low: float, high: float) -> None:
        """Grow, where needed, to cover low and high (float32 values)."""
        if self.low <= low and high <= self.high:
            return
        self.low, self.high = min(self.low, low), max(self.high, high)
        exponent = self.exponent
        while self._index(self.high, exponent) - self._index(self.low, exponent) >= self.bins:
            exponent += 1
        first, last = self._index(self.low, exponent), self._index(self.high, exponent)
        if (exponent, first, last - first + 1) != (self.exponent, self.first, len(self.counts)):
            counts = np.zeros(last - first + 1 + SPARE, np.int64)
            _add_shifted(counts, first, self.counts, self.first, exponent - self.exponent)
            self._counts, self.first, self.exponent = counts, first, exponent

    def add(self, values: NDArray[np.float32]) -> int:
        """Count finite values, all of them within what `cover` was told, but those that are exactly
        0. Returns the number of those."""
        return add_to_bins(self._counts, self.first, self.exponent, values)

    def merge(self, other: "Histogram") -> None:
        """Add the counts of another histogram of as many bins."""
        self.cover(other.low, other.high)
        _add_shifted(
            self.counts, self.first, other.counts, other.first, self.exponent - other.exponent
        )

    @staticmethod
    def _index(value: float, exponent: int) -> int:
        return math.floor(math.ldexp(value, -exponent))


def _add_shifted(
    into: NDArray[np.int64], first: int, counts: NDArray[np.int64], counts_first: int, shift: int
) -> None:
    """Add counts to bins 2^shift times as wide."""
    index = (np.arange(counts_first, counts_first + len(counts)) >> min(shift, 62)) - first
    np.add.at(into, index, counts)
