"""What classifiers and regressors of ai.onnx.ml make of their scores: transforms and labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Value
from .._opdef import Builder, OnnxNode, Unsupported

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_PROBIT = (float(2 / (np.float32(3.14159) * np.float32(0.147))), float(1 / np.float32(0.147)))
_ZERO = 1e-7  # SOFTMAX_ZERO takes what is smaller for 0


def rows_of(b: Builder, node: OnnxNode) -> Value:
    """The first input as rows [N, features] of float32; of one axis it is one row."""
    x = node.inputs[0]
    assert x is not None
    if x.dtype in (np.int32, np.int64, np.uint8):
        x = b.emit("Cast", [x], to=np.dtype(np.float32))
    if x.dtype != np.float32 or len(x.shape) not in (1, 2):
        raise Unsupported(f"its input is {x.type}", "give rows of float32: [N, features]")
    return x if len(x.shape) == 2 else b.reshape(x, (1, *x.shape))


def transform_of(node: OnnxNode) -> str:
    """The attribute post_transform."""
    name = str(node.attrs.get("post_transform", "NONE"))
    if name not in TRANSFORMS:
        raise Unsupported(f"its post_transform is {name}", f"use one of {', '.join(TRANSFORMS)}")
    return name


def transformed(b: Builder, scores: Value, transform: str) -> Value:
    """Scores [N, targets] by the post_transform of ai.onnx.ml."""
    if transform == "LOGISTIC":
        return b.emit("Sigmoid", [scores])
    if transform == "SOFTMAX":
        return b.emit("Softmax", [scores], axis=1)
    if transform == "SOFTMAX_ZERO":
        return _softmax_zero(b, scores)
    return _probit(b, scores) if transform == "PROBIT" else scores


def _number(b: Builder, value: float) -> Value:
    return b.constant(np.array(value, np.float32))


def _softmax_zero(b: Builder, x: Value) -> Value:
    """Softmax of the scores that are not 0; the others stay 0 (times exp(-largest))."""
    largest = b.emit("ReduceMax", [x], axes=(1,), keepdims=True)
    zero = b.emit("LessOrEqual", [b.emit("Abs", [x]), _number(b, _ZERO)])
    powers = b.emit("Exp", [b.emit("Sub", [x, largest])])
    counted = b.emit("Where", [zero, _number(b, 0.0), powers])
    total = b.emit("ReduceSum", [counted], axes=(1,), keepdims=True)
    others = b.emit("Mul", [x, b.emit("Exp", [b.emit("Neg", [largest])])])
    return b.emit("Div", [b.emit("Where", [zero, others, powers]), total])


def _probit(b: Builder, x: Value) -> Value:
    """sqrt(2) * erfinv(2x - 1), by the approximation of ONNX's reference (Winitzki, 0.147)."""
    u = b.emit("Add", [b.emit("Mul", [x, _number(b, 2.0)]), _number(b, -1.0)])
    square = b.emit(
        "Mul", [b.emit("Sub", [_number(b, 1.0), u]), b.emit("Add", [u, _number(b, 1.0)])]
    )
    log = b.emit("Log", [square])
    half = b.emit("Add", [b.emit("Mul", [log, _number(b, 0.5)]), _number(b, _PROBIT[0])])
    inner = b.emit(
        "Sub", [b.emit("Mul", [half, half]), b.emit("Mul", [log, _number(b, _PROBIT[1])])]
    )
    root = b.emit("Sqrt", [b.emit("Sub", [b.emit("Sqrt", [inner]), half])])
    sign = b.emit("Sub", [_number(b, 1.0), b.emit("Mul", [_below(b, u, 0.0), _number(b, 2.0)])])
    return b.emit("Mul", [b.emit("Mul", [sign, root]), _number(b, np.sqrt(2.0))])


def _below(b: Builder, x: Value, limit: float) -> Value:
    """1.0 where x < limit, else 0.0."""
    return b.emit("Cast", [b.emit("Less", [x, _number(b, limit)])], to=np.dtype(np.float32))


def above(b: Builder, x: Value, limit: float) -> Value:
    """int32 1 where x > limit, else 0."""
    return b.emit("Cast", [b.emit("Less", [_number(b, limit), x])], to=np.dtype(np.int32))


def class_labels(node: OnnxNode) -> list[int] | list[str]:
    """The classes' labels."""
    for name in ("classlabels_int64s", "classlabels_ints"):
        if node.attrs.get(name):
            return [int(v) for v in node.attrs[name]]
    if node.attrs.get("classlabels_strings"):
        return [str(v) for v in node.attrs["classlabels_strings"]]
    raise Unsupported("it has no class labels", "export the model again")


def labelled(b: Builder, index: Value, labels: Sequence[int] | Sequence[str]) -> Value:
    """The label of each class index; strings stay numbers, with the labels."""
    if isinstance(labels[0], str):
        return b.label(index, [str(text) for text in labels])
    if list(labels) == list(range(len(labels))):
        return index
    return b.emit("Gather", [b.constant(np.array(labels, np.int64)), index], axis=0)


def best_of(b: Builder, scores: Value) -> Value:
    """The index [N] of the first of the largest scores [N, classes]."""
    return b.emit("ArgMax", [scores], axis=1, keepdims=False, select_last_index=False)


def two_classes(b: Builder, p: Value, transform: str, limit: float) -> tuple[Value, Value]:
    """(class index [N], scores [N, 2]) of one score [N, 1] of the second of two classes.

    With a limit of 0.5 the score is a probability, and that of the first class what is left of 1;
    with 0 it is the score's negative. As in onnxruntime, LOGISTIC alone transforms them, and makes
    probabilities of the score and its negative.
    """
    index = b.reshape(above(b, p, limit), (p.shape[0],))
    if transform == "LOGISTIC":
        first, p = b.emit("Sigmoid", [b.emit("Neg", [p])]), b.emit("Sigmoid", [p])
    elif limit:
        first = b.emit("Sub", [_number(b, 1.0), p])
    else:
        first = b.emit("Neg", [p])
    return index, b.emit("Concat", [first, p], axis=1)
