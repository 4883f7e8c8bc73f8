"""Linear models of ai.onnx.ml: a FullyConnected, and what becomes of its scores."""

from __future__ import annotations

import numpy as np

from ...ir import Value
from .._opdef import Builder, OnnxNode, Unsupported
from ._scores import (
    best_of,
    class_labels,
    labelled,
    rows_of,
    transform_of,
    transformed,
    two_classes,
)


def regressor(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.LinearRegressor-1: x times coefficients, plus intercepts."""
    scores = _scores(b, node, int(node.attrs.get("targets", 1)))
    transform = transform_of(node)
    return [transformed(b, scores, transform)]


def classifier(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.LinearClassifier-1: the label of the best, and all scores.

    One score tells two classes: as in onnxruntime, it is that of the second, which it has above 0;
    that of the first is what is left of 1.
    """
    labels, transform = class_labels(node), transform_of(node)
    x = rows_of(b, node)
    rows = len(node.attrs["coefficients"]) // x.shape[1]
    if rows * x.shape[1] != len(node.attrs["coefficients"]) or rows not in (1, len(labels)):
        raise Unsupported(f"its coefficients are not a row for each of {len(labels)} classes")
    scores = _scores(b, node, rows)
    if rows > 1:
        return [labelled(b, best_of(b, scores), labels), transformed(b, scores, transform)]
    if len(labels) != 2:
        raise Unsupported(f"its one score tells {len(labels)} classes")
    limited = 0.0 if transform == "LOGISTIC" else 0.5
    index, _ = two_classes(b, scores, transform, 0.0)
    _, both = two_classes(b, scores, transform, limited)
    return [labelled(b, index, labels), both]


def _scores(b: Builder, node: OnnxNode, rows: int) -> Value:
    x = rows_of(b, node)
    w = np.asarray(node.attrs["coefficients"], np.float32).reshape(rows, x.shape[1])
    c = node.attrs.get("intercepts") or [0.0] * rows
    inputs = [x, b.constant(w), b.constant(np.asarray(c, np.float32))]
    return b.emit("FullyConnected", inputs)
