"""Where: of two tensors, the elements that a condition picks."""

from __future__ import annotations

import numpy as np

from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import FLOAT, HALF, INTEGERS, integer_precisions
from .._broadcast import step_params, within_reach
from .._opdef import ANY_LAYOUT, Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported


class Where(OpDef):
    """ONNX Where-9..16.

    Inputs: condition (bool), x where it is true, y where it is false.
    Any element type that x and y share; all three broadcast.
    """

    name = "Where"
    layout = ANY_LAYOUT
    broadcasts = True
    onnx = ("Where",)
    exactness = "exact"
    shared = True
    precisions = integer_precisions(*INTEGERS)
    reals = (FLOAT, HALF)
    inplace = (1, 2)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        given = [v for v in node.inputs if v is not None]
        if given[0].dtype not in (np.bool_, np.uint8):
            raise Unsupported(f"its condition is {given[0].dtype}, not bool")
        return [b.emit("Where", within_reach(b, given))]

    def infer(self, node: Node) -> list[TensorType]:
        condition, x, y = (node.input(i) for i in range(3))
        if condition.dtype != np.uint8 or x.dtype != y.dtype:
            raise ValueError(f"Where of {condition.dtype}, {x.dtype} and {y.dtype}")
        return [TensorType(x.dtype, np.broadcast_shapes(condition.shape, x.shape, y.shape))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        condition, x, y = inputs
        assert condition is not None and x is not None and y is not None
        return [np.where(condition != 0, x, y)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        operands = [node.input(i) for i in range(3)]
        params = step_params(("dims", "condition", "a", "b"), [v.shape for v in operands])
        params["element_bytes"] = node.output.dtype.itemsize
        return Lowered(OpKind.Where, params, [*operands])


OPS: tuple[OpDef, ...] = (Where(),)
