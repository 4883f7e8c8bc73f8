"""Quantize, Dequantize, Requantize: from one representation of a real tensor to another."""

from __future__ import annotations

import numpy as np

from ...fixed_point import multiplier16, scale16
from ...format.schema import OpKind
from ...ir import Array, Node, QuantParams, TensorType, Value, constant
from ...numerics import FLOAT, INT8, INTEGERS, UINT8, integer_precisions
from .._opdef import ANY_LAYOUT, Blob, Lowered, OpDef, problem_of
from ..elementwise.lut import Lut, make_table

_SATURATING = 2.0**17
"""A ratio of scales that takes each number but 0 out of int16, as a larger one does: of a mask of
-3.4e38, say."""


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
        return Lowered(OpKind.Dequantize, _params(node.output), [node.input(0)])


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
        ratio = _quant(node.input(0)).scalar / _quant(node.output).scalar
        return multiplier16(min(ratio, _SATURATING))

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


class Reinterpret(OpDef):
    """The bytes of an int8 tensor as uint8, or the other way. The quantizer makes it; it is free:
    input and output share memory."""

    name = "Reinterpret"
    layout = ANY_LAYOUT
    exactness = "exact"
    view = True

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype not in (INT8, UINT8):
            raise ValueError(f"int8 or uint8 is reinterpreted, not {x.dtype}")
        return [TensorType(UINT8 if x.dtype == INT8 else INT8, x.shape)]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        return [inputs[0].view(node.output.dtype)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        raise AssertionError("a view is not lowered")


def signed(x: Value, y: Value) -> list[Node]:
    """The nodes that make `y`, int8, of `x`, uint8 with a zero point 128 above; or of an int8 `x`
    the uint8 `y`: a table that turns the sign bit, on int8 bytes."""
    plain = QuantParams((1.0,))
    between = Value(f"{y.name if y.dtype == UINT8 else x.name}.bytes", TensorType(INT8, x.shape))
    between.quant = plain
    table = constant(make_table(lambda q: np.where(q < 0, q + 128, q - 128), plain, plain),
                     f"{y.name}.table")  # fmt: skip
    if y.dtype == INT8:
        return [
            Node(Reinterpret.name, [x], [between], {}, between.name),
            Node(Lut.name, [between, table], [y], {}, y.name),
        ]
    return [
        Node(Lut.name, [x, table], [between], {}, between.name),
        Node(Reinterpret.name, [between], [y], {}, y.name),
    ]


def converted(x: Value, y: Value) -> Node:
    """The node that makes `y` of `x`, the same real tensor in another dtype or quantization."""
    if x.dtype == y.dtype == INT8:
        table = constant(make_table(lambda real: real, _quant(x), _quant(y)), f"{y.name}.table")
        return Node(Lut.name, [x, table], [y], {}, y.name)
    op: type[OpDef] = Requantize
    if FLOAT in (x.dtype, y.dtype):
        op = Dequantize if y.dtype == FLOAT else Quantize
    return Node(op.name, [x], [y], {}, y.name)


OPS: tuple[OpDef, ...] = (Quantize(), Dequantize(), Requantize(), Reinterpret())
