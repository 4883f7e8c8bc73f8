"""Functions of two tensors, broadcast as numpy does: Add Sub Mul Div Min Max Pow."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ...format.schema import BinaryFn, OpKind
from ...ir import Array, Node, TensorType, Value, constant
from ...numerics import (
    ACTIVATIONS,
    BY_ONNX,
    DOUBLE,
    INT8,
    INT32,
    INT64,
    INTEGERS,
    UINT8,
    UINT64,
    WIDE,
    held,
    integer_precisions,
    is_real,
)
from .._broadcast import shape_params, within_reach
from .._opdef import (
    ANY_LAYOUT,
    Activation,
    Blob,
    Builder,
    Lowered,
    OnnxNode,
    OpDef,
    Unsupported,
    problem_of,
)
from ..convert.cast import cast_to
from . import _int32
from ._add_mul import (
    add,
    add_params,
    add_params16,
    div,
    div_numbers,
    mul,
    mul_params,
    mul_params16,
)

Real = NDArray[np.float64]


def _pow(a: Real, b: Real) -> Real:
    with np.errstate(all="ignore"):
        result: Real = np.power(a, b)
    return result


def _div(a: Real, b: Real) -> Real:
    with np.errstate(all="ignore"):
        result: Real = np.divide(a, b)
    return result


FUNCTIONS: dict[BinaryFn, Callable[[Real, Real], Real]] = {
    BinaryFn.Add: np.add,
    BinaryFn.Sub: np.subtract,
    BinaryFn.Mul: np.multiply,
    BinaryFn.Div: _div,
    BinaryFn.Min: np.minimum,
    BinaryFn.Max: np.maximum,
    BinaryFn.Pow: _pow,
    BinaryFn.PRelu: lambda x, slope: np.where(x < 0, x * slope, x),
}


_NUMBERS: dict[tuple[BinaryFn, bool], Callable[[Node], object]] = {
    (BinaryFn.Add, False): add_params,
    (BinaryFn.Add, True): add_params16,
    (BinaryFn.Sub, False): add_params,
    (BinaryFn.Sub, True): add_params16,
    (BinaryFn.Mul, False): mul_params,
    (BinaryFn.Mul, True): mul_params16,
    (BinaryFn.Div, False): div_numbers,
    (BinaryFn.Div, True): div_numbers,
}
"""What computes the numbers of a function in the file, of int8 and of int16."""


def scalar_side(node: Node) -> tuple[int, float] | None:
    """(which input, its real value) if one is a constant of one element and the other is not."""
    for i in (1, 0):
        c, x = node.input(i), node.input(1 - i)
        if c.const is None or c.type.size != 1 or x.const is not None:
            continue
        if np.broadcast_shapes(c.shape, x.shape) != x.shape:
            continue
        value = c.quant.dequantize(c.const) if c.dtype != np.float32 and c.quant else c.const
        return i, float(np.ravel(value)[0])
    return None


class Binary(OpDef):
    """One function of `BinaryFn`, of two float32 tensors. attrs: act_min, act_max (fused clamp).

    Add Sub Mul Div Min Max also serve two int32 tensors, modulo 2^32; they and Pow two of float64,
    int64 or uint64, modulo 2^64. uint8 is computed in int32, and Pow of integers in 64 bits.

    ONNX, versions 7 and up: the operator of the same name; besides, Sum is Add, Mean is Add and
    Mul, and with constants x - c is x + -c and x / c is x * (1 / c).
    """

    fn: BinaryFn
    layout = ANY_LAYOUT
    broadcasts = True
    inplace: tuple[int, ...] = (0, 1)
    wide = True

    def __init__(self, fn: BinaryFn, onnx: tuple[str, ...] = ()) -> None:
        self.fn, self.name = fn, fn.name
        self.onnx = onnx or (fn.name,)
        self.shared = fn in (BinaryFn.Min, BinaryFn.Max)
        if fn == BinaryFn.Pow:
            self.float_only = "Pow has an int8 form only if one of its inputs is a constant scalar"
        simple = (BinaryFn.Add, BinaryFn.Sub, BinaryFn.Mul, BinaryFn.Min, BinaryFn.Max)
        fixed = fn in simple or fn == BinaryFn.Div
        self.precisions = integer_precisions(*(INTEGERS if fixed else (INT8,)))
        self.exactness = "exact" if fn in simple else "rounding"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        values = [v for v in node.inputs if v is not None]
        types = {held(v.dtype) if v.const is not None else v.dtype for v in values}
        if self.fn == BinaryFn.Pow and not is_real(values[0].dtype):
            return [_power_of_integer(b, node, values)]
        if types == {UINT8}:
            wide = [cast_to(b, v, 6) for v in values]
            return [cast_to(b, self._chain(b, wide), 2)]
        if len(types) == 1 and types <= set(WIDE):
            return [self._chain(b, values)]
        if node.op == "Pow" and values[0].dtype == np.float32:
            values[1] = _as_float(b, values[1])
        if self.fn in _int32.FUNCTIONS and all(map(_int32.is_int32, values)):
            if self.fn == BinaryFn.Div and any(
                v.const is not None and np.any(v.const == 0) for v in values[1:]
            ):
                raise Unsupported("it divides integers by a constant 0", "export the model again")
            return [self._chain(b, values)]
        for v in values:
            if v.dtype != np.float32:
                raise Unsupported(
                    f"it computes on {v.dtype} tensors; elementwise functions take float32",
                    "cast them to float32 first, or fold the computation into a constant",
                )
        result = reduce(lambda x, y: self._pair(b, x, y), values)
        if node.op == "Mean" and len(values) > 1:
            result = b.emit("Mul", [result, b.constant(np.array(1 / len(values), np.float32))])
        return [result]

    def _chain(self, b: Builder, values: list[Value]) -> Value:
        return reduce(lambda x, y: b.emit(self.name, within_reach(b, [x, y])), values)

    def _pair(self, b: Builder, x: Value, y: Value) -> Value:
        x, y = within_reach(b, [_scalar(b, v, w) for v, w in ((x, y), (y, x))])
        if self.fn == BinaryFn.Sub and y.const is not None:
            return b.emit("Add", [x, b.constant(-y.const, y.name)])
        if self.fn == BinaryFn.Div and y.const is not None:
            with np.errstate(all="ignore"):
                inverse = np.reciprocal(y.const.astype(np.float64)).astype(np.float32)
            if np.all(np.isfinite(inverse)) and np.all(inverse != 0):
                return b.emit("Mul", [x, b.constant(inverse, y.name)])
        return b.emit(self.name, [x, y])

    def infer(self, node: Node) -> list[TensorType]:
        a, b = node.input(0), node.input(1)
        served = ((np.int32,) if self.fn in _int32.FUNCTIONS else ()) + WIDE
        if a.dtype != b.dtype or a.dtype not in (*ACTIVATIONS, *served):
            raise ValueError(f"{self.name} of {a.dtype} and {b.dtype}; it takes float32")
        return [TensorType(a.dtype, np.broadcast_shapes(a.shape, b.shape))]

    def integer_problem(self, node: Node) -> str | None:
        if self.table(node) is not None:
            return None
        if self.float_only:
            return self.float_only
        return problem_of(shape_params, node.input(0).shape, node.input(1).shape)

    def accumulator_problem(self, node: Node) -> str | None:
        if node.output.dtype not in INTEGERS:
            return None
        numbers = _NUMBERS.get((self.fn, node.output.dtype == np.int16))
        return problem_of(numbers, node) if numbers else None

    def table(self, node: Node) -> Callable[[Real], Real] | None:
        side = scalar_side(node)
        if side is None or (self.fn == BinaryFn.PRelu and side[0] == 0):
            return None
        at, c = side
        act = Activation.of(node)
        fn = FUNCTIONS[self.fn]

        def of(x: Real) -> Real:
            y = fn(x, np.float64(c)) if at == 1 else fn(np.float64(c), x)  # type: ignore[arg-type]
            return np.clip(y, act.low, act.high)

        return of

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        a, b = (np.asarray(v, np.int64) for v in inputs)
        if node.output.dtype == np.int32:
            return [_int32.compute(self.fn, a, b)]
        if self.fn in (BinaryFn.Min, BinaryFn.Max):
            pick = np.minimum if self.fn == BinaryFn.Min else np.maximum
            return [pick(a, b).astype(node.output.dtype)]
        if self.fn == BinaryFn.Div:
            return [div(node, a, b)]
        return [(mul if self.fn == BinaryFn.Mul else add)(node, a, b)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        a, b = node.input(0), node.input(1)
        params = shape_params(a.shape, b.shape)
        if a.dtype == np.float32:
            limits = Activation.of(node).limits(None)
            return Lowered(OpKind.Binary, params | {"fn": int(self.fn)} | limits, [a, b])
        if a.dtype == np.int32:
            whole = np.iinfo(np.int32)
            limits = {"qmin": int(whole.min), "qmax": int(whole.max)}
            return Lowered(OpKind.Binary, params | {"fn": int(self.fn)} | limits, [a, b])
        if a.dtype in WIDE:
            no_limits = {"qmin": 0, "qmax": 0}
            return Lowered(OpKind.Binary, params | {"fn": int(self.fn)} | no_limits, [a, b])
        wide = a.dtype == np.int16
        if self.fn in (BinaryFn.Min, BinaryFn.Max):
            params["is_max"] = int(self.fn == BinaryFn.Max)
            return Lowered(OpKind.MinMax, params, [a, b])
        if self.fn == BinaryFn.Mul:
            params |= mul_params16(node) if wide else mul_params(node)
            return Lowered(OpKind.Mul, params, [a, b])
        if self.fn in (BinaryFn.Add, BinaryFn.Sub):
            params |= add_params16(node) if wide else add_params(node)
            return Lowered(OpKind.Add, params, [a, b])
        if self.fn == BinaryFn.Div:
            limits = Activation.of(node).limits(node.output.quant)
            q = constant(np.array(div_numbers(node), np.int32), f"{node.output.name}.quotient")
            return Lowered(OpKind.Binary, params | {"fn": int(self.fn)} | limits, [a, b, q])
        raise ValueError(f"{self.name} '{node.name}': {self.integer_problem(node)}")


def _power_of_integer(b: Builder, node: OnnxNode, values: list[Value]) -> Value:
    """Of the base's type, modulo its size; a real exponent makes the power a real one before."""
    base, exponent = values
    element = node.element(0) or 6
    at = DOUBLE if is_real(exponent.dtype) else UINT64 if base.dtype == UINT64 else INT64
    wide = [v if held(v.dtype) == at else b.emit("Cast", [v], to=at) for v in (base, exponent)]
    power = b.emit("Pow", within_reach(b, wide))
    kept = BY_ONNX[element].held
    if kept == at and element != 12:
        return power
    return b.emit(
        "Cast", [power], to=kept, element=6 if kept == INT32 and element == 7 else element
    )


def _scalar(b: Builder, v: Value, other: Value) -> Value:
    """A constant of one element loses the dims that add nothing to the result."""
    if v.const is None or v.type.size != 1 or len(v.shape) > len(other.shape):
        return v
    return b.constant(v.const.reshape(()), v.name)


def _as_float(b: Builder, exponent: Value) -> Value:
    """Pow's exponent may be of another type than its base."""
    if exponent.dtype == np.float32:
        return exponent
    if exponent.const is not None:
        return b.constant(exponent.const.astype(np.float32), exponent.name)
    return b.emit("Cast", [exponent], to=np.dtype(np.float32))


OPS: tuple[OpDef, ...] = (
    Binary(BinaryFn.Add, ("Add", "Sum", "Mean")),
    *(Binary(fn) for fn in FUNCTIONS if fn not in (BinaryFn.Add, BinaryFn.PRelu)),
)
