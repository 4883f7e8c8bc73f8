"""Statistics of a tensor during calibration, in constant memory."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .array_statistics import extremes
from .errors import CalibrationError
from .histogram import Histogram

# 32 to 64 bins within one int8 step of the whole range, and 64 KB a tensor.
DEFAULT_BINS = 8192


class TensorStats:
    """Statistics of all values of a tensor.

    The state does not depend on the order or batching of the values, except for `moving_minimum`
    and `moving_maximum`, the exponential moving averages of each update's extremes.

    Attributes (of the values seen, as float32):
        count, zeros: number of values; number of exact zeros (0 without a histogram).
        minimum, maximum: the extremes; inf and -inf before the first value.
        bins: maximum number of bins of the histogram; 0 without one.
        updates, moving_minimum, moving_maximum: m = momentum * m + (1 - momentum) * extreme.
        channel_minimum, channel_maximum: float32 [C] along the last axis, or None.
    """

    def __init__(
        self,
        bins: int = DEFAULT_BINS,
        *,
        name: str = "",
        momentum: float = 0.9,
        per_channel: bool = False,
    ) -> None:
        """Create empty statistics. `name` is the tensor's name in messages; momentum is in [0, 1).

        With bins=0 there is no histogram, which takes most of the time.
        """
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum is {momentum}; it must be in [0, 1)")
        self.name = name
        self.momentum = momentum
        self.per_channel = per_channel
        self.count = 0
        self.zeros = 0
        self.minimum = math.inf
        self.maximum = -math.inf
        self.updates = 0
        self.moving_minimum = 0.0
        self.moving_maximum = 0.0
        self.bins = bins
        self._histogram = Histogram(bins) if bins else None
        self.channel_minimum: NDArray[np.float32] | None = None
        self.channel_maximum: NDArray[np.float32] | None = None

    def update(self, x: ArrayLike) -> tuple[float, float]:
        """Add an array of any shape, converted to float32. Returns its smallest and largest value,
        0 if it is empty.

        Raises CalibrationError for NaN or infinite values; the statistics are then unchanged.
        """
        with np.errstate(over="ignore"):  # too large for float32: reported as infinite below
            array = np.ascontiguousarray(x, np.float32)
        if array.size == 0:
            return 0.0, 0.0
        low, high = extremes(array)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise CalibrationError(self._not_finite(array))
        if self.per_channel:
            self._update_channels(array)
        self._add_extremes(low, high, array.size)
        if self._histogram is not None:
            self._histogram.cover(low, high)
            self.zeros += self._histogram.add(array)
        return low, high

    def update_extremes(self, low: float, high: float, count: int) -> None:
        """Add `count` values, of which only the smallest and largest are known. Raises ValueError
        if there is a histogram, or channels."""
        if self._histogram is not None or self.per_channel:
            raise ValueError(f"{self.title} needs all values, not only the extremes")
        self._add_extremes(low, high, count)

    def _add_extremes(self, low: float, high: float, count: int) -> None:
        self.count += count
        self.minimum, self.maximum = min(self.minimum, low), max(self.maximum, high)
        keep = self.momentum if self.updates else 0.0
        self.moving_minimum = keep * self.moving_minimum + (1 - keep) * low
        self.moving_maximum = keep * self.moving_maximum + (1 - keep) * high
        self.updates += 1

    @property
    def histogram(self) -> Histogram:
        """The histogram of the values that are not exactly zero. Zeros are excluded, because every
        quantizer represents them exactly. Raises ValueError if there is no histogram.
        """
        if self._histogram is None:
            raise ValueError(f"{self.title} has no histogram: it was made without bins, or dropped")
        return self._histogram

    def drop_histogram(self) -> None:
        """Free the histogram, which takes most of the memory; the extremes are kept."""
        self.bins, self.zeros, self._histogram = 0, 0, None

    def merge(self, other: "TensorStats") -> None:
        """Add the statistics of another observer, as if its updates had been made here.

        The moving averages become their mean, weighted by the number of updates.
        """
        if (other.bins, other.per_channel) != (self.bins, self.per_channel):
            raise ValueError("only observers of equal bins and per_channel can be merged")
        if other.count == 0:
            return
        if other.channel_minimum is not None and other.channel_maximum is not None:
            self._cover_channels(other.channel_minimum, other.channel_maximum)
        weight = other.updates / (self.updates + other.updates)
        self.moving_minimum += weight * (other.moving_minimum - self.moving_minimum)
        self.moving_maximum += weight * (other.moving_maximum - self.moving_maximum)
        self.updates += other.updates
        self.count += other.count
        self.zeros += other.zeros
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        if self._histogram is not None:
            self._histogram.merge(other.histogram)

    def _update_channels(self, array: NDArray[np.float32]) -> None:
        rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
        self._cover_channels(rows.min(axis=0), rows.max(axis=0))

    def _cover_channels(self, low: NDArray[np.float32], high: NDArray[np.float32]) -> None:
        if self.channel_minimum is None or self.channel_maximum is None:
            self.channel_minimum, self.channel_maximum = low.copy(), high.copy()
            return
        if low.shape != self.channel_minimum.shape:
            raise CalibrationError(
                f"{self.title} has {low.size} channels, and had {self.channel_minimum.size} "
                "before; samples of one tensor must agree in their last axis"
            )
        np.minimum(self.channel_minimum, low, out=self.channel_minimum)
        np.maximum(self.channel_maximum, high, out=self.channel_maximum)

    def _not_finite(self, array: NDArray[np.float32]) -> str:
        nan = int(np.isnan(array).sum())
        infinite = int(np.isinf(array).sum())
        return (
            f"{self.title} contains {nan} NaN and {infinite} infinite values among {array.size}; "
            "look for a division by zero, a logarithm of zero or an overflow before it, or for "
            "samples unlike the training data"
        )

    @property
    def title(self) -> str:
        """What messages call the tensor."""
        return f"tensor '{self.name}'" if self.name else "the tensor"
