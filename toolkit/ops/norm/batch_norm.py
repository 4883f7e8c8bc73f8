"""BatchNormalization: read from ONNX as a Mul and an Add; the IR has no such operator."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ...ir import Node, TensorType, Value
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported


class BatchNormalization(OpDef):
    """ONNX BatchNormalization-7..15 for inference, with constant scale, bias, mean and variance.

    y = x * k + (bias - mean * k), k = scale / sqrt(variance + epsilon), per channel (axis 1).
    ai.onnx.ml.Scaler-1 is y = (x - offset) * scale, per feature (the last axis).
    """

    name = "BatchNormalization"
    onnx = ("BatchNormalization", "ai.onnx.ml.Scaler")

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        if node.op == "Scaler":
            return [_scaled(b, node, x)]
        if node.attrs.get("training_mode", 0) or len([o for o in node.outputs if o]) > 1:
            raise Unsupported("it is in training mode", "export the model for inference")
        constants = [node.const(i) for i in range(1, 5)]
        scale, bias, mean, variance = (np.asarray(c, np.float64) for c in constants)
        k = scale / np.sqrt(variance + float(node.attrs.get("epsilon", 1e-5)))
        shape = (-1, *(1,) * (len(x.shape) - 2)) if len(x.shape) > 1 else (-1,)
        factor, offset = (v.astype(np.float32).reshape(shape) for v in (k, bias - mean * k))
        y = b.emit("Mul", [x, b.constant(factor, f"{node.name}/scale")])
        return [b.emit("Add", [y, b.constant(offset, f"{node.name}/offset")])]

    def infer(self, node: Node) -> list[TensorType]:
        return self._absent(node)

    def lower(self, node: Node, blob: Blob) -> Lowered:
        return self._absent(node)

    def _absent(self, node: Node) -> NoReturn:
        raise ValueError(f"BatchNormalization '{node.name}' is Mul and Add in the IR")


def _scaled(b: Builder, node: OnnxNode, x: Value) -> Value:
    if x.dtype != np.float32:
        raise Unsupported(f"its input is {x.dtype}", "cast it to float32 first")
    offset, scale = (np.asarray(node.attrs[k], np.float32) for k in ("offset", "scale"))
    return b.emit("Mul", [b.emit("Add", [x, b.constant(-offset)]), b.constant(scale)])


OPS: tuple[OpDef, ...] = (BatchNormalization(),)
