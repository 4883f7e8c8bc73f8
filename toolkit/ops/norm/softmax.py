"""Softmax and its logarithm along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, QuantParams, TensorType, Value
from ...numerics import ACTIVATIONS, BFLOAT16, FLOAT, INTEGERS, integer_precisions
from .._formula import Term
from .._opdef import ALONG_AXIS, Blob, Builder, Lowered, OnnxNode, OpDef
from .._views import axis_view, float_input, view_params
from ..move.movement import axis_of

OUTPUT = QuantParams((1 / 256,), -128)
"""The quantization of every int8 Softmax: probabilities in 1/256."""

OUTPUT16 = QuantParams.int16(2.0**-15)
"""That of every int16 Softmax."""

LARGEST_POWER = 23

MOST_ADDENDS = 32
"""That are added one by one in bfloat16; the sum of more is rounded once."""


def exponentials(scale: float, axis: int) -> NDArray[np.uint32]:
    """round(2^p * exp(-scale * d)) for d of 0 to 255; `axis` of them sum to less than 2^31."""
    p = max(p for p in range(LARGEST_POWER + 1) if axis << p < 1 << 31)
    real: NDArray[np.float64] = np.exp(-scale * np.arange(256))
    return np.rint(2.0**p * real).astype(np.uint32)


def exponentials16(scale: float, axis: int) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Of d in 16 bits: round(2^p * exp(-scale * 256 * i)), and round(2^15 * exp(-scale * i)).

    i is of 0 to 255. `axis` of the first sum to less than 2^32, and p is 16 at most.
    """
    p = max(p for p in range(17) if axis << p < 1 << 32)
    i = np.arange(256)
    high = np.rint(2.0**p * np.exp(-scale * 256 * i)).astype(np.uint32)
    return high, np.rint(2.0**15 * np.exp(-scale * i)).astype(np.uint16)


def _in_steps(b: Builder, x: Value, axis: int) -> Value:
    """Softmax in bfloat16: exponentials, their sum, and by the caller the quotient are rounded to
    it. A sum is rounded after each addend, as far as there are few."""

    def rounded(term: Term) -> Term:
        return term.function("Cast", to=FLOAT, element=BFLOAT16)

    term = Term(b, x)
    top = term.function("ReduceMax", axes=(axis,), keepdims=True)
    parts = rounded(rounded(term - top).function("Exp"))
    if x.shape[axis] <= MOST_ADDENDS:
        total = parts.part(axis, 0)
        for i in range(1, x.shape[axis]):
            total = rounded(total + parts.part(axis, i))
    else:
        total = rounded(parts.sum(axis))
    return (parts / total).value


class Softmax(OpDef):
    """ONNX Softmax-13, LogSoftmax-13. attrs: axis, from the front. float32 of any shape.

    The logarithm stays float: its range has no useful bound. In a model of bfloat16 every step
    is rounded to that.
    """

    inplace = (0,)
    keeps_order = True
    layout = ALONG_AXIS
    precisions = integer_precisions(*INTEGERS)

    def __init__(self, name: str) -> None:
        self.name = name
        self.onnx = (name,)
        if name == "LogSoftmax":
            self.float_only = "the logarithm of a small probability needs more range than int8 has"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = float_input(node)
        axis = int(node.attrs.get("axis", -1))
        if not x.shape:
            x = b.reshape(x, (1,))
            return [b.reshape(b.emit(self.name, [x], axis=0), ())]
        axis = axis_of(axis, len(x.shape))
        if self.name == "Softmax" and b.rounded_to(x) == BFLOAT16:
            return [_in_steps(b, x, axis)]
        return [b.emit(self.name, [x], axis=axis)]

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        axis_view(x.shape, (node.attrs["axis"],))
        if x.dtype not in ACTIVATIONS:
            raise ValueError(f"{self.name} of {x.dtype}; it takes float32")
        return [x.type]

    def fixed_output(self, node: Node, dtype: np.dtype[Any]) -> QuantParams | None:
        if self.name != "Softmax":
            return None
        return OUTPUT if dtype == np.int8 else OUTPUT16

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, x = inputs[0], node.input(0)
        assert q is not None and x.quant is not None
        axis = node.attrs["axis"]
        if x.dtype == np.int16:
            return [_integer16(q.astype(np.int64), axis, x.quant.scalar)]
        table = exponentials(x.quant.scalar, x.shape[axis]).astype(np.int64)
        wide = q.astype(np.int64)
        e = table[wide.max(axis=axis, keepdims=True) - wide]
        total = e.sum(axis=axis, keepdims=True)
        return [(np.minimum((e * 256 + total // 2) // total, 255) - 128).astype(np.int8)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, axis = node.input(0), node.attrs["axis"]
        params = view_params(x.shape, (axis,))
        if x.quant is None:
            return Lowered(OpKind.Softmax, params | {"log": int(self.name != "Softmax")}, [x])
        if (problem := self.integer_problem(node)) is not None:
            raise ValueError(f"{self.name} '{node.name}': {problem}")
        if x.dtype == np.int16:
            table = blob.add(*exponentials16(x.quant.scalar, x.shape[axis]))
            return Lowered(OpKind.Softmax, params | {"table": table}, [x])
        table = blob.add(exponentials(x.quant.scalar, x.shape[axis]))
        return Lowered(OpKind.Softmax, params | {"table": table}, [x])


def _integer16(q: Array, axis: int, scale: float) -> Array:
    high, low = (t.astype(np.int64) for t in exponentials16(scale, q.shape[axis]))
    d = q.max(axis=axis, keepdims=True) - q
    e = (high[d >> 8] * low[d & 255] + (1 << 14)) >> 15
    total = e.sum(axis=axis, keepdims=True)
    result: Array = np.minimum((e * 32768 + total // 2) // total, 32767).astype(np.int16)
    return result


SOFTMAX = Softmax("Softmax")
OPS: tuple[OpDef, ...] = (SOFTMAX, Softmax("LogSoftmax"))


def makes_shares(node: Node) -> bool:
    """Whether a node's outputs are shares of 1 along an axis."""
    return node.op == SOFTMAX.name


def compares_classes(node: Node) -> bool:
    """Whether a node makes of what it reads the likelihoods of classes, or their logarithms."""
    return node.op in [op.name for op in OPS]
