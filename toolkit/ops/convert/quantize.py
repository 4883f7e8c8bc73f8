"""Quantize, Dequantize, Requantize: from one representation of a real tensor to another."""

from __future__ import annotations

import numpy as np

from ...fixed_point import multiplier16, scale16
from ...format.schema import OpKind
from ...ir import Array, Node, QuantParams, TensorType, Value, constant
from ...numerics import FLOAT, INT8, INTEGERS, integer_precisions
from .._opdef import ANY_LAYOUT, Blob, Lowered, OpDef, problem_of
from ..elementwise.lut import Lut, make_table


def _quant(value: Value) -> QuantParams:
    if value.quant is None:
        raise ValueError(f"{value} has no quantization")
    return value.quant


def _params(value: Value) -> dict[str, int | float]:
    quant = _quant(value)
    params: dict[str, int | float] = {"count": value.type.size, "scale": quant.scalar}
    return params if value.dtype == np.int16 else params | {"zero": quant.zero_point}


class Quantize(OpDef):
    """float32 -> int8 or int16, as the output's QuantParams say. The quantizer makes it."""

    name = "Quantize"
    layout = ANY_LAYOUT
    exactness = "exact"
    precisions = integer_precisions(*INTEGERS)

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype != np.float32:
            raise ValueError(f"float32 is quantized, not {x.dtype}")
        return [TensorType(_quant(node.output).dtype, x.shape)]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        return [_quant(node.output).quantize(inputs[0])]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        return Lowered(OpKind.Quantize, _params(node.output), [node.input(0)])


class Dequantize(OpDef):
    """int8 or int16 -> float32, as the input's QuantParams say. The quantizer makes it."""

    name = "Dequantize"
    layout = ANY_LAYOUT
    exactness = "exact"
    precisions = integer_precisions(*INTEGERS)

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype not in INTEGERS:
            raise ValueError(f"int8 or int16 is dequantized, not {x.dtype}")
        return [TensorType(np.dtype(np.float32), x.shape)]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        return [_quant(node.input(0)).dequantize(inputs[0])]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        return Lowered(OpKind.Dequantize, _params(x), [x])


class Requantize(OpDef):
    """Between int8 and int16, and from int16 to int16, as the QuantParams of both values say.

    The quantizer makes it. From int8 to int8 a Lut serves.
    """

    name = "Requantize"
    channelwise = frozenset({"order"})
    exactness = "exact"
    precisions = integer_precisions(*INTEGERS)
    inplace = (0,)

    def infer(self, node: Node) -> list[TensorType]:
        x, y = node.input(0), _quant(node.output)
        if x.dtype not in INTEGERS or (x.dtype == np.int8 and y.dtype == np.int8):
            raise ValueError(f"{x.dtype} is not requantized to {y.dtype}")
        return [TensorType(y.dtype, x.shape)]

    def _ratio(self, node: Node) -> tuple[int, int]:
        return multiplier16(_quant(node.input(0)).scalar / _quant(node.output).scalar)

    def accumulator_problem(self, node: Node) -> str | None:
        return problem_of(self._ratio, node)

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, x, y = inputs[0], _quant(node.input(0)), _quant(node.output)
        assert q is not None
        scaled = scale16(q.astype(np.int64) - x.zero_point, *self._ratio(node))
        return [np.clip(scaled + y.zero_point, y.qmin, y.qmax).astype(y.dtype)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, y = _quant(node.input(0)), _quant(node.output)
        m, shift = self._ratio(node)
        params = {
            "count": node.output.type.size, "multiplier": m, "shift": shift,
            "input_zero": x.zero_point, "output_zero": y.zero_point,
            "qmin": y.qmin, "qmax": y.qmax,
        }  # fmt: skip
        return Lowered(OpKind.Requantize, params, [node.input(0)])


def converted(x: Value, y: Value) -> Node:
    """The node that makes `y` of `x`, the same real tensor in another dtype or quantization."""
    if x.dtype == y.dtype == INT8:
        table = constant(make_table(lambda real: real, _quant(x), _quant(y)), f"{y.name}.table")
        return Node(Lut.name, [x, table], [y], {}, y.name)
    op: type[OpDef] = Requantize
    if FLOAT in (x.dtype, y.dtype):
        op = Dequantize if y.dtype == FLOAT else Quantize
    return Node(op.name, [x], [y], {}, y.name)


OPS: tuple[OpDef, ...] = (Quantize(), Dequantize(), Requantize())
