"""FullyConnected: rows times constant weights."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import INTEGERS, WEIGHT_TYPES, integer_precisions
from .._opdef import Blob, Builder, Lowered, OnnxNode
from .._views import as_float32
from .._weighted import (
    Ints,
    Params,
    WeightedOp,
    add_weights,
    check_bias,
    exact_product,
    file_weights,
    weights_of,
)
from ..classical._linear_models import classifier, regressor

LINEAR_MODELS = {"LinearRegressor": regressor, "LinearClassifier": classifier}


class FullyConnected(WeightedOp):
    """ONNX Gemm-7..13: FullyConnected if B is constant, else MatMul, Mul and Add. ai.onnx.ml:
    LinearRegressor-1, and LinearClassifier-1 with integer classes.

    x [..., K], w [N, K], bias [N] or absent; float32, int8 or int16. attrs: act_min, act_max.
    """

    name = "FullyConnected"
    onnx = ("Gemm", "ai.onnx.ml.LinearRegressor", "ai.onnx.ml.LinearClassifier")
    precisions = integer_precisions(*INTEGERS, weight_bits=tuple(WEIGHT_TYPES))

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        if node.op in LINEAR_MODELS:
            return LINEAR_MODELS[node.op](b, node)
        x, (_, w, *rest) = as_float32(node), node.inputs
        c = rest[0] if rest else None
        assert w is not None
        name = node.outputs[0]
        alpha, beta = (float(node.attrs.get(k, 1.0)) for k in ("alpha", "beta"))
        if node.attrs.get("transA", 0):
            x = b.transpose(x, (1, 0))
        turned = bool(node.attrs.get("transB", 0))
        if beta == 0.0:
            c = None
        if w.const is not None:
            weights = (w.const if turned else w.const.T).astype(np.float32) * np.float32(alpha)
            bias = _as_bias(c, beta, len(weights))
            inputs = [x, b.constant(weights, f"{name}.weights")]
            if bias is not None:
                c = None
                inputs.append(b.constant(bias, f"{name}.bias"))
            y = b.emit("FullyConnected", [*inputs, *[None] * (3 - len(inputs))], name=name)
        else:
            y = b.emit("MatMul", [x, w], name=name, transpose_b=turned)
            y = _times(b, y, alpha)
        if c is not None:
            y = b.emit("Add", [y, _times(b, c, beta)], name=name)
        return [y]

    def infer(self, node: Node) -> list[TensorType]:
        x, w = node.input(0), node.input(1)
        if not x.shape or len(w.shape) != 2 or x.shape[-1] != w.shape[1]:
            raise ValueError(f"{node.op}: input {x} and weights {w} do not match")
        check_bias(node, w.shape[0])
        return [TensorType(x.dtype, (*x.shape[:-1], w.shape[0]))]

    def sums_channels(self, node: Node) -> bool:
        return True

    def accumulate(self, node: Node, x: Array) -> Ints:
        quant = node.input(0).quant
        assert quant is not None
        return exact_product(x.astype(np.int16) - quant.zero_point, weights_of(node))

    def stored_weights(self, node: Node, params: Params, flat: NDArray[np.int8]) -> Array:
        n, k = int(params["n"]), int(params["k"])
        return flat[: n * k].reshape(n, k)

    def sizes(self, node: Node) -> tuple[OpKind, dict[str, int | float]]:
        n, k = node.input(1).shape
        return OpKind.FullyConnected, {"rows": prod(node.input(0).shape[:-1]), "k": k, "n": n}

    def lower(self, node: Node, blob: Blob) -> Lowered:
        kind, params = self.sizes(node)
        params |= add_weights(node, blob, file_weights(node))
        return Lowered(kind, params | self.add_tail(node, blob), [node.input(0)])


def _as_bias(c: Value | None, beta: float, n: int) -> Array | None:
    """beta * C as a vector [n], if C is constant and the same in every row."""
    if c is None or c.const is None or _rows(c.shape) != 1:
        return None
    scaled = c.const.astype(np.float32).reshape(-1) * np.float32(beta)
    return np.broadcast_to(scaled, n)


def _rows(shape: Sequence[int]) -> int:
    return shape[-2] if len(shape) > 1 else 1


def _times(b: Builder, x: Value, factor: float) -> Value:
    if factor == 1.0:
        return x
    if x.const is not None:
        return b.constant(x.const * x.const.dtype.type(factor), x.name)
    return b.emit("Mul", [x, b.constant(np.array(factor, np.float32))])


OPS = (FullyConnected(),)
