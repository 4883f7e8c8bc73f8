"""What a tensor's quantization meets: how its steps are used, by which channels, and at what error.

Everything is measured on the float model's values, sample by sample in constant memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...calibration import channel_extremes, median
from ..ir import Array, QuantParams, Shape
from ..runtime.step_errors import BINS, add_step_errors, add_weighted_errors

CORE = 0.999
"""The share of values whose spread is compared with the range."""

Reals = NDArray[np.float64]


@dataclass
class LayerStatistics:
    """A quantized tensor over the samples; channels are the last axis of tensors of rank 2 or more.

    signal, rounding, clipping  sums of squares: of the values, of the error of those within the
                                range, and of those beyond it
    weights                     sum of squares of the error that rounded weights make at it
    batch                       samples that the model takes at a time
    samples, clipping_samples   seen, and those with values beyond the range; of a tensor without a
                                batch axis all that were run with such
    bins                        values by code, in BINS parts of the range; beyond it, at its ends
    """

    quant: QuantParams
    shape: Shape
    batch: int = 1
    samples: int = 0
    clipping_samples: int = 0
    count: int = 0
    clipped: int = 0
    low: float = np.inf
    high: float = -np.inf
    signal: float = 0.0
    rounding: float = 0.0
    clipping: float = 0.0
    both: float = 0.0
    weights: float = 0.0
    bins: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BINS, np.int64))
    channel_low: Reals = field(init=False)
    channel_high: Reals = field(init=False)
    shift: Reals = field(init=False)

    def __post_init__(self) -> None:
        channels = self.shape[-1] if len(self.shape) > 1 else 1
        self.channel_low = np.full(channels, np.inf)
        self.channel_high = np.full(channels, -np.inf)
        self.shift = np.zeros(channels)

    @property
    def range(self) -> tuple[float, float]:
        """The real values of the first and the last step."""
        q = self.quant
        return (q.qmin - q.zero_point) * q.scalar, (q.qmax - q.zero_point) * q.scalar

    def widen(self, low: float, high: float) -> None:
        """Values from `low` to `high` were seen."""
        self.low, self.high = min(self.low, low), max(self.high, high)

    def add(self, truth: Array, weighted: Array | None = None, floor: Array | None = None) -> None:
        """Take in a batch: the float tensor, and what the file's weights make of float inputs.

        Values below `floor`, of the same shape, count as that.
        """
        shape = (-1, len(self.shift))
        x = np.ascontiguousarray(truth, np.float32).reshape(shape)
        low = None if floor is None else np.ascontiguousarray(floor, np.float32).reshape(shape)
        apart = self.batch if truth.shape[:1] and truth.shape[0] % self.batch == 0 else 1
        self._add_errors(x, low, apart)
        self._add_extremes(x if low is None else np.maximum(x, low))
        if weighted is not None:
            sums = np.zeros(2)
            add_weighted_errors(weighted, x, low, self.quant, sums, self.shift)
            self.weights, self.both = self.weights + float(sums[0]), self.both + float(sums[1])
        else:
            self.both = self.rounding + self.clipping

    def _add_errors(self, x: Array, floor: Array | None, apart: int) -> None:
        """Those of values, `apart` of the batch."""
        self.samples += self.batch
        self.count += x.size
        floors = [None] * apart if floor is None else np.split(floor.reshape(-1), apart)
        for values, low in zip(np.split(x.reshape(-1), apart), floors, strict=True):
            sums = np.zeros(3)
            clipped = add_step_errors(values, low, self.quant, sums, self.bins)
            signal, squares, beyond = (float(v) for v in sums)
            self.signal += signal
            self.clipping += beyond
            self.rounding += squares - beyond
            self.clipped += clipped
            self.clipping_samples += (clipped > 0) * (self.batch // apart)

    def _add_extremes(self, x: Array) -> None:
        """Those of channels."""
        low, high = channel_extremes(x)
        np.minimum(self.channel_low, low, out=self.channel_low)
        np.maximum(self.channel_high, high, out=self.channel_high)
        self.widen(float(self.channel_low.min()), float(self.channel_high.max()))

    @property
    def saturation(self) -> float:
        """Share of values beyond the range by half a step or more."""
        return self.clipped / self.count if self.count else 0.0

    @property
    def range_use(self) -> float:
        """Part of the steps from the least to the largest value."""
        low, high = self.range
        used = min(self.high, high) - max(self.low, low)
        return max(0.0, used) / (high - low)

    @property
    def core_use(self) -> float:
        """Part of the steps that the middle CORE of the values spread over."""
        first, last = self._ends((1 - CORE) / 2)
        return (last - first + 1) / BINS if self.count else 0.0

    @property
    def core(self) -> tuple[float, float]:
        """The real values that the middle CORE lie between."""
        first, last = self._ends((1 - CORE) / 2)
        low, high = self.range
        step = (high - low) / BINS
        return low + first * step, low + (last + 1) * step

    def _ends(self, tail: float) -> tuple[int, int]:
        """First and last bin without the share `tail` of the values at either end."""
        total = np.cumsum(self.bins)
        first = int(np.searchsorted(total, tail * self.count, side="right"))
        last = int(np.searchsorted(total, (1 - tail) * self.count, side="left"))
        return first, max(first, last)

    @property
    def channel_peaks(self) -> Reals:
        """Largest magnitude of each channel, within the range."""
        low, high = self.range
        return np.maximum(np.minimum(self.channel_high, high), -np.maximum(self.channel_low, low))

    @property
    def outlier_ratio(self) -> float:
        """The largest magnitude of a channel over that of the median one that is not 0."""
        peaks = self.channel_peaks[self.channel_peaks > 0]
        return float(peaks.max()) / median(peaks) if len(peaks) > 1 else 1.0

    @property
    def suspicion(self) -> float:
        """How likely it costs much, before it is run: by its error, and that of small channels."""
        if not self.both:
            return 0.0
        peaks = self.channel_peaks[self.channel_peaks > 0]
        small = (
            float(np.mean(np.minimum(self.quant.scalar / peaks, 1.0) ** 2)) if len(peaks) else 0.0
        )
        return (self.both / self.signal if self.signal else 0.0) + small

    @property
    def dead(self) -> list[int]:
        """Channels that are constant in the float model already. Of one value nothing is known."""
        if self.count <= len(self.channel_low):
            return []
        return [int(c) for c in np.flatnonzero(self.channel_high <= self.channel_low)]

    @property
    def constant(self) -> bool:
        """Whether no channel varies."""
        return len(self.dead) == len(self.channel_low)

    @property
    def lost(self) -> list[int]:
        """Channels that vary in the float model, and here have one step throughout."""
        q = self.quant
        low, high = (
            np.clip(np.rint(v / q.scalar) + q.zero_point, q.qmin, q.qmax)
            for v in (self.channel_low, self.channel_high)
        )
        return [
            int(c) for c in np.flatnonzero((low == high) & (self.channel_high > self.channel_low))
        ]

    @property
    def bias(self) -> Reals:
        """Mean error of each channel that the rounded weights make."""
        return self.shift * len(self.shift) / max(self.count, 1)

    @property
    def bias_share(self) -> float:
        """Part of the weights' error that is the same in all places of a channel."""
        steady = float(np.sum(self.bias**2)) * self.count / len(self.shift)
        return steady / self.weights if self.weights else 0.0
