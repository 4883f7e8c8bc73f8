"""ONNX scalars in Python: attributes, names, element types."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from ..ir import Array
from ..numerics import BY_ONNX, WIDE, held, is_real, is_whole

_AP = onnx.AttributeProto
_TP = onnx.TensorProto

RUNTIME_TYPE: dict[int, np.dtype[Any]] = {e.onnx: e.held for e in BY_ONNX.values() if e.held}
"""What each ONNX element type is inside the runtime; others cannot be served."""


def type_name(onnx_dtype: int) -> str:
    """ONNX's name of an element type, for messages."""
    known = onnx_dtype in _TP.DataType.values()
    return str(_TP.DataType.Name(onnx_dtype)).lower() if known else f"number {onnx_dtype}"


def qualified(node: onnx.NodeProto) -> str:
    """The operator's key in ops.FROM_ONNX."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    return f"{domain}.{node.op_type}" if domain else str(node.op_type)


def python_attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """Attributes as int, float, str, lists of those, ndarray; graphs are left out."""
    return {
        a.name: _value(a)
        for a in node.attribute
        if a.type not in (_AP.GRAPH, _AP.GRAPHS, _AP.TYPE_PROTO, _AP.TYPE_PROTOS)
    }


def _value(a: onnx.AttributeProto) -> Any:
    if a.type == _AP.TENSOR:
        return onnx.numpy_helper.to_array(a.t)
    value = onnx.helper.get_attribute_value(a)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if a.type == _AP.STRINGS:
        return [v.decode("utf-8", "replace") for v in value]
    if a.type in (_AP.INTS, _AP.FLOATS):
        return list(value)
    return value


def runtime_array(array: Array) -> Array:
    """`array` in the element type that the runtime has for it. Raises ValueError for values that do
    not fit."""
    kind = array.dtype.kind
    if array.dtype in (np.float32, np.int32, np.uint8):
        return array
    if held(array.dtype) in WIDE:
        return array.astype(held(array.dtype))
    if kind == "b":
        return array.astype(np.uint8)
    if is_whole(array.dtype):
        array = array.astype(np.int32) if kind == "V" else array
        limits = np.iinfo(np.int32)
        beyond = (array < limits.min) | (array > limits.max)
        if np.any(beyond):
            raise ValueError(
                f"a constant holds {array[beyond].flat[0]}, which does not fit int32, the type "
                "that the runtime computes in"
            )
        return array.astype(np.int32)
    if is_real(array.dtype):
        with np.errstate(over="ignore"):
            single = array.astype(np.float32)
        beyond = np.isfinite(array) & ~np.isfinite(single)
        if np.any(beyond):
            raise ValueError(
                f"a constant holds {array[beyond].flat[0]}, which does not fit float32, the type "
                "that the runtime computes in"
            )
        return single
    raise ValueError(f"constants of type {array.dtype} are not supported")
