"""Functions of one element. On int8 each is a 256-entry table; in float the runtime's Unary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind, UnaryFn
from ...ir import Node, TensorType, Value
from .._opdef import ANY_LAYOUT, Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported

Real = NDArray[np.float64]


@dataclass(frozen=True)
class Function:
    """A unary function in double precision, and its attributes with ONNX's defaults.

    The runtime knows at most two attributes, alpha and beta, in the order given here.
    """

    of: Callable[..., Real]
    attrs: dict[str, float] = field(default_factory=dict)
    exact: bool = False


def expit(x: Real) -> Real:
    """The logistic function."""
    with np.errstate(over="ignore"):  # it is 0 there
        result: Real = 1 / (1 + np.exp(-x))
    return result


def erf(x: Real) -> Real:
    """The error function of the C library: to import scipy takes as long as two million values."""
    found = np.fromiter(map(math.erf, x.ravel().tolist()), np.float64, x.size)
    return found.reshape(x.shape)


def _softplus(x: Real) -> Real:
    result: Real = np.logaddexp(0.0, x)
    return result


def _elu(x: Real, alpha: float) -> Real:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _selu(x: Real, alpha: float, gamma: float) -> Real:
    return gamma * _elu(x, alpha)


def _celu(x: Real, alpha: float) -> Real:
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(np.minimum(x, 0) / alpha))


def _gelu(x: Real) -> Real:
    result: Real = 0.5 * x * (1 + erf(x / np.sqrt(2)))
    return result


def _gelu_tanh(x: Real) -> Real:
    result: Real = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return result


def _hard_sigmoid(x: Real, alpha: float, beta: float) -> Real:
    return np.clip(alpha * x + beta, 0, 1)


_SELU = {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}

FUNCTIONS: dict[UnaryFn, Function] = {
    UnaryFn.Clip: Function(
        lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi),
        {"min": -np.inf, "max": np.inf},
        exact=True,
    ),
    UnaryFn.Sigmoid: Function(expit),
    UnaryFn.Tanh: Function(np.tanh),
    UnaryFn.Exp: Function(np.exp),
    UnaryFn.Log: Function(np.log),
    UnaryFn.Sqrt: Function(np.sqrt),
    UnaryFn.Abs: Function(np.abs, exact=True),
    UnaryFn.Neg: Function(np.negative, exact=True),
    UnaryFn.Erf: Function(erf),
    UnaryFn.HardSigmoid: Function(_hard_sigmoid, {"alpha": 0.2, "beta": 0.5}),
    UnaryFn.HardSwish: Function(lambda x: x * _hard_sigmoid(x, 1 / 6, 0.5)),
    UnaryFn.LeakyRelu: Function(lambda x, alpha: np.where(x < 0, alpha * x, x), {"alpha": 0.01}),
    UnaryFn.Elu: Function(_elu, {"alpha": 1.0}),
    UnaryFn.Selu: Function(_selu, _SELU),
    UnaryFn.Celu: Function(_celu, {"alpha": 1.0}),
    UnaryFn.Softplus: Function(_softplus),
    UnaryFn.Softsign: Function(lambda x: x / (1 + np.abs(x))),
    UnaryFn.Gelu: Function(_gelu),
    UnaryFn.Floor: Function(np.floor, exact=True),
    UnaryFn.Ceil: Function(np.ceil, exact=True),
    UnaryFn.Round: Function(np.rint, exact=True),
    UnaryFn.Sin: Function(np.sin),
    UnaryFn.Cos: Function(np.cos),
    UnaryFn.Reciprocal: Function(np.reciprocal),
    UnaryFn.Sign: Function(np.sign, exact=True),
    UnaryFn.GeluTanh: Function(_gelu_tanh),
    UnaryFn.Mish: Function(lambda x: x * np.tanh(_softplus(x))),
    UnaryFn.ThresholdedRelu: Function(lambda x, alpha: np.where(x > alpha, x, 0), {"alpha": 1.0}),
}

ONNX_NAMES: dict[UnaryFn, tuple[str, ...]] = {
    UnaryFn.Clip: ("Clip", "Relu"),
    UnaryFn.Sigmoid: ("Sigmoid", "Swish"),
    UnaryFn.GeluTanh: (),
}
"""Where they are not just the function's own name."""


