"""Linear models of ai.onnx.ml: a FullyConnected, and what becomes of its scores."""

from __future__ import annotations

import numpy as np

from ..ir import Value
from ._opdef import Builder, OnnxNode, Unsupported

TRANSFORMS = {"NONE": "", "SOFTMAX": "Softmax", "LOGISTIC": "Sigmoid"}


def regressor(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.LinearRegressor-1: x times coefficients, plus intercepts."""
    return [_transformed(b, node, _scores(b, node, int(node.attrs.get("targets", 1))))]


def classifier(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.LinearClassifier-1 with integer labels: the label of the best, and all scores."""
    labels = node.attrs.get("classlabels_ints")
    if not labels:
        raise Unsupported("its classes are strings", "export it with integer classes")
    x = node.inputs[0]
    assert x is not None
    if len(labels) * x.shape[-1] != len(node.attrs["coefficients"]):
        raise Unsupported(f"its coefficients are not a row for each of {len(labels)} classes")
    scores = _scores(b, node, len(labels))
    best = b.emit("ArgMax", [scores], axis=1, keepdims=False, select_last_index=False)
    named = b.constant(np.array(labels, np.int64))
    if list(labels) != list(range(len(labels))):
        best = b.emit("Gather", [named, best], axis=0)
    return [best, _transformed(b, node, scores)]


def _scores(b: Builder, node: OnnxNode, rows: int) -> Value:
    x = node.inputs[0]
    assert x is not None
    if x.dtype != np.float32 or len(x.shape) != 2:
        raise Unsupported(f"its input is {x.type}", "give rows of float32")
    w = np.asarray(node.attrs["coefficients"], np.float32).reshape(rows, x.shape[1])
    c = node.attrs.get("intercepts") or [0.0] * rows
    inputs = [x, b.constant(w), b.constant(np.asarray(c, np.float32))]
    return b.emit("FullyConnected", inputs)


def _transformed(b: Builder, node: OnnxNode, scores: Value) -> Value:
    transform = str(node.attrs.get("post_transform", "NONE"))
    if transform not in TRANSFORMS:
        raise Unsupported(f"its post_transform is {transform}", f"use one of {list(TRANSFORMS)}")
    if transform == "SOFTMAX":
        return b.emit("Softmax", [scores], axis=1)
    return b.emit(TRANSFORMS[transform], [scores]) if TRANSFORMS[transform] else scores
