"""What a tensor's quantization meets: how its steps are used, by which channels, and at what error.

Everything is measured on the float model's values, sample by sample in constant memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...calibration import median
from ..ir import Array, QuantParams, Shape

BINS = 256
PIECE = 1 << 14
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
        low = np.float32(-np.inf) if floor is None else floor.reshape(shape)
        given = np.asarray(truth, np.float32).reshape(shape)
        x: Array = given if floor is None else np.maximum(given, low)
        apart = self.batch if truth.shape[:1] and truth.shape[0] % self.batch == 0 else 1
        codes = self._codes(given)
        self._add_errors(codes, x, low, apart)
        self._add_values(codes if floor is None else self._codes(x), x)
        del codes  # tensors of large images are made a few at a time
        if weighted is not None:
            self._add_weighted(x, np.asarray(weighted, np.float32).reshape(x.shape), low)
        else:
            self.both = self.rounding + self.clipping

    def _add_errors(self, codes: Array, x: Array, low: Array | np.float32, apart: int) -> None:
        """Those of `codes`, `apart` of the batch."""
        q = self.quant
        error = self._held(codes, low)
        error -= x
        # Both are below the floor where there is no error.
        beyond = (codes != np.clip(codes, q.qmin, q.qmax)) & (error != 0)
        clipped = int(np.count_nonzero(beyond))
        at_ends = float(np.square(error[beyond], dtype=np.float64).sum()) if clipped else 0.0
        beyond_of = beyond.reshape(apart, -1).any(axis=1)
        self.samples += self.batch
        self.clipping_samples += int(np.count_nonzero(beyond_of)) * (self.batch // apart)
        self.clipped += clipped
        self.clipping += at_ends
        self.rounding += _squares(error.reshape(-1)) - at_ends

    def _add_values(self, codes: Array, x: Array) -> None:
        """Where they lie in the range, and those of channels."""
        q = self.quant
        self.count += x.size
        self.signal += _squares(x.reshape(-1))
        places = np.clip(codes, q.qmin, q.qmax)
        places -= np.float32(q.qmin)
        places *= np.float32(BINS / (q.qmax - q.qmin + 1))
        bins = places.astype(np.uint8).ravel()
        del places
        for first in range(0, len(bins), PIECE):  # of which numpy makes 64 bits
            self.bins += np.bincount(bins[first : first + PIECE], minlength=BINS)
        np.minimum(self.channel_low, x.min(axis=0), out=self.channel_low)
        np.maximum(self.channel_high, x.max(axis=0), out=self.channel_high)
        self.widen(float(self.channel_low.min()), float(self.channel_high.max()))

    def _add_weighted(self, x: Array, y: Array, low: Array | np.float32) -> None:
        off = np.maximum(y, low)
        off -= x
        self.weights += _squares(off.reshape(-1))
        self.shift += off.sum(axis=0, dtype=np.float64)
        off = self._held(self._codes(y), low)
        off -= x
        self.both += _squares(off.reshape(-1))

    def _codes(self, x: Array) -> Array:
        """Steps, not limited to those there are."""
        q = self.quant
        with np.errstate(over="ignore"):  # a mask may be as large as float32 is
            codes: Array = x * np.float32(1 / q.scalar)
            np.rint(codes, out=codes)
            codes += np.float32(q.zero_point)
        return codes

    def _held(self, codes: Array, low: Array | np.float32) -> Array:
        """The real numbers that the tensor holds for `codes`; what is below `low` counts as it."""
        q = self.quant
        held: Array = np.clip(codes, q.qmin, q.qmax)
        held -= np.float32(q.zero_point)
        held *= np.float32(q.scalar)
        return np.maximum(held, low, out=held)

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


def _squares(x: Array) -> float:
    """Their sum, of halves first as numpy sums, without holding all in double precision."""
    if len(x) > PIECE:
        half = len(x) // 2 // 8 * 8
        return _squares(x[:half]) + _squares(x[half:])
    return float(np.square(x, dtype=np.float64).sum())
