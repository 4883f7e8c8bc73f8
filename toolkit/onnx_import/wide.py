"""Models that compute in 64 bits: those of which every operator has such a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import onnx

from ..ir import Array, Value
from ..numerics import DOUBLE, FLOAT, INT32, INT64, DType
from ..ops._opdef import Builder

_TP = onnx.TensorProto
_WIDE = {_TP.INT64: INT64, _TP.DOUBLE: DOUBLE}
_NARROW = {INT64: INT32, DOUBLE: FLOAT}
_SERVED = frozenset(
    ("Add", "Sub", "Mul", "Div", "Min", "Max", "Mod", "Cast", "BitCast", "BitShift", "BitwiseAnd",
     "BitwiseOr", "BitwiseXor", "BitwiseNot", "Constant", "Identity")
)  # fmt: skip


def wide_types(model: onnx.ModelProto) -> Mapping[int, DType]:
    """The element types of ONNX that this model holds in 64 bits, which others hold in 32.

    None unless all its operators compute in both, and its constants are the same in 32 bits; a
    divisor of 0 is left to those who refuse it.
    """
    graph = model.graph
    kinds = {p.type.tensor_type.elem_type for p in graph.input} & set(_WIDE)
    if not kinds or any(n.domain not in ("", "ai.onnx") for n in graph.node):
        return {}
    if not {n.op_type for n in graph.node} <= _SERVED or model.functions:
        return {}
    divides = any(n.op_type in ("Div", "Mod") for n in graph.node)
    for tensor in _constants(graph):
        if tensor.data_type not in _WIDE:
            return {}
        array = onnx.numpy_helper.to_array(tensor)
        with np.errstate(over="ignore"):
            short = array.astype(_NARROW[array.dtype])
        if np.any(short.astype(array.dtype) != array) or (divides and not np.all(array)):
            return {}
    return {kind: _WIDE[kind] for kind in kinds}


def _constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        if node.op_type == "Constant":
            yield from (a.t for a in node.attribute)


def widened(b: Builder, array: Array, name: str) -> Value:
    """A constant of 64 bits, stored in 32."""
    short = b.constant(array.astype(_NARROW[array.dtype]), name)
    return b.emit("Cast", [short], to=array.dtype)
