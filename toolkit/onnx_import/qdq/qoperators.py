"""Operators that compute on integers, read as the real operator between Q and DQ: of ONNX, and of
onnxruntime's domain com.microsoft. Their integer results are real numbers on a grid again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from ...ir import Value
from ...ops._opdef import Unsupported
from .fused import FUSED
from .grids import Grid, Quantized
from .operators import Operand, QuantizedOperators, Reader, Result

_TP = onnx.TensorProto
_MS = "com.microsoft."

Attrs = dict[str, Any]


def _padded(inputs: list[Operand], count: int) -> list[Operand]:
    return [*inputs, *[None] * (count - len(inputs))]


def _requantized(q: QuantizedOperators, y: Value, scale: Operand, zero: Operand) -> Quantized:
    return q.quantize(y, q.grid(scale, zero, q.element(zero), y.shape))


def _around(
    q: QuantizedOperators, x: Value, compute: Callable[[Value], Value], channels_last: bool
) -> Value:
    """`compute` on channels behind the batch, whatever the layout of `x`."""
    if not channels_last:
        return compute(x)
    rank = len(x.shape)
    y = compute(q.build.transpose(x, (0, rank - 1, *range(1, rank - 1))))
    return q.build.transpose(y, (0, *range(2, rank), 1))


def _bias(q: QuantizedOperators, bias: Operand, *scales: Operand) -> Value | None:
    """An int32 bias, whose scale is the product of these."""
    if bias is None:
        return None
    unit: Any = np.float32(1)
    for s in scales:
        if not isinstance(s, Value) or s.const is None:
            raise Unsupported("its scales are computed at run time", "make them constants")
        unit = unit * np.asarray(s.const, np.float64).reshape(-1 if s.const.size > 1 else ())
    if not isinstance(bias, Value) or bias.const is None:
        raise Unsupported("its bias is computed at run time", "make it a constant")
    return q.constant(bias.const * unit)


def _conv(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    x, xs, xz, w, ws, wz, ys, yz, bias = _padded(inputs, 9)
    last = bool(attrs.pop("channels_last", 0))
    weights = q.dequantize(w, ws, wz, axis=0)
    given = [v for v in (_bias(q, bias, xs, ws),) if v is not None]
    y = _around(
        q, q.dequantize(x, xs, xz), lambda v: q.apply("Conv", v, weights, *given, **attrs), last
    )
    return _requantized(q, y, ys, yz)


def _matrix(q: QuantizedOperators, v: Operand, s: Operand, z: Operand, axis: int) -> Value:
    """A factor of a product of matrices; its scales are of the rows or the columns."""
    if isinstance(v, Value) and isinstance(s, Value) and s.const is not None and s.const.size > 1:
        array, zero = s.const, z.const if isinstance(z, Value) else None
        s = q.constant(array.ravel())
        if zero is not None and isinstance(z, Value):
            z = Value(z.name, z.type, zero.ravel())
    return q.dequantize(v, s, z, axis=axis)


def _matmul(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    a, a_s, a_z, b, b_s, b_z, ys, yz = _padded(inputs, 8)
    y = q.apply("MatMul", _matrix(q, a, a_s, a_z, -2), _matrix(q, b, b_s, b_z, -1))
    return _requantized(q, y, ys, yz)


def _gemm(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    a, a_s, a_z, b, b_s, b_z, c, ys, yz = _padded(inputs, 9)
    rows = _matrix(q, b, b_s, b_z, 0 if attrs.get("transB", 0) else 1)
    bias = _bias(q, c, a_s, b_s)
    if bias is not None:
        bias = q.constant(np.asarray(bias.const) * float(attrs.get("alpha", 1.0)))
    y = q.apply("Gemm", q.dequantize(a, a_s, a_z), rows, bias, **attrs)
    return y if ys is None else _requantized(q, y, ys, yz)


def _binary(op: str) -> Reader:
    def read(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
        a, a_s, a_z, b, b_s, b_z, ys, yz = _padded(inputs, 8)
        y = q.apply(op, q.dequantize(a, a_s, a_z), q.dequantize(b, b_s, b_z))
        return _requantized(q, y, ys, yz)

    return read


def _unary(op: str) -> Reader:
    def read(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
        x, xs, xz, ys, yz = _padded(inputs, 5)
        last = bool(attrs.pop("channels_last", 0))
        real = q.dequantize(x, xs, xz)
        y = _around(q, real, lambda v: q.apply(op, v, **attrs), last)
        return _requantized(q, y, ys, yz)

    return read


def _where(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    condition, x, xs, xz, y, ys, yz, zs, zz = _padded(inputs, 9)
    if not isinstance(condition, Value):
        raise Unsupported("its condition is a quantized tensor")
    z = q.apply("Where", condition, q.dequantize(x, xs, xz), q.dequantize(y, ys, yz))
    return _requantized(q, z, zs, zz)


def _concat(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    ys, yz, *rest = inputs
    parts = [q.dequantize(x, s, z) for x, s, z in zip(*[iter(rest)] * 3, strict=True)]
    return _requantized(q, q.apply("Concat", *parts, **attrs), ys, yz)


def _integer_product(op: str, q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    """int32 of a product of two integer tensors: the real product, on a grid of its own."""
    x, w, xz, wz = _padded(inputs, 4)
    one, static = q.constant(1.0), isinstance(x, Quantized) and x.grid.quant is not None
    if static and isinstance(x, Quantized) and _is_zero_of(q, x, xz):
        data, scale = x.real, x.grid.scale
    else:
        data, scale = _centered(q, x, xz), one
    weights = q.dequantize(w, one, wz, axis=0 if op == "Conv" else -1)
    y = q.apply(op, data, weights, **attrs)
    grid = Grid(scale, None, _TP.INT32)
    if static:
        return Quantized(grid, q.apply, real=y)
    return Quantized(grid, q.apply, centered=y)


def _is_zero_of(q: QuantizedOperators, x: Quantized, zero: Operand) -> bool:
    other = q.grid(x.grid.scale, zero, x.grid.element, x.real.shape)
    return other.equals(x.grid)


def _centered(q: QuantizedOperators, x: Operand, zero: Operand) -> Value:
    """The integers less their zero point, in float32."""
    if isinstance(x, Quantized):
        z = zero.floats if isinstance(zero, Quantized) else q.floats(zero)
        if z is x.grid.zero or (z is None and x.grid.zero is None):
            return x.centered
    whole, z = q.floats(x), q.floats(zero)
    assert whole is not None
    return whole if z is None else q.apply("Sub", whole, z)


def _conv_integer(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    return _integer_product("Conv", q, inputs, attrs)


def _matmul_integer(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    return _integer_product("MatMul", q, inputs, attrs)


def dynamic_grid(q: QuantizedOperators, x: Value) -> Grid:
    """uint8 of the range that `x` has in this run, widened to hold 0 (DynamicQuantizeLinear-11)."""
    nothing = q.constant(0.0)
    low, high = (q.apply(op, x, keepdims=0) for op in ("ReduceMin", "ReduceMax"))
    low, high = q.apply("Min", low, nothing), q.apply("Max", high, nothing)
    scale = q.apply("Div", q.apply("Sub", high, low), q.constant(255.0))
    flat = q.apply("Equal", scale, nothing)
    scale = q.apply("Where", flat, q.constant(1.0), scale)
    zero = q.apply("Div", q.apply("Neg", low), scale)
    zero = q.apply("Clip", q.apply("Round", zero), nothing, q.constant(255.0))
    return Grid(scale, zero, _TP.UINT8)


def _dynamic(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    x = q.floats(inputs[0])
    assert x is not None
    grid = dynamic_grid(q, x)
    assert grid.zero is not None
    zero = Quantized(Grid(q.constant(1.0), None, _TP.UINT8), q.apply, centered=grid.zero)
    return [q.quantize(x, grid), grid.scale, zero]


def _dynamic_matmul(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    a, b, b_s, b_z, bias = _padded(inputs, 5)
    x = q.floats(a)
    assert x is not None
    real = q.quantize(x, dynamic_grid(q, x)).real
    return _with_bias(q, q.apply("MatMul", real, _matrix(q, b, b_s, b_z, -1)), bias)


def _matmul_to_float(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    a, b, a_s, b_s, a_z, b_z, bias = _padded(inputs, 7)
    y = q.apply("MatMul", q.dequantize(a, a_s, a_z), _matrix(q, b, b_s, b_z, -1))
    return _with_bias(q, y, bias)


def _with_bias(q: QuantizedOperators, y: Value, bias: Operand) -> Value:
    given = q.floats(bias)
    return y if given is None else q.apply("Add", y, given)


READ: dict[str, Reader] = {
    "QuantizeLinear": QuantizedOperators.quantize_linear,
    "DequantizeLinear": QuantizedOperators.dequantize_linear,
    "DynamicQuantizeLinear": _dynamic,
    "QLinearConv": _conv,
    "QLinearMatMul": _matmul,
    "ConvInteger": _conv_integer,
    "MatMulInteger": _matmul_integer,
    _MS + "QuantizeLinear": QuantizedOperators.quantize_linear,
    _MS + "DequantizeLinear": QuantizedOperators.dequantize_linear,
    _MS + "QLinearConv": _conv,
    _MS + "QGemm": _gemm,
    _MS + "QLinearAdd": _binary("Add"),
    _MS + "QLinearMul": _binary("Mul"),
    _MS + "QLinearSigmoid": _unary("Sigmoid"),
    _MS + "QLinearLeakyRelu": _unary("LeakyRelu"),
    _MS + "QLinearSoftmax": _unary("Softmax"),
    _MS + "QLinearAveragePool": _unary("AveragePool"),
    _MS + "QLinearGlobalAveragePool": _unary("GlobalAveragePool"),
    _MS + "QLinearConcat": _concat,
    _MS + "QLinearWhere": _where,
    _MS + "DynamicQuantizeMatMul": _dynamic_matmul,
    _MS + "MatMulIntegerToFloat": _matmul_to_float,
    **{_MS + name: reader for name, reader in FUSED.items()},
}
"""By ONNX name, of other domains "domain.Name"."""
