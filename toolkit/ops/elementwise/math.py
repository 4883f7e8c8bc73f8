"""Functions that few models use: trigonometry, remainders, and the bits of integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...format.schema import MathFn, OpKind
from ...ir import Node, TensorType, Value
from ...numerics import (
    BOOL,
    BY_ONNX,
    DOUBLE,
    FLOAT,
    HALF,
    INT32,
    INT64,
    UINT8,
    UINT64,
    WIDE,
    Element,
    held,
    is_real,
)
from .._broadcast import shape_params, within_reach
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from ..convert.cast import cast_to
from ._int32 import is_int32

Real = NDArray[np.float64]

_OF_ONE: dict[MathFn, Callable[[Real], Real]] = {
    MathFn.Acos: np.arccos,
    MathFn.Acosh: np.arccosh,
    MathFn.Asin: np.arcsin,
    MathFn.Asinh: np.arcsinh,
    MathFn.Atan: np.arctan,
    MathFn.Atanh: np.arctanh,
    MathFn.Cosh: np.cosh,
    MathFn.Sinh: np.sinh,
    MathFn.Tan: np.tan,
}
_OF_INTEGERS = (MathFn.And, MathFn.Or, MathFn.Xor, MathFn.ShiftLeft, MathFn.ShiftRight)
_REMAINDERS = (MathFn.Mod, MathFn.Fmod)
_OF_TWO = {
    "BitwiseAnd": MathFn.And, "BitwiseOr": MathFn.Or, "BitwiseXor": MathFn.Xor,
    "BitwiseNot": MathFn.Xor, "BitShift": MathFn.ShiftLeft, "Mod": MathFn.Mod,
}  # fmt: skip
_SAME_BYTES = {FLOAT: INT32, INT32: FLOAT, DOUBLE: INT64, INT64: DOUBLE, UINT64: DOUBLE}


class Function(OpDef):
    """ONNX operator of the same name: Acos-7..22 .. Tan-7..22 of float32; a table on int8."""

    fn: MathFn
    inplace = (0,)

    def __init__(self, fn: MathFn) -> None:
        self.fn, self.name, self.onnx = fn, fn.name, (fn.name,)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.input(0)
        if x.dtype != FLOAT:
            raise Unsupported(f"its input is {x.dtype}; it takes float32", "cast it first")
        return [b.emit(self.name, [x])]

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype not in (np.float32, np.int8):
            raise ValueError(f"{self.name} of {x.dtype}; it takes float32")
        return [x.type]

    def table(self, node: Node) -> Callable[[Real], Real]:
        def fn(x: Real) -> Real:
            with np.errstate(all="ignore"):  # a table may reach outside the function's domain
                y: Real = _OF_ONE[self.fn](x)
            return y

        return fn

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        if x.dtype != FLOAT:
            raise ValueError(f"{self.name} '{node.name}' of {x.dtype} is a table: use Lut")
        params = shape_params(x.shape, x.shape) | {"fn": int(self.fn)}
        return Lowered(OpKind.Math, params, [x, x])


class Math(OpDef):
    """ONNX Mod-10..13 of any numbers; BitShift-11..28, BitwiseAnd-18, BitwiseOr-18, BitwiseXor-18
    and BitwiseNot-18 of integers; BitCast-26 between types of the same size.

    attrs: fn, a MathFn. In the IR of int32, of 64 bits, and remainders of float32; broadcast as
    numpy does. Shifts by a negative number or by all bits leave 0, or the sign.
    """

    name = "Math"
    onnx = (*_OF_TWO, "BitCast")
    exactness = "exact"
    wide = True
    inplace = (0, 1)
    float_only = "it works on the bits or the remainders of numbers, which rounding changes"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        if node.op == "BitCast":
            return [_bits(b, node)]
        element = BY_ONNX[node.element(0) or 6]
        fn, values = _OF_TWO[node.op], [v for v in node.inputs if v is not None]
        if node.op == "BitwiseNot":
            values.append(_all_ones(b, element, values[0]))
        if node.op == "BitShift" and str(node.attrs["direction"]) == "RIGHT":
            fn = MathFn.ShiftRight
        if node.op == "Mod" and node.attrs.get("fmod", 0):
            fn = MathFn.Fmod
        if fn in _OF_INTEGERS and any(is_real(v.dtype) for v in values):
            raise Unsupported(f"it computes on {values[0].dtype} tensors", "give integers")
        divisor = values[1].const if fn in _REMAINDERS and not is_real(values[1].dtype) else None
        if divisor is not None and not np.all(divisor):
            raise Unsupported("it divides integers by a constant 0", "export the model again")
        small = held(values[0].dtype) == UINT8
        wide = [cast_to(b, v, 6) if held(v.dtype) == UINT8 else v for v in values]
        if len({v.dtype if v.const is None else held(v.dtype) for v in wide}) > 1:
            raise Unsupported("its inputs are of two types", "cast one to the other's")
        y = b.emit("Math", within_reach(b, wide), fn=fn)
        if small or (fn == MathFn.ShiftLeft and element.numpy != y.dtype):
            y = cast_to(b, y, element.onnx)
        return [y]

    def infer(self, node: Node) -> list[TensorType]:
        a, b, fn = node.input(0), node.input(1), node.attrs["fn"]
        served = (INT32, *WIDE) + ((FLOAT,) if fn in (*_REMAINDERS, MathFn.Bits) else ())
        real = is_real(a.dtype) and fn in _OF_INTEGERS
        if a.dtype != b.dtype or a.dtype not in served or real:
            raise ValueError(f"{MathFn(fn).name} of {a.dtype} and {b.dtype}")
        dtype = _SAME_BYTES[a.dtype] if fn == MathFn.Bits else a.dtype
        return [TensorType(dtype, np.broadcast_shapes(a.shape, b.shape))]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        a, b = node.input(0), node.input(1)
        params = shape_params(a.shape, b.shape) | {"fn": int(node.attrs["fn"])}
        return Lowered(OpKind.Math, params, [a, b])


def _all_ones(b: Builder, element: Element, x: Value) -> Value:
    """What to exclude so that each bit of the type changes."""
    if element.numpy.kind == "u":
        ones = np.iinfo(element.numpy).max
        wide = element.numpy if element.held in WIDE else INT32
        return b.constant(np.array(ones, wide))
    minus = b.constant(np.array(-1, INT32))
    return minus if is_int32(x) and x.dtype != INT64 else b.emit("Cast", [minus], to=INT64)


def _bits(b: Builder, node: OnnxNode) -> Value:
    """The bytes of one type taken as another: of integers a cast modulo their size."""
    x, code = node.input(0), int(node.attrs["to"])
    of, to = BY_ONNX.get(node.element(0) or 0), BY_ONNX.get(code)
    if of is None or to is None or to.held is None or of.numpy.itemsize != to.numpy.itemsize:
        raise Unsupported("it takes the bits of one type as another of another size")
    if of.numpy == BOOL or to.numpy == BOOL:
        if of.numpy.itemsize != 1 or to.numpy == BOOL:
            raise Unsupported(f"it takes the bits of {of.name} as {to.name}", "use Cast")
        return x if to.numpy == UINT8 else cast_to(b, x, code)
    halves = {HALF} & {of.numpy, to.numpy} or {of.numpy.kind, to.numpy.kind} & {"V"}
    if is_real(of.numpy) == is_real(to.numpy):
        if of is to:
            return x
        if is_real(of.numpy):
            raise Unsupported(f"it takes the bits of {of.name} as {to.name}")
        return cast_to(b, x, code)
    if halves:
        raise Unsupported(f"it takes the bits of {of.name} as {to.name}", "use 32 or 64 bits")
    if is_real(of.numpy):
        taken = _taken(b, x, of)
        return taken if to.numpy == INT64 else cast_to(b, taken, code)
    if x.dtype == INT64 and of.numpy.itemsize == 4:
        x = cast_to(b, x, 6)
    return _taken(b, x, of)


def _taken(b: Builder, x: Value, of: Element) -> Value:
    """Raises Unsupported for 64 bits that the model holds in 32."""
    if x.dtype.itemsize != of.numpy.itemsize:
        raise Unsupported(
            f"it takes the bits of {of.name}, which the runtime holds as {x.dtype}",
            "leave it out of models with operators that compute in 32 bits",
        )
    return b.emit("Math", [x, x], fn=MathFn.Bits)


OPS: tuple[OpDef, ...] = (*(Function(fn) for fn in _OF_ONE), Math())
