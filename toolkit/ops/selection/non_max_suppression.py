"""NonMaxSuppression: the best of boxes that overlap."""

from __future__ import annotations

import numpy as np

from ...format.schema import OpKind
from ...ir import Node, TensorType, Value
from ...numerics import FLOAT, INT32
from .._formula import Term
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef

_LEAST = float(np.finfo(np.float32).min)


class NonMaxSuppression(OpDef):
    """ONNX NonMaxSuppression-10..11 of float32; limits may be computed.

    As many rows as the model says, or as the limit of a class allows; behind those in use zeros. In
    the IR: attrs most, centered; a second output, int32[1], how many are in use.
    """

    name = "NonMaxSuppression"
    onnx = ("NonMaxSuppression",)
    exactness = "exact"
    float_only = "it compares areas of boxes in float32"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        boxes, scores = node.input(0), node.input(1)
        batch, classes, count = scores.shape
        limit, declared = node.optional(2), node.declared(0)
        of_class = count
        if limit is None:
            of_class = 0
        elif limit.const is not None:
            of_class = min(count, max(0, int(np.ravel(limit.const)[0])))
        most = declared[0] if declared is not None else batch * classes * of_class
        if most == 0 or limit is None:
            return [b.constant(np.zeros((0, 3), np.int64))]
        numbers = [Term(b, limit).to(INT32)]
        for i, otherwise in ((3, 0.0), (4, _LEAST)):
            given = node.optional(i)
            numbers.append(Term(b, np.array(otherwise, np.float32) if given is None else given))
        rows, found = b.emit_all(
            "NonMaxSuppression", [boxes, scores, *(t.reshape(1).value for t in numbers)],
            most=most, centered=int(node.attrs.get("center_point_box", 0)),
        )  # fmt: skip
        return [b.bounded(rows, found, 0)]

    def infer(self, node: Node) -> list[TensorType]:
        boxes, scores = node.input(0), node.input(1)
        if len(scores.shape) != 3 or boxes.shape != (scores.shape[0], scores.shape[2], 4):
            raise ValueError(f"boxes {list(boxes.shape)} and scores {list(scores.shape)}")
        kinds = [v.type for v in (node.input(i) for i in range(2, 5))]
        if kinds != [TensorType(INT32, (1,)), *[TensorType(FLOAT, (1,))] * 2]:
            raise ValueError(f"its limits are {kinds}")
        return [TensorType(INT32, (node.attrs["most"], 3)), TensorType(INT32, (1,))]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        batch, classes, boxes = node.input(1).shape
        params = {
            "batch": batch, "boxes": boxes, "classes": classes, "most": node.attrs["most"],
            "centered": node.attrs["centered"],
        }  # fmt: skip
        return Lowered(OpKind.NonMaxSuppression, params, list(node.inputs))


OPS: tuple[OpDef, ...] = (NonMaxSuppression(),)
