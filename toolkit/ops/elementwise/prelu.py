"""PRelu: max(x, 0) + slope * min(x, 0), the slope broadcast to x."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...format.schema import BinaryFn, OpKind
from ...ir import Array, Node, Shape, TensorType, Value
from ...numerics import INTEGERS, integer_precisions
from .._broadcast import broadcast
from .._opdef import Activation, Blob, Builder, Lowered, problem_of
from .binary import Binary

MULTIPLIER_LIMITS = {np.dtype(np.int8): 1 << 22, np.dtype(np.int16): 1 << 23}
"""Of multipliers, by the type of the output; a difference of two int8 times 2^22 is below 2^30."""


class PRelu(Binary):
    """ONNX PRelu-7..16; in integers with a constant slope that varies over adjacent axes.

    An integer node has its slope as float32. attrs: act_min, act_max.
    """

    inplace = (0,)
    real_constants = (1,)
    channelwise = frozenset({"scale"})

    def __init__(self) -> None:
        super().__init__(BinaryFn.PRelu)
        self.precisions = integer_precisions(*INTEGERS)

    def _pair(self, b: Builder, x: Value, y: Value) -> Value:
        extra = len(y.shape) - len(x.shape)
        if extra > 0:  # its first dims are 1 then
            y = b.reshape(y, y.shape[extra:])
        return super()._pair(b, x, y)

    def infer(self, node: Node) -> list[TensorType]:
        x, slope = node.input(0), node.input(1)
        if x.dtype == np.float32:
            return super().infer(node)
        if x.dtype not in MULTIPLIER_LIMITS or slope.const is None or slope.dtype != np.float32:
            raise ValueError(f"PRelu of {x} and {slope}; on integers the slope is constant float32")
        _view(x.shape, slope.shape)
        return [x.type]

    def integer_problem(self, node: Node) -> str | None:
        if self.table(node) is not None:
            return None
        slope = node.input(1)
        if slope.const is None:
            return "its slope is computed"
        if not np.all(np.isfinite(slope.const)):
            return "its slope is not finite"
        return problem_of(_view, node.input(0).shape, slope.shape)

    def accumulator_problem(self, node: Node) -> str | None:
        return problem_of(_multipliers, node)

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, x, y = inputs[0], node.input(0), node.output
        assert q is not None and x.quant is not None and y.quant is not None
        positive, slopes, shift = _multipliers(node)
        qmin, qmax = Activation.of(node).q_range(y.quant)
        outer, axis, inner = _view(x.shape, node.input(1).shape)
        d = q.reshape(outer, axis, inner).astype(np.int64) - x.quant.zero_point
        m = np.where(d >= 0, positive, slopes.reshape(axis, 1))
        result = ((d * m + (1 << (shift - 1))) >> shift) + y.quant.zero_point
        return [np.clip(result, qmin, qmax).astype(y.dtype).reshape(y.shape)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, y = node.input(0), node.output
        if x.quant is None or y.quant is None:
            return super().lower(node, blob)
        positive, slopes, shift = _multipliers(node)
        outer, axis, inner = _view(x.shape, node.input(1).shape)
        qmin, qmax = Activation.of(node).q_range(y.quant)
        params = {
            "view.outer": outer, "view.axis": axis, "view.inner": inner,
            "table": blob.add(slopes), "multiplier": positive, "shift": shift,
            "input_zero": x.quant.zero_point, "output_zero": y.quant.zero_point,
            "qmin": qmin, "qmax": qmax,
        }  # fmt: skip
        return Lowered(OpKind.PRelu, params, [x])


def _view(x: Shape, slope: Shape) -> tuple[int, int, int]:
    """(outer, axis, inner): `x` around the axes that the slope has. ValueError if there is none."""
    if np.broadcast_shapes(x, slope) != x:
        raise ValueError(f"its slope {list(slope)} is larger than its input {list(x)}")
    dims, _, steps = broadcast(x, slope)
    varying = [i for i, step in enumerate(steps) if step]
    if not varying:
        return 1, 1, int(np.prod(x))
    if len(varying) > 1:
        raise ValueError(f"its slope {list(slope)} varies over axes that are not neighbours")
    at = varying[0]
    return int(np.prod(dims[:at])), dims[at], int(np.prod(dims[at + 1 :]))


def _multipliers(node: Node) -> tuple[int, NDArray[np.int32], int]:
    """(multiplier from zero on, those below of each slope, shift). ValueError if out of range."""
    x, slope, y = node.input(0).quant, node.input(1).const, node.output.quant
    assert x is not None and slope is not None and y is not None
    ratio = x.scalar / y.scalar
    ratios = slope.ravel().astype(np.float64) * ratio
    largest = max(ratio, float(np.abs(ratios).max()))
    limit = MULTIPLIER_LIMITS[y.dtype]
    for shift in range(30, 0, -1):
        if round(largest * 2.0**shift) <= limit:
            below = np.rint(ratios * 2.0**shift).astype(np.int32)
            return round(ratio * 2.0**shift), below, shift
    raise ValueError(
        f"an output scale of {y.scalar:g} is too small for an input of scale {x.scalar:g} "
        f"and slopes of up to {float(np.abs(slope).max()):g}"
    )


OPS = (PRelu(),)
