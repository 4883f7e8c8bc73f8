"""Support vector machines of ai.onnx.ml: kernels, sums of pairs, votes, and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...format.schema import DistanceFn, OpKind
from ...ir import Array, Node, TensorType, Value
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from ..move.movement import take
from ._scores import (
    above,
    best_of,
    class_labels,
    labelled,
    rows_of,
    transform_of,
    transformed,
    two_classes,
)

_FLOAT = np.dtype(np.float32)
_LEAST = 1e-7
_MOST_STEPS = 100
"""Of the iteration that couples pairs, as in libsvm."""

Floats = NDArray[np.float32]


class PairwiseCoupling(OpDef):
    """ONNX SVMClassifier-1 and SVMRegressor-1 of ai.onnx.ml; all kernels, votes, one class.

    In the IR: probabilities [N, pairs] of the first of each pair of classes to those [N, classes]
    of all (Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise
    coupling", 2004, second method). attrs: classes.
    """

    name = "PairwiseCoupling"
    onnx = ("ai.onnx.ml.SVMClassifier", "ai.onnx.ml.SVMRegressor")
    float_only = "probabilities of classes come from an iteration in float32"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = rows_of(b, node)
        return _regressed(b, node, x) if node.op == "SVMRegressor" else _classified(b, node, x)

    def infer(self, node: Node) -> list[TensorType]:
        x, k = node.input(0), node.attrs["classes"]
        if x.dtype != _FLOAT or len(x.shape) != 2 or x.shape[1] != k * (k - 1) // 2:
            raise ValueError(f"{x.type} are not the pairs of {k} classes")
        return [TensorType(x.dtype, (x.shape[0], k))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        rows = [coupled(row, node.attrs["classes"]) for row in inputs[0]]
        return [np.array(rows, np.float32)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        params = {"rows": x.shape[0], "classes": node.attrs["classes"]}
        return Lowered(OpKind.PairwiseCoupling, params, [x])


def coupled(pairs: Array, k: int) -> NDArray[np.float64]:
    """Probabilities of `k` classes, in double: the meaning of the operator."""
    r = np.zeros((k, k))
    for (i, j), value in zip(combinations(range(k), 2), pairs, strict=True):
        r[i, j], r[j, i] = value, 1 - value
    q = -r.T * r
    np.fill_diagonal(q, (r**2).sum(0))
    p = np.full(k, 1 / k)
    for _ in range(_MOST_STEPS):
        qp = q @ p
        pqp = p @ qp
        if np.abs(qp - pqp).max() < 0.005 / k:
            break
        for i in range(k):
            diff = (pqp - qp[i]) / q[i, i]
            p[i] += diff
            pqp = (pqp + diff * (diff * q[i, i] + 2 * qp[i])) / (1 + diff) ** 2
            qp = (qp + diff * q[i]) / (1 + diff)
            p /= 1 + diff
    return p


def _floats(node: OnnxNode, name: str) -> Floats:
    return np.asarray(node.attrs.get(name) or [], np.float32)


def _number(b: Builder, value: float) -> Value:
    return b.constant(np.array(value, np.float32))


def _dense(b: Builder, x: Value, weights: Floats, bias: Floats | None = None) -> Value:
    inputs = [x, b.constant(weights), None if bias is None else b.constant(bias)]
    return b.emit("FullyConnected", inputs)


def _kernel(b: Builder, node: OnnxNode, x: Value, count: int) -> Value:
    """The kernel [N, count] of each row with each support vector."""
    vectors = _floats(node, "support_vectors")
    if vectors.size != count * x.shape[1]:
        raise Unsupported(f"its support vectors are not {count} of {x.shape[1]} features")
    vectors = vectors.reshape(count, x.shape[1])
    gamma, coef0, degree = [*node.attrs.get("kernel_params", []), 0.0, 0.0, 0.0][:3]
    kind = str(node.attrs.get("kernel_type", "LINEAR"))
    if kind == "LINEAR":
        return _dense(b, x, vectors)
    if kind == "RBF":
        squares = b.emit("Distance", [x, b.constant(vectors)], fn=DistanceFn.SquaredEuclidean)
        return b.emit("Exp", [b.emit("Mul", [squares, _number(b, -gamma)])])
    if kind not in ("POLY", "SIGMOID"):
        raise Unsupported(f"its kernel is {kind}", "use LINEAR, POLY, RBF or SIGMOID")
    scaled = (vectors * np.float32(gamma)).astype(np.float32)
    y = _dense(b, x, scaled, np.full(count, coef0, np.float32))
    if kind == "SIGMOID":
        return b.emit("Tanh", [y])
    if degree == 2:
        return b.emit("Mul", [y, y])
    if degree == 3:
        return b.emit("Mul", [b.emit("Mul", [y, y]), y])
    return b.emit("Pow", [y, _number(b, degree)])


def _regressed(b: Builder, node: OnnxNode, x: Value) -> list[Value]:
    count, rho = int(node.attrs.get("n_supports", 0)), _floats(node, "rho")[:1]
    kernel = _kernel(b, node, x, count) if count else x
    coefficients = _floats(node, "coefficients")
    if coefficients.size != kernel.shape[1] or rho.size != 1:
        raise Unsupported(f"it has {coefficients.size} coefficients for {kernel.shape[1]}")
    y = _dense(b, kernel, coefficients[None], rho)
    if int(node.attrs.get("one_class", 0)):
        inside = b.emit("Cast", [above(b, y, 0.0)], to=_FLOAT)
        y = b.emit("Add", [b.emit("Mul", [inside, _number(b, 2.0)]), _number(b, -1.0)])
    return [y]


def _classified(b: Builder, node: OnnxNode, x: Value) -> list[Value]:
    labels, transform = class_labels(node), transform_of(node)
    counts = [int(n) for n in node.attrs.get("vectors_per_class") or []]
    if not sum(counts):
        return _linear(b, node, x, labels, transform)
    if len(counts) != len(labels) or len(labels) < 2:
        raise Unsupported(f"it has vectors of {len(counts)} classes and {len(labels)} labels")
    scores = _pairs(b, node, _kernel(b, node, x, sum(counts)), counts)
    label = labelled(b, _most_voted(b, scores, len(labels)), labels)
    if node.attrs.get("prob_a"):
        return [label, transformed(b, _probabilities(b, node, scores, len(labels)), transform)]
    if len(labels) > 2:
        return [label, transformed(b, scores, transform)]
    return [label, two_classes(b, scores, transform, 0.0 if transform == "NONE" else 0.5)[1]]


def _linear(
    b: Builder, node: OnnxNode, x: Value, labels: list[int] | list[str], transform: str
) -> list[Value]:
    """Without support vectors: a score of each class."""
    weights, rho = _floats(node, "coefficients"), _floats(node, "rho")
    if weights.size != len(labels) * x.shape[1] or not rho.size:
        raise Unsupported(f"its coefficients are not a row for each of {len(labels)} classes")
    bias = np.full(len(labels), rho[0], np.float32)
    scores = _dense(b, x, weights.reshape(len(labels), -1), bias)
    best = best_of(b, scores)
    if len(labels) == 2:
        largest = b.emit("ReduceMax", [scores], axes=(1,), keepdims=False)
        limit = np.nextafter(np.float32(0.5), np.float32(0)) if np.all(weights >= 0) else 0.0
        best = b.emit("Max", [best, above(b, largest, float(limit))])
    return [labelled(b, best, labels), transformed(b, scores, transform)]


def _pairs(b: Builder, node: OnnxNode, kernel: Value, counts: Sequence[int]) -> Value:
    """A score [N, pairs] for each pair (i, j) of classes: i is above 0.

    Coefficients are [classes - 1, vectors]: row j - 1 of the vectors of i, and row i of those of j.
    """
    k, total = len(counts), sum(counts)
    w, rho = _floats(node, "coefficients"), _floats(node, "rho")
    if w.size != (k - 1) * total or rho.size < k * (k - 1) // 2:
        raise Unsupported(f"its coefficients are not {k - 1} for each of {total} vectors")
    w, rho = w.reshape(k - 1, total), rho[: k * (k - 1) // 2]
    if k == 2:
        return _dense(b, kernel, w, rho)
    sums, start = [], 0
    for count in counts:
        part = take(b, kernel, [range(kernel.shape[0]), range(start, start + count)])
        sums.append(_dense(b, part, np.ascontiguousarray(w[:, start : start + count])))
        start += count
    every = b.emit("Concat", sums, axis=1)  # row r of class c at c * (k - 1) + r
    pairs = list(combinations(range(k), 2))
    sides = []
    for at in ([i * (k - 1) + j - 1 for i, j in pairs], [j * (k - 1) + i for i, j in pairs]):
        sides.append(b.emit("Gather", [every, b.constant(np.array(at, np.int64))], axis=1))
    return b.emit("Add", [b.emit("Add", sides), b.constant(rho[None])])


def _most_voted(b: Builder, scores: Value, k: int) -> Value:
    """The class with the most pairs; of equals the first."""
    won = b.emit("Cast", [above(b, scores, 0.0)], to=_FLOAT)
    votes, lost = np.zeros((k, scores.shape[1]), np.float32), np.zeros(k, np.float32)
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        votes[i, p], votes[j, p] = 1, -1
        lost[j] += 1
    return best_of(b, _dense(b, won, votes, lost))


def _probabilities(b: Builder, node: OnnxNode, scores: Value, k: int) -> Value:
    """Of each class: pairs by a logistic function, then coupled."""
    a, c = (_floats(node, name)[: scores.shape[1]] for name in ("prob_a", "prob_b"))
    if a.size != scores.shape[1] or c.size != scores.shape[1]:
        raise Unsupported(f"it has {a.size} prob_a and {c.size} prob_b for {scores.shape[1]} pairs")
    y = b.emit("Add", [b.emit("Mul", [scores, b.constant(-a[None])]), b.constant(-c[None])])
    p = b.emit("Clip", [b.emit("Sigmoid", [y])], min=_LEAST, max=1 - _LEAST)
    return b.emit("PairwiseCoupling", [p], classes=k)


OPS: tuple[OpDef, ...] = (PairwiseCoupling(),)
