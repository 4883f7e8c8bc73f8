"""Quantized tensors of an ONNX model: real numbers on a grid, as long as nothing asks for the
integers themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx

from ...ir import Array, QuantParams, Value
from ...ops._opdef import OnnxNode, Unsupported
from ..attributes import RUNTIME_TYPE, type_name

_TP = onnx.TensorProto

LIMITS: dict[int, tuple[int, int]] = {
    _TP.INT8: (-128, 127), _TP.UINT8: (0, 255), _TP.INT16: (-32768, 32767), _TP.UINT16: (0, 65535),
    _TP.INT4: (-8, 7), _TP.UINT4: (0, 15), _TP.INT2: (-2, 1), _TP.UINT2: (0, 3),
}  # fmt: skip
"""Of the integers that QuantizeLinear makes."""

Apply = Callable[..., Value]
"""apply(op, *inputs, **attrs): the first output of an ONNX operator."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Scale and zero point, float32, of shapes that broadcast to the tensor; zero None is 0.

    `quant` is the same where the runtime has it for activations: per tensor, known, 8 bits or 16
    without a zero point.
    """

    scale: Value
    zero: Value | None
    element: int
    quant: QuantParams | None = None

    @property
    def is_per_tensor(self) -> bool:
        return self.scale.type.size == 1 and (self.zero is None or self.zero.type.size == 1)

    @property
    def common_step(self) -> Array | None:
        """Of a grid of several known scales, all with one zero point, the largest; else None."""
        if self.is_per_tensor or self.scale.const is None:
            return None
        zero = None
        if self.zero is not None:
            if self.zero.const is None or np.ptp(self.zero.const):
                return None
            zero = self.zero.const.ravel()[:1]
        step = self.scale.const.max(keepdims=True).reshape(())
        return step if quant_params(step, zero, self.element) is not None else None

    def equals(self, other: Grid) -> bool:
        return _same(self.scale, other.scale) and _same(self.zero, other.zero)


class Quantized:
    """An integer tensor of the model: its real numbers, or the integers less their zero point as
    floats; each is made from the other when it is asked for."""

    def __init__(
        self, grid: Grid, apply: Apply, *, real: Value | None = None, centered: Value | None = None
    ) -> None:
        self.grid, self._apply = grid, apply
        self._real, self._centered = real, centered

    @property
    def shape(self) -> tuple[int, ...]:
        known = self._centered if self._real is None else self._real
        assert known is not None
        return known.shape

    @cached_property
    def real(self) -> Value:
        if self._real is not None:
            return self._real
        assert self._centered is not None
        return self._apply("Mul", self._centered, self.grid.scale)

    @cached_property
    def centered(self) -> Value:
        """q - zero point, in float32."""
        if self._centered is not None:
            return self._centered
        return self._apply("Round", self._apply("Div", self.real, self.grid.scale))

    @cached_property
    def floats(self) -> Value:
        """q, in float32."""
        zero = self.grid.zero
        return self.centered if zero is None else self._apply("Add", self.centered, zero)

    @cached_property
    def integers(self) -> Value:
        """q, in the runtime's type for it."""
        if self.grid.element not in RUNTIME_TYPE:
            raise Unsupported(
                f"it reads {type_name(self.grid.element)} values that the model computes",
                "put a DequantizeLinear in front of it",
            )
        return self._apply("Cast", self.floats, to=element_of(RUNTIME_TYPE[self.grid.element]))


def _same(a: Value | None, b: Value | None) -> bool:
    if a is None or b is None:
        found = a or b
        return found is None or (found.const is not None and not found.const.any())
    if a is b:
        return True
    if a.const is None or b.const is None:
        return False
    return a.type.size == b.type.size and bool(np.all(a.const.ravel() == b.const.ravel()))


def element_of(dtype: np.dtype[Any]) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(dtype))


def quant_params(scale: Array, zero: Array | None, element: int) -> QuantParams | None:
    """The runtime's quantization of an activation on this grid; None if it has none."""
    if scale.size != 1 or (zero is not None and zero.size != 1):
        return None
    s, z = float(np.float32(scale.ravel()[0])), 0 if zero is None else int(zero.ravel()[0])
    if not (np.isfinite(s) and s > 0):
        raise Unsupported(f"its scale is {s}", "a scale must be a positive number")
    low, high = LIMITS[element]
    if high - low > 255:
        middle = z - (low + high + 1) // 2
        return QuantParams.int16(s) if middle == 0 else None
    return QuantParams((s,), z - 128 if element == _TP.UINT8 else z)


def spread(v: Array, shape: tuple[int, ...], axis: int, block: int) -> Array:
    """Scales or zero points in a shape that broadcasts to `shape`: of the tensor, of each index of
    `axis`, or of each block along it. Raises Unsupported if they do not fit."""
    if v.size == 1:
        return v.reshape(())
    axis += len(shape) if axis < 0 else 0
    if not 0 <= axis < max(len(shape), 1):
        raise Unsupported(f"its axis {axis} is outside its input {list(shape)}")
    if block:
        wide = np.repeat(v, block, axis)[tuple(slice(d) for d in shape)]
        if v.ndim == len(shape) and wide.shape == shape:
            return wide
    elif v.shape == (shape[axis],):
        return v.reshape((-1, *[1] * (len(shape) - axis - 1)))
    what = f"blocks of {block}" if block else "channels"
    raise Unsupported(f"its scales {list(v.shape)} do not fit {what} of {list(shape)}")


def quantized_array(x: Array, scale: Array, zero: Array | None, element: int) -> Array:
    """QuantizeLinear of constants; scale and zero point broadcast to `x`."""
    low, high = LIMITS[element]
    with np.errstate(all="ignore"):
        q = np.rint(x.astype(np.float32) / scale.astype(np.float32))
    q = np.clip(np.nan_to_num(q) + (0 if zero is None else zero.astype(np.float32)), low, high)
    result: Array = q.astype(onnx.helper.tensor_dtype_to_np_dtype(element))
    return result


def dequantized_array(q: Array, scale: Array, zero: Array | None) -> Array:
    """DequantizeLinear of constants, in the type of the scale."""
    if q.dtype.kind in "iu" or q.dtype.name.startswith(("int", "uint")):
        centered = q.astype(np.int64) - (0 if zero is None else zero.astype(np.int64))
    else:  # float8 and float4 have no zero point
        centered = q.astype(np.float32)
    result: Array = (centered.astype(np.float32) * scale.astype(np.float32)).astype(scale.dtype)
    return result


def plain_node(op: str, inputs: list[Value | None], attrs: dict[str, Any], name: str) -> OnnxNode:
    """An operator of the newest opset that every adapter knows."""
    version = int(attrs.pop("opset", 21))
    return OnnxNode(op, "", version, name, inputs, [name], attrs)
