"""Types and shapes of tensors, as far as onnx can tell them."""

from __future__ import annotations

from ..ir import Shape, TensorType
from .attributes import RUNTIME_TYPE
from .onnx_process import OnnxError
from .source import OnnxModel

_OF_ONE_ELEMENT = frozenset(
    ("Abs", "Cast", "CastLike", "Exp", "Floor", "Identity", "Log", "Neg", "Not", "Sqrt")
)
"""Operators whose output has the shape of their first input."""


def infer_types(
    model: OnnxModel,
) -> tuple[dict[str, TensorType], dict[str, int], dict[str, Shape]]:
    """By name: the type inside the runtime, the ONNX element type, and the shape, as far as ONNX
    knows; the shape also of what an operator on single elements reads."""
    try:
        graph = model.engine.infer_shapes(model.proto).graph
    except OnnxError:
        return {}, {}, {}
    types: dict[str, TensorType] = {}
    elements: dict[str, int] = {}
    shapes: dict[str, Shape] = {}
    for info in (*graph.value_info, *graph.output):
        tensor = info.type.tensor_type
        known = all(d.HasField("dim_value") for d in tensor.shape.dim)
        dims = [d.dim_value for d in tensor.shape.dim]
        if tensor.elem_type:
            elements[info.name] = tensor.elem_type
        if tensor.HasField("shape") and known and tensor.elem_type in RUNTIME_TYPE:
            types[info.name] = TensorType(RUNTIME_TYPE[tensor.elem_type], tuple(dims))
        if tensor.HasField("shape") and known:
            shapes[info.name] = tuple(dims)
    for node in reversed(graph.node):
        if node.op_type in _OF_ONE_ELEMENT and node.output[0] in shapes:
            shapes.setdefault(node.input[0], shapes[node.output[0]])
    return types, elements, shapes
