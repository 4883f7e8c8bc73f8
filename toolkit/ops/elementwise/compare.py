"""Comparisons and logic: Equal Less LessOrEqual And Or Xor, and all that is one of them."""

from __future__ import annotations

import numpy as np

from ...format.schema import BinaryFn, CompareFn, DType, OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import BOOL, INT64, UINT64, WIDE, held
from .._broadcast import shape_params, within_reach
from .._opdef import ANY_LAYOUT, Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from ._int32 import is_int32

_DTYPES = {
    np.dtype(np.float32): DType.Float32,
    np.dtype(np.int32): DType.Int32,
    np.dtype(np.uint8): DType.UInt8,
}
_LOGIC = (CompareFn.And, CompareFn.Or, CompareFn.Xor)
FUNCTIONS = {
    CompareFn.Equal: np.equal,
    CompareFn.Less: np.less,
    CompareFn.LessOrEqual: np.less_equal,
    CompareFn.And: np.logical_and,
    CompareFn.Or: np.logical_or,
    CompareFn.Xor: np.logical_xor,
}
_ONNX = {
    CompareFn.Equal: ("Equal", "Not", "IsNaN"),
    CompareFn.Less: ("Less", "Greater"),
    CompareFn.LessOrEqual: ("LessOrEqual", "GreaterOrEqual"),
}


class Compare(OpDef):
    """ONNX operator of the same name, in every version: integers, float32 or bool to bool.

    Bools are uint8, 0 or 1. Greater is Less with its inputs the other way round, Not is Equal to 0,
    IsNaN is not Equal to itself. And, Or and Xor take bools. Of tensors of 64 bits the result is
    of their type.
    """

    fn: CompareFn
    layout = ANY_LAYOUT
    broadcasts = True
    exactness = "exact"
    wide = True
    float_only = "numbers are compared in float32: rounding to int8 could change the answer"

    def __init__(self, fn: CompareFn) -> None:
        self.fn, self.name = fn, fn.name
        self.onnx = _ONNX.get(fn, (fn.name,))

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        values = [v for v in node.inputs if v is not None]
        if node.op == "IsNaN":
            values = [b.emit("Equal", [values[0], values[0]])]
        if node.op in ("Not", "IsNaN"):
            values.append(b.constant(np.array(0, np.uint8)))
        for v in values:
            if held(v.dtype) not in (*_DTYPES, INT64, UINT64, np.bool_):
                raise Unsupported(
                    f"it compares {v.dtype} tensors", "float32, int32, uint8 and bool are supported"
                )
        if node.op.startswith("Greater"):
            values.reverse()
        if self.fn in _LOGIC:  # of tensors of 64 bits, comparisons leave 0 and 1 in them
            values = [b.emit("Cast", [v], to=BOOL) if v.dtype in WIDE else v for v in values]
        if any(is_int32(v) for v in values) and not all(is_int32(v) for v in values):
            raise Unsupported("its inputs are of two types", "cast one to the other's")
        if len({held(v.dtype) for v in values} | {INT64, UINT64}) == 2:
            return [b.emit("Cast", [b.emit(self.name, within_reach(b, values))], to=BOOL)]
        return [b.emit(self.name, within_reach(b, values))]

    def takes_missing(self, node: Node) -> bool:
        """IsNaN, and what an Imputer begins with."""
        return self.fn == CompareFn.Equal and node.inputs[0] is node.inputs[1]

    def infer(self, node: Node) -> list[TensorType]:
        a, b = node.input(0), node.input(1)
        if a.dtype == b.dtype and a.dtype in WIDE and self.fn not in _LOGIC:
            return [TensorType(a.dtype, np.broadcast_shapes(a.shape, b.shape))]
        if a.dtype != b.dtype or a.dtype not in _DTYPES:
            raise ValueError(f"{self.name} of {a.dtype} and {b.dtype}")
        if self.fn in _LOGIC and a.dtype != np.uint8:
            raise ValueError(f"{self.name} of {a.dtype}; it takes bool")
        return [TensorType(np.dtype(np.uint8), np.broadcast_shapes(a.shape, b.shape))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        a, b = (np.asarray(v) for v in inputs)
        return [FUNCTIONS[self.fn](a, b).astype(np.uint8)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        a, b = node.input(0), node.input(1)
        params = shape_params(a.shape, b.shape)
        if a.dtype in WIDE:
            params |= {"fn": int(BinaryFn[self.name]), "qmin": 0, "qmax": 0}
            return Lowered(OpKind.Binary, params, [a, b])
        params |= {"fn": int(self.fn), "element": int(_DTYPES[a.dtype])}
        return Lowered(OpKind.Compare, params, [a, b])


OPS: tuple[OpDef, ...] = tuple(Compare(fn) for fn in CompareFn)
