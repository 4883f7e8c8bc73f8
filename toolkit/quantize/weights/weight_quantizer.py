"""Quantization grids of weights: integers times a scale per output channel or per group.

Symmetric and per output channel as in Krishnamoorthi 2018 (arXiv:1806.08342), in the narrow range:
[-127, 127] for 8 bits, [-7, 7] for 4 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...ir import Array
from ...numerics import WEIGHT_TYPES
from ...runtime import linear_algebra

Reals = NDArray[np.float64]

MAX_MULTIPLIER = 16


@dataclass(frozen=True)
class WeightFormat:
    """The storage format of weights: `bits` and, below 8 bits, `group_size`, the number of
    consecutive weights that share a multiplier.

    A group size of 0 means the whole row of an output channel, without a multiplier.
    """

    bits: int = 8
    group_size: int = 0

    @property
    def limit(self) -> int:
        return WEIGHT_TYPES[self.bits].limit


@dataclass(frozen=True, eq=False)
class WeightQuantizer:
    """The steps of weights [n, k]: scales [n], times multipliers [n, groups] if present."""

    form: WeightFormat
    k: int
    scales: Reals
    multipliers: NDArray[np.uint8] | None = None

    @property
    def factors(self) -> NDArray[np.int64]:
        """The multiplier of each weight's integer [n, k]."""
        if self.multipliers is None:
            return np.ones((len(self.scales), self.k), np.int64)
        return np.repeat(self.multipliers, self.form.group_size, axis=1)[:, : self.k].astype(
            np.int64
        )

    @property
    def steps(self) -> Reals:
        return self.scales[:, None] * self.factors

    def nearest(self, weight: Reals) -> NDArray[np.int8]:
        """The integers nearest to weights [n, k], rounding half to even."""
        limit = self.form.limit
        result: NDArray[np.int8] = np.clip(np.rint(weight / self.steps), -limit, limit).astype(
            np.int8
        )
        return result

    def int8(self, z: NDArray[np.int8]) -> NDArray[np.int8]:
        """Integers [n, k] of the grid in units of the scales (`z` itself without multipliers)."""
        if self.multipliers is None:
            return z
        result: NDArray[np.int8] = (z * self.factors).astype(np.int8)
        return result


@dataclass(frozen=True, eq=False)
class QuantizedWeights:
    """Weights as integers of `grid` [n, k], and the matching real-valued bias [n]."""

    grid: WeightQuantizer
    z: NDArray[np.int8]
    bias: Reals


FRACTIONS = np.linspace(0.9, 1.1, 81)
FRACTIONS_NARROW = np.linspace(0.3, 1.1, 81)
"""Fractions of the maximum that are tried, at 8 bits and at fewer."""


def channel_scales(
    weight: Array, search: bool, limit: int = 127, importance: Array | None = None
) -> NDArray[np.float64]:
    """Symmetric scale of each row (axis 0); 0 for a row of zeros.

    The scale maps the maximum to `limit`; with `search`, and always below 8 bits, it minimizes the
    squared error of rounding and clipping, weighted by `importance` (default: equal weights). At 8
    bits, clipping itself never helps (6 % of the maximum are 8 steps), but the weights of a
    channel, especially if few, may all be close to multiples of one scale.
    """
    rows = np.abs(weight.reshape(len(weight), -1).astype(np.float64))
    top: NDArray[np.float64] = rows.max(axis=1, initial=0.0) / limit
    if not search and limit == 127:
        return top
    counts = None if importance is None else importance.reshape(rows.shape)
    fractions = FRACTIONS if limit == 127 else FRACTIONS_NARROW
    return linear_algebra.least_error_scales(rows, top, limit, fractions, counts)


def target_scales(
    weight: Reals, form: WeightFormat, search: bool, importance: Reals | None = None
) -> Reals:
    """The scale of each row of weights [n, k], or of each of its groups: [n, 1 or groups].

    `importance` [n, k] weights the squared errors that `search`, and formats below 8 bits,
    minimize.
    """
    n, k = weight.shape
    if not _grouped(form, k):
        return channel_scales(weight, search, form.limit, importance)[:, None]
    groups = -(-k // form.group_size)
    parts = np.zeros((2, n, groups * form.group_size))
    parts[0, :, :k], parts[1, :, :k] = weight, 1.0 if importance is None else importance
    rows, counts = parts.reshape(2, n * groups, form.group_size)
    return channel_scales(rows, search, form.limit, counts).reshape(n, groups)


def _grouped(form: WeightFormat, k: int) -> bool:
    return form.bits < 8 and 0 < form.group_size < k


def make_weight_quantizer(
    wanted: Reals, form: WeightFormat, k: int, floor: Reals
) -> WeightQuantizer:
    """The grid with the wanted scales, raised to `floor` [n] where smaller."""
    if not _grouped(form, k):
        return WeightQuantizer(WeightFormat(form.bits), k, np.maximum(wanted[:, 0], floor))
    scales = np.maximum(wanted.max(axis=1) / MAX_MULTIPLIER, floor)
    multipliers = np.clip(np.rint(wanted / scales[:, None]), 1, MAX_MULTIPLIER)
    return WeightQuantizer(form, k, scales, multipliers.astype(np.uint8))


def round_to_nearest(weight: Reals, form: WeightFormat) -> Reals:
    """The dequantized weights [n, ...] after rounding to nearest."""
    rows = weight.reshape(len(weight), -1).astype(np.float64)
    k = rows.shape[1]
    grid = make_weight_quantizer(
        target_scales(rows, form, False), form, k, np.full(len(rows), 2.0**-126)
    )
    return (grid.nearest(rows) * grid.steps).reshape(weight.shape)
