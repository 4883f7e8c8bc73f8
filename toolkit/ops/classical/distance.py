"""Distances between the rows of two tensors: kernel machines and nearest neighbours."""

from __future__ import annotations

import numpy as np

from ...format.schema import DistanceFn, OpKind
from ...ir import Array, Node, TensorType, Value
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported

METRICS = {
    "sqeuclidean": DistanceFn.SquaredEuclidean,
    "euclidean": DistanceFn.Euclidean,
    "cityblock": DistanceFn.Manhattan,
    "manhattan": DistanceFn.Manhattan,
}


class Distance(OpDef):
    """CDist of com.microsoft, and a Scan that computes the same, as skl2onnx writes it. attrs: fn.

    float32 rows a [n, features] and b [m, features] to [n, m]: squared Euclidean, Euclidean or
    Manhattan distances, computed from the differences.
    """

    name = "Distance"
    onnx = ("com.microsoft.CDist",)
    float_only = "distances are sums of squares of differences, in float32"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        metric = str(node.attrs.get("metric", "sqeuclidean"))
        if metric not in METRICS:
            raise Unsupported(f"its metric is {metric}", f"use one of {', '.join(METRICS)}")
        return [b.emit("Distance", node.inputs[:2], fn=METRICS[metric])]

    def infer(self, node: Node) -> list[TensorType]:
        x, y = node.input(0), node.input(1)
        if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[1]:
            raise ValueError(f"distances of rows {list(x.shape)} and {list(y.shape)}")
        if x.dtype != np.float32 or y.dtype != np.float32:
            raise ValueError(f"distances of {x.dtype} and {y.dtype}; it takes float32")
        return [TensorType(x.dtype, (x.shape[0], y.shape[0]))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        a, b = (np.asarray(v, np.float64) for v in inputs)
        difference = a[:, None] - b[None]
        if node.attrs["fn"] == DistanceFn.Manhattan:
            return [np.abs(difference).sum(2).astype(np.float32)]
        squares = (difference**2).sum(2)
        root = node.attrs["fn"] == DistanceFn.Euclidean
        return [(np.sqrt(squares) if root else squares).astype(np.float32)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, y = node.input(0), node.input(1)
        params = {"rows": x.shape[0], "columns": y.shape[0], "features": x.shape[1]}
        return Lowered(OpKind.Distance, params | {"fn": int(node.attrs["fn"])}, [x, y])


OPS: tuple[OpDef, ...] = (Distance(),)