class Unary(OpDef):
    """One function of `UnaryFn`, of float32. attrs: those of its `Function`.

    ONNX: the operator of the same name, in every version; besides, Relu is Clip(0, inf), Swish is
    x * Sigmoid(alpha * x), and Gelu with approximate="tanh" is GeluTanh. Clip, Relu, Neg and Abs
    of int32 become functions of two int32, as does a Clip whose limits are computed of two float32.
    """

    fn: UnaryFn
    layout = ANY_LAYOUT
    inplace = (0,)

    def __init__(self, fn: UnaryFn) -> None:
        self.fn, self.function = fn, FUNCTIONS[fn]
        self.name = fn.name
        if fn is UnaryFn.LeakyRelu:
            self.channelwise = frozenset({"scale"})
        self.onnx = ONNX_NAMES.get(fn, (fn.name,))
        self.exactness = "exact" if self.function.exact else "rounding"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        if x.dtype == np.int32 and node.op in ("Clip", "Relu", "Neg", "Abs", "Sign"):
            return [_of_int32(b, x, node)]
        if x.dtype != np.float32:
            raise Unsupported(
                f"its input is {x.dtype}; elementwise functions take float32",
                "cast it to float32 first",
            )
        if node.op == "Swish":
            return [_swish(b, x, node.attrs.get("alpha", 1.0))]
        if node.op == "Gelu" and node.attrs.get("approximate", "none") == "tanh":
            return [b.emit("GeluTanh", [x])]
        if node.op == "Relu":
            return [b.emit("Clip", [x], min=0.0, max=np.inf)]
        if node.op == "Clip" and any(v is not None and v.const is None for v in node.inputs[1:]):
            return [_between(b, x, node)]
        if node.op == "Clip":
            high = _limit(node, "max", 2)
            low = min(_limit(node, "min", 1), high)
            return [b.emit("Clip", [x], min=low, max=high)]
        defaults = self.function.attrs.items()
        attrs: dict[str, Any] = {k: float(node.attrs.get(k, v)) for k, v in defaults}
        return [b.emit(self.name, [x], **attrs)]

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if x.dtype not in (np.float32, np.int8):
            raise ValueError(f"{self.name} of {x.dtype}; it takes float32")
        return [x.type]

    def attributes(self, node: Node) -> list[float]:
        """Values of the function's attributes, in the runtime's order."""
        return [float(node.attrs.get(k, v)) for k, v in self.function.attrs.items()]

    def table(self, node: Node) -> Callable[[Real], Real]:
        values = self.attributes(node)

        def fn(x: Real) -> Real:
            with np.errstate(all="ignore"):  # a table may reach outside the function's domain
                y: Real = self.function.of(x, *values)
            return y

        return fn

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        if x.dtype != np.float32:
            raise ValueError(f"{self.name} '{node.name}' of {x.dtype} is a table: use Lut")
        alpha, beta = [*self.attributes(node), 0.0, 0.0][:2]
        params = {"count": x.type.size, "fn": int(self.fn), "alpha": alpha, "beta": beta}
        return Lowered(OpKind.Unary, params, [x])


def _of_int32(b: Builder, x: Value, node: OnnxNode) -> Value:
    """Clip, Relu, Neg, Abs or Sign of int32 by functions of two."""
    zero = b.constant(np.array(0, np.int32))
    if node.op == "Sign":
        ones = (b.constant(np.array(one, np.int32)) for one in (1, -1))
        return b.emit("Max", [b.emit("Min", [x, next(ones)]), next(ones)])
    if node.op == "Relu":
        return b.emit("Max", [x, zero])
    if node.op != "Clip":
        minus = b.emit("Sub", [zero, x])
        return minus if node.op == "Neg" else b.emit("Max", [x, minus])
    return _between(b, x, node)


def _between(b: Builder, x: Value, node: OnnxNode) -> Value:
    """Clip by functions of two: its limits may be computed."""
    for op, limit in zip(("Max", "Min"), node.inputs[1:], strict=False):
        if limit is not None:
            scalar = limit if limit.const is None else b.constant(limit.const.reshape(()))
            x = b.emit(op, [x, scalar])
    return x


def _limit(node: OnnxNode, attr: str, i: int) -> float:
    otherwise = -np.inf if attr == "min" else np.inf
    value = node.attrs[attr] if attr in node.attrs else node.const(i)
    return otherwise if value is None else float(np.ravel(value)[0])


def _swish(b: Builder, x: Value, alpha: float) -> Value:
    inner = x if alpha == 1.0 else b.emit("Mul", [x, b.constant(np.array(alpha, np.float32))])
    return b.emit("Mul", [x, b.emit("Sigmoid", [inner])])


OPS: tuple[OpDef, ...] = tuple(Unary(fn) for fn in UnaryFn)
