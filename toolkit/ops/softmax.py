"""Softmax and its logarithm along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..format.schema import OpKind
from ..ir import Array, Node, QuantParams, TensorType, Value
from ._opdef import Blob, Builder, Lowered, OnnxNode, OpDef
from ._views import axis_view, float_input, view_params
from .movement import axis_of

OUTPUT = QuantParams((1 / 256,), -128)
"""The quantization of every int8 Softmax: probabilities in 1/256."""

LARGEST_POWER = 23


def exponentials(scale: float, axis: int) -> NDArray[np.uint32]:
    """round(2^p * exp(-scale * d)) for d of 0 to 255; `axis` of them sum to less than 2^31."""
    p = max(p for p in range(LARGEST_POWER + 1) if axis << p < 1 << 31)
    real: NDArray[np.float64] = np.exp(-scale * np.arange(256))
    return np.rint(2.0**p * real).astype(np.uint32)


class Softmax(OpDef):
    """ONNX Softmax-13, LogSoftmax-13. attrs: axis, from the front. float32 of any shape.

    On int8 the logarithm stays float: its range has no useful bound.
    """

    inplace = (0,)

    def __init__(self, name: str) -> None:
        self.name = name
        self.onnx = (name,)
        if name == "LogSoftmax":
            self.float_only = "the logarithm of a small probability needs more range than int8 has"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = float_input(node)
        axis = int(node.attrs.get("axis", -1))
        if not x.shape:
            x = b.reshape(x, (1,))
            return [b.reshape(b.emit(self.name, [x], axis=0), ())]
        return [b.emit(self.name, [x], axis=axis_of(axis, len(x.shape)))]

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        axis_view(x.shape, (node.attrs["axis"],))
        if x.dtype not in (np.float32, np.int8):
            raise ValueError(f"{self.name} of {x.dtype}; it takes float32")
        return [x.type]

    def fixed_output(self, node: Node, dtype: np.dtype[Any]) -> QuantParams | None:
        return OUTPUT if self.name == "Softmax" else None

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, x = inputs[0], node.input(0)
        assert q is not None and x.quant is not None
        axis = node.attrs["axis"]
        table = exponentials(x.quant.scalar, x.shape[axis]).astype(np.int64)
        wide = q.astype(np.int64)
        e = table[wide.max(axis=axis, keepdims=True) - wide]
        total = e.sum(axis=axis, keepdims=True)
        return [(np.minimum((e * 256 + total // 2) // total, 255) - 128).astype(np.int8)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, axis = node.input(0), node.attrs["axis"]
        params = view_params(x.shape, (axis,))
        if x.quant is None:
            return Lowered(OpKind.SoftmaxF32, params | {"log": int(self.name != "Softmax")}, [x])
        if (problem := self.integer_problem(node)) is not None:
            raise ValueError(f"{self.name} '{node.name}': {problem}")
        table = blob.add(exponentials(x.quant.scalar, x.shape[axis]))
        return Lowered(OpKind.SoftmaxS8, params | {"table": table}, [x])


OPS: tuple[OpDef, ...] = (Softmax("Softmax"), Softmax("LogSoftmax"))
