"""Where the runtime's types are narrower than ONNX's: what wraps is made to, the rest is noted; and
models that compute in 64 bits, those of which every operator has such a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx

from ..ir import Array, Graph, Value
from ..numerics import DOUBLE, FLOAT, INT32, INT64, DType
from ..ops._opdef import Builder
from ..ops.control.regions import bodies

_TP = onnx.TensorProto
ARITHMETIC = frozenset(
    ("Add", "Sub", "Mul", "Div", "Pow", "Sum", "Mean", "Neg", "Abs", "ReduceSum", "CumSum")
)
"""Operators whose results on integers may need more bits than their operands."""

_BELOW_32_BITS = frozenset((_TP.INT8, _TP.INT16, _TP.UINT16))

_WIDE = {_TP.INT64: INT64, _TP.DOUBLE: DOUBLE}
_NARROW = {INT64: INT32, DOUBLE: FLOAT}
_SERVED = frozenset(
    ("Add", "Sub", "Mul", "Div", "Min", "Max", "Mod", "Cast", "BitCast", "BitShift", "BitwiseAnd",
     "BitwiseOr", "BitwiseXor", "BitwiseNot", "Constant", "Identity")
)  # fmt: skip


class Narrow:
    """What one import met; `notes` says it."""

    def __init__(self) -> None:
        self._long: list[tuple[str, Value]] = []
        self._double = ""

    def result(self, b: Builder, node: onnx.NodeProto, value: Value, element: int | None) -> Value:
        """A result of `node`, of ONNX type `element`, as ONNX has it. None: nobody knows the type.

        Arithmetic on uint32 and on integers below 32 bits wraps at their size; on int64 it does at
        32, and is noted.
        """
        computes = node.op_type in ARITHMETIC
        if value.dtype == INT64 and computes and element == _TP.UINT32:
            return b.emit("Cast", [value], to=INT64, element=element)
        if value.const is not None or value.dtype != INT32:
            return value
        from_float = node.op_type == "Cast" and element in (_TP.INT64, None)
        if computes and element is not None and element in _BELOW_32_BITS:
            return b.emit("Cast", [value], to=INT32, element=element)
        if (computes or from_float) and element in (_TP.INT64, None):
            self._long.append((node.name or node.output[0], value))
        return value

    def double(self, name: str) -> None:
        """Tensor `name` is float64."""
        self._double = self._double or name

    def notes(self, graph: Graph) -> list[str]:
        """Of what is in `graph` in the end."""
        found, made = list[str](), _made(graph)
        long = [name for name, value in self._long if value in made]
        if long:
            found.append(
                f"{len(long)} operator(s), '{long[0]}' first, compute int64 in int32: "
                "results beyond 2^31 wrap"
            )
        if self._double:
            found.append(f"float64 (tensor '{self._double}' first) is computed in float32")
        return found


def _made(graph: Graph) -> set[Value]:
    """What nodes make, and those of graphs inside."""
    found = {v for node in graph.nodes for v in node.outputs}
    return found.union(*(_made(body) for node in graph.nodes for body in bodies(node)))


def doubles(ports: Sequence[onnx.ValueInfoProto]) -> list[str]:
    """The ports that are float64."""
    return [p.name for p in ports if p.type.tensor_type.elem_type == _TP.DOUBLE]


def mentions(model: onnx.ModelProto, element: int) -> bool:
    """Whether a port, a constant or a Cast is of an element type."""
    graph = model.graph
    ports = [p.type.tensor_type.elem_type for p in (*graph.input, *graph.output)]
    constants = [t.data_type for t in graph.initializer]
    casts = [a.i for n in graph.node if n.op_type == "Cast" for a in n.attribute if a.name == "to"]
    return element in (*ports, *constants, *casts)


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
