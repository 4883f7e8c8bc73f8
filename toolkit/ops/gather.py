"""Gather: slices of a tensor, chosen by a tensor of indices."""

from __future__ import annotations

from math import prod

import numpy as np

from ..format.schema import OpKind
from ..ir import Array, Node, TensorType, Value
from ._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from .movement import axis_of, take


class Gather(OpDef):
    """ONNX Gather-1..13 and ai.onnx.ml.ArrayFeatureExtractor-1. attrs: axis, from the front.

    Inputs: x of any element type, indices int32 (negative ones count from the end). Constant
    indices at regular steps become a Slice. An index outside the axis stops the run.
    """

    name = "Gather"
    onnx = ("Gather", "ai.onnx.ml.ArrayFeatureExtractor")
    exactness = "exact"
    shared = True
    int16 = True

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x, indices = node.inputs[0], node.inputs[1]
        assert x is not None and indices is not None
        if node.op == "ArrayFeatureExtractor":
            picked = self._take(b, x, b.reshape(indices, (indices.type.size,)), len(x.shape) - 1)
            lead = x.shape[:-1] if len(x.shape) > 1 else (1,)
            return [b.reshape(picked, (*lead, indices.type.size))]
        axis = axis_of(int(node.attrs.get("axis", 0)), len(x.shape))
        return [self._take(b, x, indices, axis)]

    def _take(self, b: Builder, x: Value, indices: Value, axis: int) -> Value:
        if indices.const is None:
            return b.emit("Gather", [x, indices], axis=axis)
        size = x.shape[axis]
        at = np.where(indices.const < 0, indices.const + size, indices.const).astype(np.int64)
        if at.size == 0 or at.min() < 0 or at.max() >= size:
            raise Unsupported(f"it gathers {indices.const.tolist()} of an axis of {size}")
        flat = at.ravel()
        step = int(flat[1] - flat[0]) if flat.size > 1 else 1
        if step == 0 or np.any(np.diff(flat) != step):
            return b.emit("Gather", [x, b.constant(at.astype(np.int32), indices.name)], axis=axis)
        ranges = [range(d) for d in x.shape]
        ranges[axis] = range(int(flat[0]), int(flat[-1]) + (1 if step > 0 else -1), step)
        y = take(b, x, ranges)
        return b.reshape(y, (*x.shape[:axis], *at.shape, *x.shape[axis + 1 :]))

    def infer(self, node: Node) -> list[TensorType]:
        x, indices, axis = node.input(0), node.input(1), node.attrs["axis"]
        if indices.dtype != np.int32:
            raise ValueError(f"indices are int32, not {indices.dtype}")
        return [TensorType(x.dtype, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        x, indices = inputs[0], inputs[1]
        assert x is not None and indices is not None
        return [np.take(x, indices, node.attrs["axis"])]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, indices, axis = node.input(0), node.input(1), node.attrs["axis"]
        params = {
            "outer": prod(x.shape[:axis]),
            "axis": x.shape[axis],
            "inner_bytes": prod(x.shape[axis + 1 :]) * x.dtype.itemsize,
            "count": indices.type.size,
        }
        return Lowered(OpKind.Gather, params, [x, indices])


OPS: tuple[OpDef, ...] = (Gather(),)
