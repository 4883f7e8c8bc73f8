"""LayerNorm: each line of a tensor less its mean, over its deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import fixed_point
from ...format.schema import OpKind
from ...format.structs import float_bits
from ...ir import Array, Node, Shape, TensorType, Value
from ...numerics import INTEGERS, Precision, integer_precisions
from .._broadcast import broadcast
from .._opdef import (
    ALONG_AXES,
    Activation,
    Blob,
    Builder,
    Lowered,
    OnnxNode,
    OpDef,
    Unsupported,
    problem_of,
)
from .._views import axis_view, float_input, view_params
from ..move.movement import axis_of

LARGEST = {np.dtype(np.int8): 255, np.dtype(np.int16): 1 << 15}
"""Of element - zero point."""

LINE_LIMIT = 1 << 30
"""Of a line's sum of such, shifted: no sum and no product leaves 64 bits."""

MOST_WIDENING = 15


def room_for_shifts(axis: int) -> int:
    """The largest left shift that lines of so many elements have room for, on int16 as on int8."""
    return max(LINE_LIMIT // (LARGEST[np.dtype(np.int16)] * axis), 1).bit_length() - 1


BIAS_BITS = 12
"""Of a bias, below the output's step."""

MULTIPLIER_LIMIT, SUM_LIMIT = 1 << 30, 1 << 60


@dataclass(frozen=True)
class Scaling:
    """Of an element, what channel (its index / step) % channels has, float64."""

    scale: NDArray[np.float64]
    bias: NDArray[np.float64]
    factor: NDArray[np.float64]
    step: int

    @property
    def left(self) -> NDArray[np.uint8]:
        """log2 of each factor over the smallest."""
        exponents = np.frexp(self.factor)[1].astype(np.int64)
        result: NDArray[np.uint8] = (exponents - exponents.min()).astype(np.uint8)
        return result


@dataclass(frozen=True)
class Fixed:
    """The numbers of an integer node (docs/arithmetic.md, "LayerNorm")."""

    multiplier: NDArray[np.int32]  # [channels]
    bias: NDArray[np.int32]
    shift: int
    epsilon: int
    radicand_shift: int
    left: NDArray[np.uint8]


class LayerNorm(OpDef):
    """ONNX LayerNormalization, RMSNormalization, Instance- and GroupNormalization, all versions.

    Lines of up to 2^22 elements on int8, of 2^15 on int16. attrs: axes (neighbours in order, from
    the front), epsilon, centered (False: no mean is taken off, as RMSNormalization has it),
    act_min, act_max. Inputs: x, scale, bias and factor, each constant float32 that broadcasts to x,
    on integers too, or absent. The line is of x * factor; factors are powers of two from 2^-15 to 1
    (`quantize/equalization/cross_layer.py` puts them there).
    """

    name = "LayerNorm"
    layout = ALONG_AXES
    onnx = (
        "LayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization",
    )  # fmt: skip
    precisions = integer_precisions(*INTEGERS)
    inplace = (0,)
    real_constants = (1, 2, 3)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = float_input(node)
        rank, (scale, bias) = len(x.shape), [*node.inputs[1:], None, None][:2]
        epsilon = float(node.attrs.get("epsilon", 1e-5))
        if node.op in ("LayerNormalization", "RMSNormalization"):
            axes = tuple(range(axis_of(int(node.attrs.get("axis", -1)), rank), rank))
            centered = node.op == "LayerNormalization"
            y = self._scaled(b, x, scale, bias, axes, epsilon, centered)
            return [y, *_statistics(b, node, x, axes, epsilon)]
        if rank < 3:
            raise Unsupported(f"its input has {rank} axes", "give a batch of channels of images")
        n, c, *spatial = x.shape
        if node.op == "InstanceNormalization":
            scale, bias = (_with_shape(b, v, (c, *[1] * len(spatial))) for v in (scale, bias))
            return [self._scaled(b, x, scale, bias, tuple(range(2, rank)), epsilon, True)]
        groups = int(node.attrs["num_groups"])
        if groups < 1 or c % groups:
            raise Unsupported(f"its {c} channels are not {groups} groups of one size")
        per_channel = (groups, c // groups if node.version >= 21 else 1, 1)
        scale, bias = (_with_shape(b, v, per_channel) for v in (scale, bias))
        view = b.reshape(x, (n, groups, c // groups, prod(spatial)))
        return [b.reshape(self._scaled(b, view, scale, bias, (2, 3), epsilon, True), x.shape)]

    def _scaled(
        self, b: Builder, x: Value, scale: Value | None, bias: Value | None,
        axes: tuple[int, ...], epsilon: float, centered: bool,
    ) -> Value:  # fmt: skip
        """The node; what is computed of scale and bias is a Mul and an Add behind it."""
        attrs: dict[str, Any] = {"axes": axes, "epsilon": epsilon, "centered": centered}
        if (scale is None or scale.const is not None) and (bias is None or bias.const is not None):
            return b.emit("LayerNorm", [x, scale, bias], **attrs)
        y = b.emit("LayerNorm", [x, None, None], **attrs)
        y = y if scale is None else b.emit("Mul", [y, scale])
        return y if bias is None else b.emit("Add", [y, bias])

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        axis_view(x.shape, node.attrs["axes"])
        if x.dtype not in (np.float32, *LARGEST):
            raise ValueError(f"LayerNorm of {x.dtype}; it takes float32")
        if not 0 <= node.attrs["epsilon"] < np.inf:
            raise ValueError(f"LayerNorm with an epsilon of {node.attrs['epsilon']}")
        for v in node.inputs[1:]:
            if v is None:
                continue
            if v.const is None or v.dtype != np.float32:
                raise ValueError(f"LayerNorm with {v}; scale and bias are constant float32")
            if np.broadcast_shapes(x.shape, v.shape) != x.shape:
                raise ValueError(f"LayerNorm of {x}: {v} does not broadcast to it")
        if len(node.inputs) > 3 and node.inputs[3] is not None:
            fraction, exponent = np.frexp(np.asarray(node.inputs[3].const))
            if np.any(fraction != 0.5) or not -MOST_WIDENING < exponent.min() <= exponent.max() < 2:
                raise ValueError(f"LayerNorm with {node.inputs[3]}, no powers of two up to 1")
        return [x.type]

    def integer_problem(self, node: Node) -> str | None:
        return self._problem(node, np.dtype(np.int8))

    def problem(self, node: Node, precision: Precision) -> str | None:
        return super().problem(node, precision) or self._problem(node, precision.activations)

    def _problem(self, node: Node, dtype: np.dtype[np.generic]) -> str | None:
        _, axis, _ = axis_view(node.input(0).shape, node.attrs["axes"])
        longest = LINE_LIMIT // (LARGEST[dtype] << int(_scaling(node).left.max()))
        if axis > longest:
            return f"its lines of {axis} elements are longer than {longest}"
        constants = [v.const for v in node.inputs[1:] if v is not None and v.const is not None]
        if not all(np.all(np.isfinite(c)) for c in constants):
            return "its scale or bias is not finite"
        return None

    def accumulator_problem(self, node: Node) -> str | None:
        return problem_of(_fixed, node)

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, x, y = inputs[0], node.input(0), node.output
        assert q is not None and x.quant is not None and y.quant is not None
        fixed, step = _fixed(node), _scaling(node).step
        outer, axis, inner = axis_view(x.shape, node.attrs["axes"])
        c = q.reshape(outer, axis, inner).astype(np.int64) - x.quant.zero_point
        at = np.arange(c.size).reshape(c.shape) // step % len(fixed.multiplier)
        c <<= fixed.left[at]
        total = c.sum(axis=1, keepdims=True) * int(node.attrs["centered"])
        variance = axis * (c * c).sum(axis=1, keepdims=True) - total * total
        radicand = (variance << fixed.radicand_shift) + fixed.epsilon
        root, exponent = fixed_point.inverse_root(np.maximum(radicand, 1))
        root[variance == 0], exponent[variance == 0] = 0, 0
        down = 44 + exponent - fixed.radicand_shift // 2 - _normal_bits(axis)
        down[variance == 0] = 1
        normal = ((axis * c - total) * root + (np.int64(1) << (down - 1))) >> down
        bias = fixed.bias.astype(np.int64)[at] << (fixed.shift - BIAS_BITS)
        acc = normal * fixed.multiplier.astype(np.int64)[at] + bias
        qmin, qmax = Activation.of(node).q_range(y.quant)
        result = np.clip((acc + (1 << (fixed.shift - 1))) >> fixed.shift, qmin, qmax)
        return [result.astype(y.dtype).reshape(y.shape)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, y, scaling = node.input(0), node.output, _scaling(node)
        params: dict[str, int | float] = {**view_params(x.shape, node.attrs["axes"])}
        params |= {"channels": len(scaling.scale), "step": scaling.step}
        params |= {"centered": int(node.attrs["centered"])}
        act = Activation.of(node)
        if x.quant is None or y.quant is None:
            arrays = (scaling.scale, scaling.bias, scaling.factor)
            table = blob.add(*(a.astype("<f4") for a in arrays))
            params |= {"table": table, "epsilon_low": float_bits(node.attrs["epsilon"])}
            return Lowered(OpKind.LayerNorm, params | act.limits(None), [x])
        fixed = _fixed(node)
        widening = int(fixed.left.max())
        shifts = [fixed.left] if widening else []
        params |= {
            "table": blob.add(fixed.multiplier, fixed.bias, *shifts),
            "shift": fixed.shift, "widening": widening,
            "epsilon_low": fixed.epsilon & 0xFFFFFFFF, "epsilon_high": fixed.epsilon >> 32,
            "radicand_shift": fixed.radicand_shift, "input_zero": x.quant.zero_point,
        }  # fmt: skip
        return Lowered(OpKind.LayerNorm, params | act.limits(y.quant), [x])


def _with_shape(b: Builder, v: Value | None, shape: Shape) -> Value | None:
    return None if v is None else b.reshape(v, shape)


def _statistics(
    b: Builder, node: OnnxNode, x: Value, axes: tuple[int, ...], epsilon: float
) -> list[Value]:
    """The outputs Mean and InvStdDev, as far as they have names."""
    if not any(node.outputs[1:]):
        return []
    mean = b.emit("ReduceMean", [x], axes=axes, keepdims=True)
    d = b.emit("Sub", [x, mean])
    variance = b.emit("ReduceMean", [b.emit("Mul", [d, d])], axes=axes, keepdims=True)
    total = b.emit(
        "Add", [variance, b.constant(np.array(epsilon, np.float32), f"{node.name}/epsilon")]
    )
    return [mean, b.emit("Reciprocal", [b.emit("Sqrt", [total])])][: len(node.outputs) - 1]


def _scaling(node: Node) -> Scaling:
    """Scale, bias and factor over the one run of axes in which any varies."""
    given = [*node.inputs[1:], None, None, None][:3]
    arrays = [None if v is None else v.const for v in given]
    shape = np.broadcast_shapes(*(a.shape for a in arrays if a is not None))
    dims, _, steps = broadcast(node.input(0).shape, shape)
    varying = [i for i, step in enumerate(steps) if step]
    first, end = (varying[0], varying[-1] + 1) if varying else (0, 0)
    padded = (1,) * (len(node.input(0).shape) - len(shape)) + shape
    dense = tuple(dims[first:end])

    def flat(array: Array | None, otherwise: float) -> NDArray[np.float64]:
        if array is None:
            return np.full(prod(dense), otherwise)
        full = np.broadcast_to(array, padded).astype(np.float64)
        kept = tuple(d if i in varying else 1 for i, d in enumerate(dims))[first:end]
        return np.broadcast_to(full.reshape(kept), dense).ravel()

    step = prod(dims[end:]) if varying else 1
    return Scaling(flat(arrays[0], 1.0), flat(arrays[1], 0.0), flat(arrays[2], 1.0), step)


def _normal_bits(axis: int) -> int:
    """The bits behind the point of a normalized element, of which 28 hold sqrt(axis)."""
    return 28 - (max(axis - 1, 0).bit_length() + 1) // 2


def _fixed(node: Node) -> Fixed:
    """Raises ValueError for scales that leave the arithmetic."""
    x, y, scaling = node.input(0), node.output, _scaling(node)
    assert x.quant is not None and y.quant is not None
    _, axis, _ = axis_view(x.shape, node.attrs["axes"])
    left = scaling.left
    largest = LARGEST[x.dtype] << int(left.max())
    if axis * largest > LINE_LIMIT:
        longest = LINE_LIMIT // largest
        raise ValueError(f"its lines of {axis} elements are longer than {longest}")
    step = x.quant.scalar * float(scaling.factor.min())
    epsilon, most = float(node.attrs["epsilon"]) * (axis / step) ** 2, (axis * largest) ** 2
    shifts = [k for k in range(0, 48, 2) if most << k <= 1 << 62 and epsilon * 2.0**k < 2.0**62]
    if not shifts:
        raise ValueError(
            f"an epsilon of {node.attrs['epsilon']:g} is too large for an input of scale "
            f"{x.quant.scalar:g}"
        )
    ratio, bits = scaling.scale / y.quant.scalar, _normal_bits(axis)
    offset = scaling.bias / y.quant.scalar + y.quant.zero_point
    most_ratio, furthest = float(np.abs(ratio).max()), float(np.abs(offset).max())
    for shift in range(60, BIAS_BITS - 1, -1):
        fits = round(most_ratio * 2.0 ** (shift - bits)) <= MULTIPLIER_LIMIT
        fits = fits and most_ratio <= 2.0 ** (bits - 3) and furthest < 1 << 18
        if fits and (furthest + 1) * 2.0**shift <= SUM_LIMIT:
            return Fixed(
                np.rint(ratio * 2.0 ** (shift - bits)).astype(np.int32),
                np.rint(offset * 2.0**BIAS_BITS).astype(np.int32),
                shift, math.floor(epsilon * 2.0 ** shifts[-1] + 0.5), shifts[-1], left,
            )  # fmt: skip
    raise ValueError(
        f"an output scale of {y.quant.scalar:g} is too small for scales of up to "
        f"{float(np.abs(scaling.scale).max()):g} and biases of up to "
        f"{float(np.abs(scaling.bias).max()):g}"
    )


OPS = (LayerNorm(),)
