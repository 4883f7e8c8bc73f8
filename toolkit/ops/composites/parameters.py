"""Operators whose parameters are computed at run time, where the model says the output's shape.

What the shape leaves open is computed; the rest is checked as the model runs, and a parameter that
does not lead to that shape stops the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...ir import Value
from .._formula import Term, column, stacked
from .._opdef import Builder, OnnxNode, Reader, Unsupported
from ..move.movement import axis_of
from ._checks import agrees, as_ints, axis_sets, checked, chosen_axes
from .convolutions import convolved, transposed
from .resizing import resized


def reduction(reader: Reader, b: Builder, node: OnnxNode) -> list[Value]:
    """Reduce* over each set of axes that makes the shape, of which the axes choose one."""
    x, axes = node.input(0), node.input(1)
    keepdims = bool(node.attrs.get("keepdims", 1))
    sets = axis_sets(x.shape, axes.type.size, node.shape_of(0), keepdims)
    if not sets:
        raise Unsupported(f"no {axes.type.size} axes of {list(x.shape)} give its output's shape")
    results = []
    for one in sets if x.type.size else ():
        given = b.constant(np.array(one, np.int64))
        (y,) = reader.from_onnx(b, replace(node, inputs=[x, given]))
        results.append(Term(b, y).reshape(1, *y.shape))
    if not x.type.size:
        of_nothing = np.full((1, *node.shape_of(0)), _neutral(node.op, x.dtype), x.dtype)
        results = [Term(b, of_nothing)] * len(sets)
    which = chosen_axes(b, axes, len(x.shape), sets)
    return [stacked(results, 0).take(which).value]


def _neutral(op: str, dtype: np.dtype[Any]) -> Any:
    """What an operator makes of nothing."""
    if dtype.kind == "f" or op not in ("ReduceMax", "ReduceMin"):
        return _OF_NOTHING[op]
    if dtype.kind == "b":
        return op == "ReduceMin"
    return np.iinfo(dtype).min if op == "ReduceMax" else np.iinfo(dtype).max


def squeezed(b: Builder, node: OnnxNode) -> list[Value]:
    """Squeeze and Unsqueeze: the axes of 1 are those of one shape, or of the other."""
    x, axes, shape = node.input(0), node.input(1), node.shape_of(0)
    longer, shorter = (x.shape, shape) if node.op == "Squeeze" else (shape, x.shape)
    sets = axis_sets(longer, axes.type.size, shorter, False)
    which = chosen_axes(b, axes, len(longer), sets)
    known = which < len(sets)
    return [checked(Term(b, b.reshape(x, shape)), known).value]


def reshaped(b: Builder, node: OnnxNode) -> list[Value]:
    x, shape = node.input(0), node.shape_of(0)
    given = as_ints(b, node.input(1))
    if given.shape != (len(shape),):
        raise Unsupported(f"its shape has {given.shape[0]} dimensions, its output {len(shape)}")
    fits = agrees(given, shape) | given.equals(-1)
    if not node.attrs.get("allowzero", 0):
        keeps = [i < len(x.shape) and x.shape[i] == d for i, d in enumerate(shape)]
        fits = fits | (given.equals(0) & Term(b, np.array(keeps)))
    if not prod(shape):
        return [b.constant(np.zeros(shape, x.dtype))]
    return [checked(Term(b, b.reshape(x, shape)), fits).value]


def expanded(b: Builder, node: OnnxNode) -> list[Value]:
    x, shape = Term(b, node.input(0)), node.shape_of(0)
    given = as_ints(b, node.input(1))
    tail = shape[len(shape) - given.shape[0] :]
    own = ((1,) * len(tail) + x.shape)[-len(tail) :]
    fits = agrees(given, tail) | (
        given.equals(1) & Term(b, np.array([o == d for o, d in zip(own, tail, strict=True)]))
    )
    return [checked(x.expand(*shape), fits).value]


def tiled(b: Builder, node: OnnxNode) -> list[Value]:
    x, shape = node.input(0), node.shape_of(0)
    counts = [d // n for d, n in zip(shape, x.shape, strict=True)]
    at = [column(d, i, len(shape)) % n for i, (d, n) in enumerate(zip(shape, x.shape, strict=True))]
    y = Term(b, x)
    for axis, places in enumerate(at):
        y = y.take(places.ravel(), axis) if counts[axis] > 1 else y
    return [checked(y, agrees(as_ints(b, node.input(1)), counts)).value]


def split(b: Builder, node: OnnxNode) -> list[Value]:
    x = Term(b, node.input(0))
    axis = axis_of(int(node.attrs.get("axis", 0)), len(x.shape))
    sizes = [node.shape_of(i)[axis] for i in range(len(node.outputs))]
    if sum(sizes) != x.shape[axis]:
        raise Unsupported(f"an axis of {x.shape[axis]} does not split into {sizes}")
    fits = agrees(as_ints(b, node.input(1)), sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    return [
        checked(x.part(axis, int(start), size), fits).value if size
        else b.constant(np.zeros(node.shape_of(i), x.value.dtype))
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]  # fmt: skip


def _per_axis(b: Builder, given: Value, at: Value | None, rank: int, otherwise: Term) -> list[Term]:
    """One int32 scalar for each axis: of `given` the entry whose axis it is, or `otherwise`."""
    values = as_ints(b, given)
    count = values.shape[0]
    if at is None or at.const is not None:
        listed = range(rank)[:count] if at is None or at.const is None else at.const
        named = [axis_of(int(a), rank) for a in listed]
        known = {a: i for i, a in enumerate(named)}
        return [
            values.part(0, known[r]).reshape() if r in known else otherwise.part(0, r).reshape()
            for r in range(rank)
        ]
    order = Term(b, np.concatenate([np.arange(rank)] * 2).astype(np.int32))
    axes = order.take(as_ints(b, at) + rank)
    found = [otherwise.part(0, r).reshape() for r in range(rank)]
    for k in range(count):
        axis = axes.part(0, k).reshape()
        value = values.part(0, k).reshape()
        found = [axis.equals(r).where(value, old) for r, old in enumerate(found)]
    return found


def sliced(b: Builder, node: OnnxNode) -> list[Value]:
    x, shape = Term(b, node.input(0)), node.shape_of(0)
    rank = len(shape)
    at = node.optional(3)
    zeros, ends = Term(b, np.zeros(rank, np.int32)), Term(b, np.array(x.shape, np.int32))
    ones = Term(b, np.ones(rank, np.int32))
    starts = _per_axis(b, node.input(1), at, rank, zeros)
    stops = _per_axis(b, node.input(2), at, rank, ends)
    given = node.optional(4)
    steps = [ones.part(0, r).reshape() for r in range(rank)]
    if given is not None:
        steps = _per_axis(b, given, at, rank, ones)
    for r, (d, n) in enumerate(zip(x.shape, shape, strict=True)):
        parts = starts[r], stops[r], steps[r]
        if n == 0:
            return [b.constant(np.zeros(shape, x.value.dtype))]
        if all(p.const is not None for p in parts):
            first, end, step = (int(p.const) for p in parts if p.const is not None)
            places = np.arange(d)[slice(first, end if end >= -d else None, step)]
            x = x if n == d and step > 0 else x.take(places, r)
            continue
        x = x.take(_places(*parts, d, n), r)
    return [x.value]


def _places(start: Term, stop: Term, step: Term, d: int, n: int) -> Term:
    """`n` indices of an axis of `d`; outside of it where they are not as many."""
    forward = step > 0

    def clipped(end: Term) -> Term:
        end = (end < 0).where(end + d, end)
        return forward.where(end.at_least(0).at_most(d), end.at_least(-1).at_most(d - 1))

    first, end = clipped(start), clipped(stop)
    last = first + step * (n - 1)
    rising = forward & (last < end) & (end <= last + step)
    falling = (step < 0) & (end < last) & (last + step <= end)
    outside = (~(rising | falling)).to(np.int32) * (1 << 30)
    return first + step * np.arange(n, dtype=np.int32) + outside.reshape(1)


def padded(b: Builder, node: OnnxNode) -> list[Value]:
    x, shape = Term(b, node.input(0)), node.shape_of(0)
    rank, mode = len(shape), str(node.attrs.get("mode", "constant"))
    given = node.optional(2)
    value = Term(b, np.zeros((), x.value.dtype) if given is None else b.reshape(given, ()))
    widths = as_ints(b, node.input(1))
    half = widths.shape[0] // 2
    none = Term(b, np.zeros(rank, np.int32))
    before, after = (
        _per_axis(b, widths.part(0, i * half, half).value, node.optional(3), rank, none)
        for i in range(2)
    )
    for r, (d, n) in enumerate(zip(x.shape, shape, strict=True)):
        places = np.arange(n, dtype=np.int32) - before[r].reshape(1)
        fits = (before[r] + after[r]).equals(n - d).reshape(1)
        outside = (~fits).to(np.int32) * (1 << 30)
        x = _bordered(x, r, places, outside, value, mode)
    return [x.value]


def _bordered(x: Term, r: int, places: Term, outside: Term, value: Term, mode: str) -> Term:
    d = x.shape[r]
    if mode == "reflect":
        folded = places.modulo(2 * (d - 1)) if d > 1 else places * 0
        places = (folded > d - 1).where(2 * (d - 1) - folded, folded)
    elif mode == "wrap":
        places = places.modulo(d)
    clipped = places.at_least(0).at_most(d - 1) + outside
    y = x.take(clipped, r)
    if mode != "constant":
        return y
    inside = ((places >= 0) & (places < d)).reshape(
        *(places.shape[0] if i == r else 1 for i in range(len(x.shape)))
    )
    return inside.where(y, value)


def normalized(b: Builder, node: OnnxNode) -> list[Value]:
    """BatchNormalization for inference."""
    x = Term(b, node.input(0))
    if node.attrs.get("training_mode", 0):
        raise Unsupported("it is in training mode", "export the model for inference")
    shape = (1, -1, *(1,) * (len(x.shape) - 2))
    scale, bias, mean, variance = (
        Term(b, node.input(i)).reshape(*(x.shape[1] if d == -1 else d for d in shape))
        for i in range(1, 5)
    )
    deviation = (variance + float(node.attrs.get("epsilon", 1e-5))).function("Sqrt")
    return [((x - mean) * (scale / deviation) + bias).value]


_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
_OF_NOTHING = dict.fromkeys(_REDUCTIONS, 0.0) | {
    "ReduceLogSum": -np.inf, "ReduceLogSumExp": -np.inf, "ReduceMax": -np.inf,
    "ReduceMin": np.inf, "ReduceProd": 1.0, "ReduceMean": np.nan,
}  # fmt: skip
Build = Callable[[Reader, Builder, OnnxNode], list[Value]]


def _plain(build: Callable[[Builder, OnnxNode], list[Value]]) -> Build:
    return lambda reader, b, node: build(b, node)


PARAMETERS: dict[str, tuple[tuple[int, ...], Build]] = {
    **dict.fromkeys(_REDUCTIONS, ((1,), reduction)),
    **dict.fromkeys(("Squeeze", "Unsqueeze"), ((1,), _plain(squeezed))),
    "Reshape": ((1,), _plain(reshaped)),
    "Expand": ((1,), _plain(expanded)),
    "Tile": ((1,), _plain(tiled)),
    "Split": ((1,), _plain(split)),
    "Slice": ((1, 2, 3, 4), _plain(sliced)),
    "Pad": ((1, 2, 3), _plain(padded)),
    "Conv": ((1,), _plain(convolved)),
    "ConvTranspose": ((1,), _plain(transposed)),
    "Resize": ((1, 2, 3), resized),
    "Upsample": ((1, 2), resized),
    "BatchNormalization": ((1, 2, 3, 4), _plain(normalized)),
}
"""Operator -> (inputs that are parameters, what to build where one of them is computed)."""


@dataclass(frozen=True)
class AtRunTime:
    """The reader of an operator, and `build`, which serves what of its parameters is computed."""

    reader: Reader
    parameters: tuple[int, ...]
    build: Build

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        given = [node.optional(i) for i in self.parameters]
        x = node.optional(0)
        volume = node.op == "ConvTranspose" and x is not None and len(x.shape) > 4
        if volume or any(v is not None and v.const is None for v in given):
            return self.build(self.reader, b, node)
        return self.reader.from_onnx(b, node)
