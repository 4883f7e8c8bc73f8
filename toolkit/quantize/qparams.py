"""Real ranges to scales: activations per tensor, weights symmetric per output channel.

Activations are asymmetric on int8 and symmetric on int16.

The scheme of Jacob et al. 2018 (arXiv:1712.05877) with the narrow weight range [-127, 127], and per
channel weights as in Krishnamoorthi 2018 (arXiv:1806.08342).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..ir import Array, QuantParams
from .options import Range
from .precision import INT8, INT16, DType

LEVELS = {INT8: 255, INT16: 2 * 32767}
MIN_SCALE = 2.0**-60
"""Ranges narrower than this times 255 hold nothing but rounding noise."""


def activation_params(low: float, high: float, dtype: DType = INT8) -> QuantParams:
    """int8 or int16 parameters that cover [low, high] and hold 0 exactly.

    A range without width (a tensor that was always 0) gets scale 1: any would do. The scale is a
    float32, as the file stores it. Raises ValueError when a bound is not finite or low > high.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise ValueError(f"[{low}, {high}] is not a range")
    low, high = min(low, 0.0), max(high, 0.0)
    if dtype == INT16:
        high = max(-low, high)
        low = -high
    scale = float(np.float32((high - low) / LEVELS[dtype]))
    if scale < MIN_SCALE or not math.isfinite(scale):
        scale, low, high = 1.0, -128.0, 127.0
    if dtype == INT16:
        return QuantParams.int16(scale)
    zero = int(np.clip(round(-128 - low / scale), -128, 127))
    return QuantParams((scale,), zero)


def constant_q(x: Array, q: QuantParams) -> Array:
    """A real constant as q.dtype, in double precision, half to even."""
    real = np.rint(x.astype(np.float64) / q.scalar) + q.zero_point
    result: Array = np.clip(real, q.qmin, q.qmax).astype(q.dtype)
    return result


FRACTIONS = np.linspace(0.9, 1.1, 81)


def channel_scales(weight: Array, search: bool) -> NDArray[np.float64]:
    """Symmetric scale of each output channel (axis 0); 0 for a channel of zeros.

    The maximum makes 127, or with `search` near it, where the squared error of rounding and
    clipping is least. At 8 bits clipping itself never pays (6 % of the maximum are 8 steps), but
    the weights of a channel may all lie close to multiples of one scale, above all when few.
    """
    rows = np.abs(weight.reshape(len(weight), -1).astype(np.float64))
    top: NDArray[np.float64] = rows.max(axis=1, initial=0.0) / 127
    if not search:
        return top
    best, best_error = top.copy(), np.full(len(top), np.inf)
    for fraction in FRACTIONS:
        scale = np.where(top > 0, top * fraction, 1.0)[:, None]
        q = np.minimum(np.rint(rows / scale), 127)
        error = ((q * scale - rows) ** 2).sum(axis=1)
        better = error < best_error
        best = np.where(better & (top > 0), scale[:, 0], best)
        best_error = np.minimum(error, best_error)
    return best


def quantize_weight(weight: Array, scales: NDArray[np.float64]) -> NDArray[np.int8]:
    """Weights in units of their channel's scale, half to even, in [-127, 127]."""
    by_channel = scales.reshape(-1, *[1] * (weight.ndim - 1))
    q = np.rint(weight.astype(np.float64) / by_channel)
    result: NDArray[np.int8] = np.clip(q, -127, 127).astype(np.int8)
    return result


def widen(a: Range, b: Range) -> Range:
    """The smallest range that holds both."""
    return min(a[0], b[0]), max(a[1], b[1])


def width(r: Range) -> float:
    """Width once widened to hold 0."""
    return max(r[1], 0.0) - min(r[0], 0.0)
