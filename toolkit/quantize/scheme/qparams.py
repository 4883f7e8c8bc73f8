"""Scales and zero points of activations, per tensor: asymmetric int8, symmetric int16.

The scheme of Jacob et al. 2018 (arXiv:1712.05877).
"""

from __future__ import annotations

import math

import numpy as np

from ...ir import Array, QuantParams
from ...numerics import INT8, INT16, DType
from .options import Range

LEVELS = {INT8: 255, INT16: 2 * 32767}
MIN_SCALE = 2.0**-60
"""Ranges narrower than 255 times this contain only rounding noise."""


def activation_params(low: float, high: float, dtype: DType = INT8) -> QuantParams:
    """int8 or int16 parameters that cover [low, high] and represent 0 exactly.

    A range without width (a tensor that was always 0) gets scale 1. The scale is a
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
    zero = max(-128, min(round(-128 - low / scale), 127))
    return QuantParams((scale,), zero)


def constant_q(x: Array, q: QuantParams) -> Array:
    """A real constant quantized to q.dtype, rounded half to even in double precision."""
    real = np.rint(x.astype(np.float64) / q.scalar) + q.zero_point
    result: Array = np.clip(real, q.qmin, q.qmax).astype(q.dtype)
    return result


def widen(a: Range, b: Range) -> Range:
    """The smallest range that contains both."""
    return min(a[0], b[0]), max(a[1], b[1])


def width(r: Range) -> float:
    """The width of the range after extending it to include 0."""
    return max(r[1], 0.0) - min(r[0], 0.0)
