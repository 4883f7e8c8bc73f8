"""Types and shapes of tensors, as far as onnx can tell them."""

from __future__ import annotations

import onnx

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
    infos = {info.name: info for info in (*graph.value_info, *graph.output)}
    symbols: dict[str, int] = {}
    for node in reversed(graph.node):
        if node.op_type in _OF_ONE_ELEMENT and node.output[0] in shapes:
            shapes.setdefault(node.input[0], shapes[node.output[0]])
            symbols |= _bound(infos.get(node.input[0]), shapes[node.output[0]])
    for info in graph.value_info:
        dims = info.type.tensor_type.shape.dim
        sizes = [symbols.get(d.dim_param) if d.dim_param else d.dim_value for d in dims]
        if info.type.tensor_type.HasField("shape") and all(d.WhichOneof("value") for d in dims):
            known_sizes = [d for d in sizes if d is not None]
            if len(known_sizes) == len(sizes):
                shapes.setdefault(info.name, tuple(known_sizes))
    return types, elements, shapes


def _bound(info: onnx.ValueInfoProto | None, shape: Shape) -> dict[str, int]:
    """What the symbols in the shape of a tensor are, which is known to be `shape`."""
    dims = [] if info is None else list(info.type.tensor_type.shape.dim)
    if len(dims) != len(shape):
        return {}
    return {d.dim_param: n for d, n in zip(dims, shape, strict=True) if d.dim_param}
