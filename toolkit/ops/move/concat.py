"""Concat: tensors put one behind the other along an axis."""

from __future__ import annotations

from math import prod

import numpy as np

from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import FLOAT, HALF, INTEGERS, integer_precisions
from .._opdef import ALONG_AXIS, Blob, Builder, Lowered, OnnxNode, OpDef
from .movement import axis_of

MAX_INPUTS = 255


class Concat(OpDef):
    """ONNX Concat-4..13. attrs: axis, from the front. Any element type, the same for all inputs."""

    name = "Concat"
    layout = ALONG_AXIS
    onnx = ("Concat",)
    exactness = "exact"
    shared = True
    selects = True
    precisions = integer_precisions(*INTEGERS)
    wide = True
    reals = (FLOAT, HALF)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        values = [v for v in node.inputs if v is not None]
        axis = axis_of(int(node.attrs.get("axis", 1)), len(values[0].shape))
        values = [v for v in values if v.type.size] or values[:1]
        while len(values) > 1:
            groups = [values[i : i + MAX_INPUTS] for i in range(0, len(values), MAX_INPUTS)]
            values = [b.emit("Concat", g, axis=axis) if len(g) > 1 else g[0] for g in groups]
        return values

    def infer(self, node: Node) -> list[TensorType]:
        inputs = [node.input(i) for i in range(len(node.inputs))]
        axis, first = node.attrs["axis"], inputs[0]
        for v in inputs[1:]:
            same = zip(v.shape, first.shape, strict=True)
            if v.dtype != first.dtype or any(a != b for i, (a, b) in enumerate(same) if i != axis):
                raise ValueError(f"{v} does not go behind {first} along axis {axis}")
        total = sum(v.shape[axis] for v in inputs)
        return [
            TensorType(first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :])),
        ]

    def integer_problem(self, node: Node) -> str | None:
        count = len(node.inputs)
        return f"it has {count} inputs; {MAX_INPUTS} are supported" if count > MAX_INPUTS else None

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        return [np.concatenate([np.asarray(v) for v in inputs], node.attrs["axis"])]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        out = node.output
        outer = prod(out.shape[: node.attrs["axis"]])
        params = {"outer": outer, "output_step": out.type.nbytes // outer}
        return Lowered(OpKind.Concat, params, list(node.inputs))


OPS: tuple[OpDef, ...] = (Concat(),)
