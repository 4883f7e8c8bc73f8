"""Quantize and Dequantize: between float32 and int8, by the QuantParams of the int8 value."""

from __future__ import annotations

import numpy as np

from ..format.schema import OpKind
from ..ir import Array, Node, QuantParams, TensorType, Value
from ._opdef import Blob, Lowered, OpDef


def _quant(value: Value) -> QuantParams:
    if value.quant is None:
        raise ValueError(f"{value} has no quantization")
    return value.quant


def _params(value: Value) -> dict[str, int | float]:
    quant = _quant(value)
    return {"count": value.type.size, "scale": quant.scalar, "zero": quant.zero_point}


class Quantize(OpDef):
    """float32 -> int8, as the output's QuantParams say. The quantizer makes it."""

    name = "Quantize"
    exactness = "exact"

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype != np.float32:
            raise ValueError(f"float32 is quantized, not {x.dtype}")
        return [TensorType(np.dtype(np.int8), x.shape)]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        return [_quant(node.output).quantize(inputs[0])]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        return Lowered(OpKind.QuantizeS8, _params(node.output), [node.input(0)])


class Dequantize(OpDef):
    """int8 -> float32, as the input's QuantParams say. The quantizer makes it."""

    name = "Dequantize"
    exactness = "exact"

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype != np.int8:
            raise ValueError(f"int8 is dequantized, not {x.dtype}")
        return [TensorType(np.dtype(np.float32), x.shape)]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        return [_quant(node.input(0)).dequantize(inputs[0])]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        return Lowered(OpKind.DequantizeS8, _params(node.input(0)), [node.input(0)])


OPS: tuple[OpDef, ...] = (Quantize(), Dequantize())
