"""Operators that choose elements by their place or value: Trilu, OneHot, Hardmax, Shrink, ..."""

from __future__ import annotations

import numpy as np

from ...ir import Value
from ...numerics import numpy_dtype
from .._formula import Term, column
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..move.movement import axis_of
from ._checks import agrees, as_ints, checked
from ._composite import Composite


def trilu(b: Builder, node: OnnxNode) -> list[Value]:
    """What is on one side of a diagonal of the last two axes, else 0."""
    x = node.input(0)
    if not x.type.size:
        return [x]
    rows, columns = x.shape[-2:]
    offset = column(columns, 1, 2) - column(rows, 0, 2)
    given = node.inputs[1] if len(node.inputs) > 1 else None
    k = Term(b, np.zeros((), np.int32) if given is None else b.reshape(given, ()))
    ahead = Term(b, offset.astype(np.int32))
    kept = ahead >= k if node.attrs.get("upper", 1) else ahead <= k
    return [kept.where(Term(b, x), np.zeros((), x.dtype)).value]


def one_hot(b: Builder, node: OnnxNode) -> list[Value]:
    """`on` where the new axis counts to the index, else `off`; an index outside gives no `on`."""
    indices, depth, values = (node.input(i) for i in range(3))
    rank = len(indices.shape) + 1
    axis = axis_of(int(node.attrs.get("axis", -1)), rank)
    n = int(np.ravel(depth.const)[0]) if depth.const is not None else node.shape_of(0)[axis]
    at = Term(b, indices).to(np.int32)
    at = at.reshape(*indices.shape[:axis], 1, *indices.shape[axis:])
    if depth.const is None:
        at = checked(at, agrees(Term(b, depth).to(np.int32).reshape(1), [n]))
    hot = at.equals(column(n, axis, rank)) | at.equals(column(n, axis, rank) - n)
    given = Term(b, values)
    return [hot.where(given.part(0, 1).reshape(), given.part(0, 0).reshape()).value]


def hardmax(b: Builder, node: OnnxNode) -> list[Value]:
    """1 at the first largest element along an axis, else 0."""
    x = float_input(node)
    axis = axis_of(int(node.attrs.get("axis", -1)), len(x.shape))
    best = Term(b, x).function("ArgMax", axis=axis, keepdims=True, select_last_index=False)
    return [best.equals(column(x.shape[axis], axis, len(x.shape))).to(np.float32).value]


def eye_like(b: Builder, node: OnnxNode) -> list[Value]:
    """Ones on the k-th diagonal of a matrix."""
    x = node.input(0)
    dtype = numpy_dtype(int(node.attrs["dtype"])) if "dtype" in node.attrs else x.dtype
    return [b.constant(np.eye(x.shape[0], x.shape[1], int(node.attrs.get("k", 0)), dtype=dtype))]


def is_inf(b: Builder, node: OnnxNode) -> list[Value]:
    x = Term(b, float_input(node))
    found = [
        x.equals(np.array(sign * np.inf, np.float32))
        for sign, name in ((1, "detect_positive"), (-1, "detect_negative"))
        if node.attrs.get(name, 1)
    ]
    if not found:
        return [(x < x).value]
    return [(found[0] | found[1] if len(found) > 1 else found[0]).value]


def shrink(b: Builder, node: OnnxNode) -> list[Value]:
    """x moved by `bias` towards 0 beyond `lambd` on either side, else 0."""
    x = Term(b, float_input(node))
    limit, bias = (float(node.attrs.get(k, d)) for k, d in (("lambd", 0.5), ("bias", 0.0)))
    inner = (x > limit).where(x - bias, np.zeros((), np.float32))
    return [(x < -limit).where(x + bias, inner).value]


def determinant(b: Builder, node: OnnxNode) -> list[Value]:
    """By the minors of the first row."""
    x = Term(b, float_input(node))
    n = x.shape[-1]
    if n > 5:
        raise Unsupported(f"it is the determinant of {n}x{n} matrices", "up to 5x5 are supported")
    rank = len(x.shape)

    def minor(rows: range, columns: tuple[int, ...]) -> Term:
        row = x.part(rank - 2, rows[0])
        cells = [row.part(rank - 1, c) for c in columns]
        if len(columns) == 1:
            return cells[0]
        total: Term | None = None
        for i, cell in enumerate(cells):
            term = cell * minor(rows[1:], columns[:i] + columns[i + 1 :])
            total = term if total is None else total - term if i % 2 else total + term
        assert total is not None
        return total

    return [minor(range(n), tuple(range(n))).reshape(*x.shape[:-2]).value]


def reverse_sequence(b: Builder, node: OnnxNode) -> list[Value]:
    """The first steps of each sequence, as many as its length says, the other way round."""
    x, lengths = node.input(0), Term(b, node.input(1)).to(np.int32)
    time, batch = int(node.attrs.get("time_axis", 0)), int(node.attrs.get("batch_axis", 1))
    if sorted((time, batch)) != [0, 1]:
        raise Unsupported(f"its axes are {time} and {batch}", "0 and 1 are supported")
    n = x.shape[time]
    step = column(n, time, 2)
    shape = [1, 1]
    shape[batch] = x.shape[batch]
    length = lengths.reshape(*shape)
    turned = (length > step).where(length - 1 - step, step)
    strides = {time: x.shape[1] if time == 0 else 1, batch: 1 if batch == 1 else x.shape[1]}
    rows = turned * strides[time] + column(x.shape[batch], batch, 2, strides[batch])
    flat = Term(b, x).reshape(x.shape[0] * x.shape[1], *x.shape[2:])
    return [flat.take(rows).value]


def centered(b: Builder, node: OnnxNode) -> list[Value]:
    """CenterCropPad: the middle of each axis, or zeros around it."""
    x, shape = Term(b, node.input(0)), node.shape_of(0)
    rank = len(shape)
    axes = [axis_of(int(a), rank) for a in node.attrs.get("axes", range(rank))]
    fits = agrees(as_ints(b, node.input(1)), [shape[a] for a in axes])
    for axis, (d, n) in enumerate(zip(x.shape, shape, strict=True)):
        if n < d:
            x = x.part(axis, (d - n) // 2, n)
    widths = [n - d for d, n in zip(x.shape, shape, strict=True)]
    if any(widths):
        before = tuple(w // 2 for w in widths)
        after = tuple(w - w // 2 for w in widths)
        x = x.function("Pad", before=before, after=after, mode="constant", value=0.0)
    return [(x if fits.const is not None else checked(x, fits)).value]


BUILT = (
    Composite("CenterCropPad", "Pad", centered, "ONNX CenterCropPad-18"),
    Composite("Trilu", "Where", trilu, "ONNX Trilu-14"),
    Composite("OneHot", "Where", one_hot, "ONNX OneHot-9..11"),
    Composite("Hardmax", "ArgMax", hardmax, "ONNX Hardmax-1..13"),
    Composite("EyeLike", "Where", eye_like, "ONNX EyeLike-9..22"),
    Composite("IsInf", "Equal", is_inf, "ONNX IsInf-10..20, float32"),
    Composite("Shrink", "Where", shrink, "ONNX Shrink-9"),
    Composite("Det", "Mul", determinant, "ONNX Det-11..22, up to 5x5"),
    Composite("ReverseSequence", "Gather", reverse_sequence, "ONNX ReverseSequence-10"),
)
