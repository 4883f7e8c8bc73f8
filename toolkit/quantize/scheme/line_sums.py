"""Constant matrices with equal row sums, which resize or average.

The sum of a row is its gain for constant inputs, such as neighbouring pixels. With entries rounded
individually the sums differ, and smooth images get stripes. Therefore the scale divides the sum,
and rows are rounded so that the sum is preserved.
"""

from __future__ import annotations

import numpy as np

from ...ir import Array, Node, QuantParams, Value
from ...numerics import DType
from ...ops import is_a
from ...ops.matmul.mat_mul import MatMul
from .qparams import activation_params, constant_q

ALIKE = 1e-4
"""Sums that differ by less than this times the largest entry are equal."""
FEWEST = 16
"""Minimum number of steps in a sum for sum-preserving rounding."""


def line_axis(node: Node, v: Value) -> int | None:
    """The axis of constant `v` along which it is multiplied and summed, if all lines along it have
    equal sums; otherwise None."""
    if not is_a(node, MatMul) or v.const is None or v.const.ndim < 2:
        return None
    axis = -1 if v is node.inputs[0] or node.attrs.get("transpose_b") else -2
    sums = v.const.sum(axis=axis, dtype=np.float64)
    most = float(np.abs(v.const).max(initial=0))
    alike = float(np.ptp(sums)) <= ALIKE * most
    return axis if v.const.shape[axis] > 1 and alike and abs(sums.flat[0]) > ALIKE * most else None


def dividing_params(x: Array, axis: int, dtype: DType) -> QuantParams:
    """Parameters that cover `x`, with a step that divides the sum of its lines."""
    low, high = float(x.min()), float(x.max())
    plain = activation_params(low, high, dtype)
    total = abs(float(x.sum(axis=axis, dtype=np.float64).mean()))
    steps = int(total / plain.scalar)
    if steps < FEWEST:
        return plain
    wider = total / steps / plain.scalar
    return activation_params(low * wider, high * wider, dtype)


def rounded_lines(x: Array, axis: int, q: QuantParams) -> Array:
    """`x` as q.dtype with the sum of each line preserved: the entries closest to a tie are rounded
    the other way. Zeros remain."""
    real = np.moveaxis(x.astype(np.float64) / q.scalar, axis, -1)
    near = np.moveaxis(constant_q(x, q), axis, -1).astype(np.int64) - q.zero_point
    lack = np.rint(real.sum(axis=-1)) - near.sum(axis=-1)
    sign = np.sign(lack)[..., None]
    gain = np.where(real == 0, -np.inf, (real - near) * sign)
    rank = np.argsort(np.argsort(-gain, axis=-1, kind="stable"), axis=-1, kind="stable")
    moved = (rank < np.abs(lack)[..., None]) & (gain > -0.5)
    made = np.clip(near + np.where(moved, sign, 0) + q.zero_point, q.qmin, q.qmax)
    return np.ascontiguousarray(np.moveaxis(made, -1, axis).astype(q.dtype))
