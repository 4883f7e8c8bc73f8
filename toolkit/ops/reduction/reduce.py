"""Reductions over a run of neighbouring axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...format.schema import OpKind, ReduceFn
from ...ir import Array, Node, TensorType, Value
from ...numerics import ACTIVATIONS, INTEGERS, integer_precisions
from .._formula import Term
from .._opdef import ALONG_AXES, Activation, Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from .._views import axis_view, float_input, from_nhwc, small_input, to_nhwc, view_params
from ..convert.cast import cast_to
from ..move.movement import axis_of
from ._int32 import JOINED, is_int32, reduced
from ._sums import Table, mean_table, requantized_sum, sum_problem, sum_table
from .pool import global_pool

SUMS = (ReduceFn.Mean, ReduceFn.Sum)
EXTREMA = (ReduceFn.Max, ReduceFn.Min)
_POOLS = {ReduceFn.Mean: "AvgPool2d", ReduceFn.Max: "MaxPool2d"}
_FLOAT_ONLY = {
    ReduceFn.Prod: "a product of int8 values has no useful range",
    ReduceFn.SumSquare: "squares are summed in float32 only",
    ReduceFn.L1: "magnitudes are summed in float32 only",
    ReduceFn.L2: "squares are summed in float32 only",
}


class Reduce(OpDef):
    """ONNX operator of the same name, all versions: float32; maxima and minima also of bool and
    8-bit and 16-bit integers; sums, means, products and extrema of int32 and int64, modulo 2^32, by
    binary operators.

    attrs: axes (neighbours in order, from the front), keepdims; of a mean whose count varies with
    sizes also `most`, the largest count: its integer form divides by the count. ReduceSum also
    serves ReduceLogSum, ReduceLogSumExp and ai.onnx.ml.Normalizer-1 by L1 or L2. Axes that are not
    neighbours are brought together by a Transpose; a mean or maximum over H and W of an NCHW image
    becomes a pool, so that the layout stays NHWC.
    """

    precisions = integer_precisions(*INTEGERS)

    fn: ReduceFn
    layout = ALONG_AXES

    def __init__(self, fn: ReduceFn) -> None:
        self.fn = fn
        self.float_only = _FLOAT_ONLY.get(self.fn)
        self.name = f"Reduce{fn.name}"
        self.selects = fn in EXTREMA
        of_sums = ("ReduceLogSum", "ReduceLogSumExp", "ai.onnx.ml.Normalizer")
        composed = of_sums if fn == ReduceFn.Sum else ()
        self.onnx = (self.name, *composed)
        self.exactness = "exact" if fn in EXTREMA else "rounding"
        self.shared = fn in EXTREMA

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        if self.fn in EXTREMA and (element := small_input(node)) is not None:
            real = cast_to(b, node.input(0), 1)
            (y,) = self.from_onnx(b, replace(node, inputs=[real, *node.inputs[1:]]))
            return [cast_to(b, y, element)]
        if self.fn in JOINED and node.op == self.name and is_int32(node):
            x = node.input(0)
            axes = _axes(node, len(x.shape))
            shape = _result_shape(x, axes, bool(node.attrs.get("keepdims", 1)))
            return [reduced(Term(b, x), axes, self.fn).reshape(*shape).value]
        x = float_input(node)
        if node.op == "Normalizer":
            return [_normalized(b, node, x)]
        axes = _axes(node, len(x.shape))
        keepdims = bool(node.attrs.get("keepdims", 1))
        if node.op == "ReduceLogSumExp":
            return [self._log_sum_exp(b, x, axes, keepdims)]
        y = self._reduce(b, x, axes, keepdims)
        return [b.emit("Log", [y]) if node.op == "ReduceLogSum" else y]

    def _log_sum_exp(self, b: Builder, x: Value, axes: list[int], keepdims: bool) -> Value:
        if not axes:
            return x
        largest = REDUCTIONS[ReduceFn.Max]._reduce(b, x, axes, keepdims=True)
        total = self._reduce(b, b.emit("Exp", [b.emit("Sub", [x, largest])]), axes, keepdims=True)
        y = b.emit("Add", [b.emit("Log", [total]), largest])
        return b.reshape(y, _result_shape(x, axes, keepdims))

    def _reduce(self, b: Builder, x: Value, axes: list[int], keepdims: bool) -> Value:
        shape = _result_shape(x, axes, keepdims)
        if not axes:
            if self.fn in (*SUMS, *EXTREMA, ReduceFn.Prod):
                return x
            flat = b.emit(
                self.name, [b.reshape(x, (*shape, 1))], axes=(len(shape),), keepdims=False
            )
            return b.reshape(flat, shape)
        if self.fn in _POOLS and len(x.shape) == 4 and axes == [2, 3]:
            y = global_pool(b, _POOLS[self.fn], to_nhwc(b, x))
            return from_nhwc(b, y, 4) if keepdims else b.reshape(y, shape)
        if axes != list(range(axes[0], axes[-1] + 1)):
            kept = [d for d in range(len(x.shape)) if d not in axes]
            x = b.transpose(x, kept + axes)
            axes = list(range(len(kept), len(x.shape)))
            return b.reshape(b.emit(self.name, [x], axes=tuple(axes), keepdims=False), shape)
        return b.emit(self.name, [x], axes=tuple(axes), keepdims=keepdims)

    def infer(self, node: Node) -> list[TensorType]:
        x, axes = node.input(0), node.attrs["axes"]
        axis_view(x.shape, axes)
        if x.dtype not in ACTIVATIONS:
            raise ValueError(f"{self.name} of {x.dtype}; it takes float32")
        return [TensorType(x.dtype, _result_shape(x, axes, node.attrs["keepdims"]))]

    def _table(self, node: Node) -> Table:
        """Multiplier and shift, one of each."""
        x, y = node.input(0).quant, node.output.quant
        assert x is not None and y is not None
        _, count, _ = axis_view(node.input(0).shape, node.attrs["axes"])
        if "most" in node.attrs:
            return mean_table(x, y, count, node.attrs["most"])
        return sum_table(x, y, np.array([count if self.fn == ReduceFn.Mean else 1]))

    def accumulator_problem(self, node: Node) -> str | None:
        """Why the sums of this integer node do not fit; None if they do."""
        x = node.input(0)
        if self.fn not in SUMS:
            return None
        try:
            _, shift = self._table(node)
        except ValueError as why:
            return str(why)
        _, count, _ = axis_view(x.shape, node.attrs["axes"])
        assert x.quant is not None
        return sum_problem(np.array([node.attrs.get("most", count)]), x.quant, shift)

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, x, y = inputs[0], node.input(0), node.output
        assert q is not None and x.quant is not None and y.quant is not None
        view = q.reshape(axis_view(x.shape, node.attrs["axes"]))
        if self.fn in EXTREMA:
            best = view.max(axis=1) if self.fn == ReduceFn.Max else view.min(axis=1)
            return [best.reshape(y.shape)]
        acc = np.sum(view.astype(np.int64) - x.quant.zero_point, axis=1)
        return [requantized_sum(acc, *self._table(node), y.quant).reshape(y.shape)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, y = node.input(0), node.output
        params = view_params(x.shape, node.attrs["axes"]) | {"fn": int(self.fn)}
        if x.quant is None or y.quant is None:
            return Lowered(OpKind.Reduce, params | Activation().limits(None), [x])
        if self.fn in _FLOAT_ONLY:
            raise ValueError(f"{self.name} '{node.name}': {self.integer_problem(node)}")
        (m,), (shift,) = self._table(node)
        params |= {"multiplier": int(m), "shift": int(shift)}
        params |= {"input_zero": x.quant.zero_point, "output_zero": y.quant.zero_point}
        return Lowered(OpKind.Reduce, params | Activation().limits(y.quant), [x])


def _axes(node: OnnxNode, rank: int) -> list[int]:
    """The axes to reduce, from the front and in order; none for an identity."""
    given = node.attrs["axes"] if "axes" in node.attrs else node.const(1)
    axes = [] if given is None else [int(a) for a in np.ravel(given)]
    if not axes and not node.attrs.get("noop_with_empty_axes", 0):
        axes = list(range(rank))
    if any(not -rank <= a < rank for a in axes):
        raise Unsupported(f"its axes {axes} do not exist in a tensor of {rank} axes")
    return sorted({axis_of(a, rank) for a in axes})


def _result_shape(x: Value, axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    kept = (1 if i in axes else d for i, d in enumerate(x.shape))
    return tuple(kept) if keepdims else tuple(d for i, d in enumerate(x.shape) if i not in axes)


def _normalized(b: Builder, node: OnnxNode, x: Value) -> Value:
    """Rows over their largest element, the sum of their magnitudes, or the root of that of their
    squares; what would be divided by 0 stays."""
    norm, last = str(node.attrs.get("norm", "MAX")), len(x.shape) - 1
    if norm not in ("MAX", "L1", "L2"):
        raise Unsupported(f"its norm is {norm}", "use MAX, L1 or L2")
    if norm == "MAX":
        most = b.emit("ReduceMax", [x], axes=(last,), keepdims=True)
        none = b.emit("Equal", [most, b.constant(np.array(0, np.float32))])
        by = b.emit("Where", [none, b.constant(np.array(1, np.float32)), most])
        return b.emit("Div", [x, by])
    sizes = b.emit("Abs", [x]) if norm == "L1" else b.emit("Mul", [x, x])
    total = b.emit("ReduceSum", [sizes], axes=(last,), keepdims=True)
    total = b.emit("Sqrt", [total]) if norm == "L2" else total
    return b.emit("Div", [x, b.emit("Clip", [total], min=1e-30, max=np.inf)])


REDUCTIONS: dict[ReduceFn, Reduce] = {fn: Reduce(fn) for fn in ReduceFn}
OPS: tuple[OpDef, ...] = tuple(REDUCTIONS.values())
