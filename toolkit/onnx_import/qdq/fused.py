"""Float operators of onnxruntime's domain com.microsoft, as its optimizer writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Array, Value
from ...ops._opdef import Unsupported
from .operators import Operand, QuantizedOperators, Reader, Result

Attrs = dict[str, Any]


def _real(inputs: list[Operand], at: int) -> Value:
    v = inputs[at] if at < len(inputs) else None
    if not isinstance(v, Value):
        raise Unsupported(f"its input {at} is not a float tensor")
    return v


def _sum(q: QuantizedOperators, inputs: list[Operand], *places: int) -> Value:
    """The sum of the inputs at these places that are there; the first must be."""
    y = _real(inputs, places[0])
    for at in places[1:]:
        if at < len(inputs) and inputs[at] is not None:
            y = q.apply("Add", y, _real(inputs, at))
    return y


def _activated(q: QuantizedOperators, y: Value, name: str, params: list[float]) -> Value:
    if not name:
        return y
    if name == "Clip":
        return q.apply("Clip", y, *map(q.constant, params))
    names = {"LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Elu": ("alpha",)}
    if name not in (*names, "Relu", "Sigmoid", "Tanh"):
        raise Unsupported(f"its activation {name} is unknown")
    return q.apply(name, y, **dict(zip(names.get(name, ()), params, strict=False)))


def _conv(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    activation, params = attrs.pop("activation", ""), attrs.pop("activation_params", [])
    y = q.apply("Conv", *(v for v in inputs[:3] if isinstance(v, Value)), **attrs)
    if len(inputs) > 3 and inputs[3] is not None:
        y = q.apply("Add", y, _real(inputs, 3))
    return _activated(q, y, activation, params)


def _matmul(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    if attrs.get("transBatchA", 0) or attrs.get("transBatchB", 0):
        raise Unsupported("it transposes its batch axes", "optimize the model at a lower level")
    a, b = (
        _turned(q, _real(inputs, i)) if attrs.get(turned, 0) else _real(inputs, i)
        for i, turned in enumerate(("transA", "transB"))
    )
    y, alpha = q.apply("MatMul", a, b), float(attrs.get("alpha", 1.0))
    return y if alpha == 1.0 else q.apply("Mul", y, q.constant(alpha))


def _turned(q: QuantizedOperators, x: Value) -> Value:
    rank = len(x.shape)
    return q.build.transpose(x, (*range(rank - 2), rank - 1, rank - 2)) if rank > 1 else x


def _gemm(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    name = attrs.pop("activation", "")
    params = [attrs.pop(k) for k in ("activation_alpha", "activation_beta") if k in attrs]
    attrs.pop("activation_gamma", None)
    y = q.apply("Gemm", *(v for v in inputs if isinstance(v, Value)), **attrs)
    return _activated(q, y, name, params)


def _gelu(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    return q.apply("Gelu", _sum(q, inputs, *range(len(inputs))))


def _fast_gelu(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    return q.apply("Gelu", _sum(q, inputs, *range(len(inputs))), approximate="tanh")


def _quick_gelu(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    x, alpha = _real(inputs, 0), float(attrs.get("alpha", 1.702))
    return q.apply("Mul", x, q.apply("Sigmoid", q.apply("Mul", x, q.constant(alpha))))


def _all_added(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    return _sum(q, inputs, *range(len(inputs)))


def _bias_softmax(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    x, bias, axis = _real(inputs, 0), _real(inputs, 1), int(attrs.get("axis", 1))
    rank = len(x.shape)
    if axis % rank != rank - 1:
        raise Unsupported(f"its softmax is over the axes from {axis} on", "the last is supported")
    if not attrs.get("is_inner_broadcast", 1) and len(bias.shape) != rank:
        raise Unsupported("its bias is repeated over the inner batch")
    return q.apply("Softmax", q.apply("Add", x, bias), axis=rank - 1)


def _skip_norm(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    """LayerNormalization-17 over the last axis, of input + skip + bias."""
    total = _sum(q, inputs, 0, 1, 4)
    gamma, beta = _real(inputs, 2), inputs[3] if len(inputs) > 3 else None
    given = [gamma] if beta is None else [gamma, _real(inputs, 3)]
    epsilon = float(attrs.get("epsilon", 1e-12))
    y = q.apply("LayerNormalization", total, *given, axis=-1, epsilon=epsilon)
    return [y, None, None, total]


def _skip_rms_norm(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    """input + skip + bias, over the root of the mean of its squares, times gamma."""
    total, epsilon = _sum(q, inputs, 0, 1, 3), float(attrs.get("epsilon", 1e-6))
    mean = q.apply("ReduceMean", q.apply("Mul", total, total), axes=[-1], keepdims=1, opset=17)
    root = q.apply("Sqrt", q.apply("Add", mean, q.constant(epsilon)))
    y = q.apply("Mul", q.apply("Div", total, root), _real(inputs, 2))
    return [y, None, None, total]


def unpacked(packed: Array, bits: int, count: int) -> Array:
    """The first `count` numbers of `bits` bits in the bytes of the last axis, the lowest first."""
    all_bits = np.unpackbits(packed[..., None], axis=-1, bitorder="little")
    flat = all_bits.reshape(*packed.shape[:-1], -1)[..., : count * bits]
    digits = flat.reshape(*packed.shape[:-1], count, bits)
    values: Array = (digits * (1 << np.arange(bits))).sum(axis=-1)
    return values


def _matmul_bits(q: QuantizedOperators, inputs: list[Operand], attrs: Attrs) -> Result:
    """A times the transpose of B [N, K], of 2 to 8 bits, a scale and a zero point a block of K."""
    n, k, bits, block = (int(attrs.get(a, 4)) for a in ("N", "K", "bits", "block_size"))
    x, packed, scales = _real(inputs, 0), *(_real(inputs, i).const for i in (1, 2))
    zero = inputs[3] if len(inputs) > 3 else None
    if len(inputs) > 4 and inputs[4] is not None:
        raise Unsupported("its rows are reordered (g_idx)", "quantize without act_order")
    if packed is None or scales is None or (isinstance(zero, Value) and zero.const is None):
        raise Unsupported("its weights are computed at run time", "make them constants")
    blocks = -(-k // block)
    values = unpacked(packed.reshape(n, blocks, -1), bits, block).astype(np.float32)
    middle: Any = np.float32(1 << (bits - 1))
    if isinstance(zero, Value) and zero.const is not None:
        middle = zero.const.astype(np.float32).reshape(n, -1, 1)
        if zero.const.dtype == np.uint8:
            middle = unpacked(zero.const.reshape(n, -1), bits, blocks)[..., None]
    real = (values - middle) * scales.astype(np.float32).reshape(n, blocks, 1)
    weights = real.reshape(n, -1)[:, :k].T.astype(np.float32)
    y = q.apply("MatMul", x, q.constant(np.ascontiguousarray(weights)))
    return y if len(inputs) < 6 or inputs[5] is None else q.apply("Add", y, _real(inputs, 5))


FUSED: dict[str, Reader] = {
    "FusedConv": _conv,
    "FusedGemm": _gemm,
    "FusedMatMul": _matmul,
    "TransposeMatMul": _matmul,
    "Gelu": _gelu,
    "BiasGelu": _gelu,
    "FastGelu": _fast_gelu,
    "QuickGelu": _quick_gelu,
    "BiasAdd": _all_added,
    "BiasSoftmax": _bias_softmax,
    "SkipLayerNormalization": _skip_norm,
    "SkipSimplifiedLayerNormalization": _skip_rms_norm,
    "MatMulNBits": _matmul_bits,
}
"""By name in com.microsoft."""
