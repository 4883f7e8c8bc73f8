"""Scatter: rows put, or reduced, into a tensor at places that may be computed."""

from __future__ import annotations

from math import prod

import numpy as np

from ...format.schema import OpKind, ScatterFn
from ...ir import Array, Node, TensorType, Value
from ...numerics import FLOAT, INT32, INTEGERS, UINT8, WIDE, held, integer_precisions
from .._formula import Term, column
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported, computes_in
from ..convert.cast import cast_to
from ._indices import as_index, element_places, point_places, steps
from .gather import constant_places, overwritten
from .movement import axis_of

_REDUCTIONS = {
    "none": ScatterFn.Replace, "add": ScatterFn.Add, "mul": ScatterFn.Mul, "min": ScatterFn.Min,
    "max": ScatterFn.Max,
}  # fmt: skip
_INTO = {
    ScatterFn.Add: np.add, ScatterFn.Mul: np.multiply, ScatterFn.Min: np.minimum,
    ScatterFn.Max: np.maximum,
}  # fmt: skip


class Scatter(OpDef):
    """ONNX ScatterElements-11..18, ScatterND-11..18, Scatter-9, TensorScatter-24, all reductions.

    attrs: fn, a ScatterFn. Inputs: x [rows, ..], places int32, new [*places, ..], of any element
    type; uint8 is computed in int32. Negative indices count from the
    end; of several rows at one place the last stays; a place outside of x stops the run.
    """

    name = "Scatter"
    onnx = ("ScatterElements", "ScatterND", "Scatter", "TensorScatter")
    exactness = "exact"
    shared = True
    wide = True
    precisions = integer_precisions(*INTEGERS)
    inplace = (0,)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x, at, new = _inputs(node)
        if node.op == "TensorScatter":
            return [_written(b, node, x, new)]
        assert at is not None
        reduction = str(node.attrs.get("reduction", "none"))
        if reduction not in _REDUCTIONS:
            raise Unsupported(f"it reduces by {reduction}")
        axis = None if node.op == "ScatterND" else axis_of(node.attrs.get("axis", 0), len(x.shape))
        if at.const is not None and reduction == "none":
            return [overwritten(b, x, at.const, new, axis)]
        if at.const is not None:
            places = b.constant(constant_places(at.const, x.shape, axis).astype(np.int32))
        elif axis is not None:
            places = element_places(b, x.shape, at, axis)
        else:
            places = point_places(b, x.shape[: at.shape[-1]], at, 0)
        rest = x.shape[at.shape[-1] :] if axis is None else ()
        return [scattered(b, x, places, new, prod(rest), _REDUCTIONS[reduction])]

    def infer(self, node: Node) -> list[TensorType]:
        x, places, new = (node.input(i) for i in range(3))
        if places.dtype != INT32 or new.dtype != x.dtype:
            raise ValueError(f"rows of {new.dtype} at {places.dtype} go into {x.dtype}")
        if new.type.size * x.shape[0] != places.type.size * x.type.size:
            raise ValueError(f"{new} are not rows of {x} for {places}")
        if not computes_in(OpKind.Scatter, x.dtype):
            raise ValueError(f"rows of {x.dtype}")
        if node.attrs["fn"] and x.dtype not in (FLOAT, INT32, *WIDE):
            raise ValueError(f"rows of {x.dtype} are not reduced")
        return [x.type]

    def integer_problem(self, node: Node) -> str | None:
        return "it reduces rows of one scale into one" if node.attrs["fn"] else None

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        x, places, new = (np.asarray(v) for v in inputs)
        out, fn = x.copy(), node.attrs["fn"]
        rows = new.reshape(places.size, *x.shape[1:])
        for at, row in zip(places.ravel(), rows, strict=True):
            out[at] = _INTO[fn](out[at], row) if fn else row
        return [out]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, places = node.input(0), node.input(1)
        params = {
            "rows": x.shape[0], "inner": prod(x.shape[1:]), "count": places.type.size,
            "fn": int(node.attrs["fn"]),
        }  # fmt: skip
        return Lowered(OpKind.Scatter, params, [x, places, node.input(2)])


def _inputs(node: OnnxNode) -> tuple[Value, Value | None, Value]:
    """The tensor, the indices if they may not be left out, and what is new."""
    if node.op == "TensorScatter":
        return node.input(0), None, node.input(1)
    return node.input(0), node.input(1), node.input(2)


def scattered(b: Builder, x: Value, places: Value, new: Value, inner: int, fn: ScatterFn) -> Value:
    """x, as rows of `inner` elements, with `new` at the rows `places`."""
    small = held(x.dtype) == UINT8
    into, rows = (cast_to(b, v, 6) if small else v for v in (x, new))
    places = b.reshape(places, (places.type.size,))
    y = b.emit(
        "Scatter",
        [b.reshape(into, (x.type.size // inner, inner)), places,
         b.reshape(rows, (places.type.size, inner))],
        fn=fn,
    )  # fmt: skip
    y = b.reshape(y, x.shape)
    return cast_to(b, y, 2) if small else y


def _written(b: Builder, node: OnnxNode, cache: Value, new: Value) -> Value:
    """TensorScatter: new entries of a sequence, from an index of each batch on."""
    rank = len(cache.shape)
    axis = axis_of(int(node.attrs.get("axis", -2)), rank)
    length, count, batch = cache.shape[axis], new.shape[axis], cache.shape[0]
    mode = str(node.attrs.get("mode", "linear"))
    if axis == 0 or mode not in ("linear", "circular"):
        raise Unsupported(f"its axis is {axis}, its mode {mode}")
    given = node.optional(2)
    first = Term(b, np.zeros(batch, np.int32) if given is None else as_index(b, given))
    at = first.reshape(batch, 1) + np.arange(count, dtype=np.int32)
    if mode == "circular":
        at = at.modulo(length)
    row = Term(b, steps(b, at.reshape(batch, 1, count).value, length, 1))
    middle = prod(cache.shape[1:axis])
    base = column(batch, 0, 3, middle * length) + column(middle, 1, 3, length)
    places = row + base
    return scattered(b, cache, places.value, new, prod(cache.shape[axis + 1 :]), ScatterFn.Replace)


OPS: tuple[OpDef, ...] = (Scatter(),)
