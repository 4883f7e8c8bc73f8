"""Compress and Unique: as many elements as their values say, up to a maximum."""

from __future__ import annotations

import numpy as np

from ...format.schema import ScatterFn
from ...ir import Value
from .._formula import Term, stacked
from .._opdef import Builder, OnnxNode, Unsupported
from ..move.movement import axis_of
from ..move.scatter import scattered
from ..selection.non_zero import where_true
from ._composite import Composite
from .sums import running_sum

MOST_COLUMNS = 256
"""Elements of a slice that Unique compares, one after the other."""
_BEHIND_ALL = np.iinfo(np.int32).max


def compressed(b: Builder, node: OnnxNode) -> list[Value]:
    """Slices of x along an axis, or its elements, where a condition holds."""
    x, condition = node.input(0), node.input(1)
    axis, given = 0, node.attrs.get("axis")
    if given is None:
        x = b.reshape(x, (x.type.size,))
    else:
        axis = axis_of(int(given), len(x.shape))
    if condition.shape[0] > x.shape[axis]:
        raise Unsupported(f"its condition has {condition.shape[0]} elements for {x.shape[axis]}")
    if condition.const is not None:
        return [Term(b, x).take(np.flatnonzero(condition.const), axis).value]
    declared = node.declared(0)
    most = declared[axis] if declared is not None else condition.shape[0]
    if most == 0:
        return [b.constant(np.zeros([most if i == axis else d for i, d in enumerate(x.shape)],
                                    x.dtype))]  # fmt: skip
    places, count = where_true(b, condition, most)
    return [b.bounded(Term(b, x).take(places, axis).value, count, axis)]


def unique(b: Builder, node: OnnxNode) -> list[Value]:
    """The elements, or the slices along an axis, each once; where each was first, which of them
    every one is, and how often it is there."""
    x, given = Term(b, node.input(0)), node.attrs.get("axis")
    axis = 0 if given is None else axis_of(int(given), len(x.shape))
    if given is None:
        x = x.reshape(int(np.prod(x.shape)))
    front = (axis, *(i for i in range(len(x.shape)) if i != axis))
    n = x.shape[axis]
    columns = int(np.prod(x.shape)) // n
    rows = x.transpose(*front).reshape(n, columns)
    key = rows.reshape(n) if columns == 1 else _rank(rows)
    declared = node.declared(0)
    most = declared[axis] if declared is not None else n
    ordered, order = b.emit_all("TopK", [key.value], axis=0, k=n, smallest=True)
    values, places_of = Term(b, ordered), Term(b, order)
    first = Term(b, np.ones(1, np.uint8))
    if n > 1:
        first = stacked([first, ~values.part(0, 1, n - 1).equals(values.part(0, 0, n - 1))], 0)
    at, count = where_true(b, first.value, most)
    which = running_sum(first.to(np.int32), 0) - 1
    indices, inverse = places_of.take(at), _placed(b, places_of, which, n)
    counts = Term(b, scattered(
        b, b.constant(np.zeros(most, np.int32)), which.value, b.constant(np.ones(n, np.int32)), 1,
        ScatterFn.Add,
    ))  # fmt: skip
    if not node.attrs.get("sorted", 1):
        used = Term(b, np.arange(most, dtype=np.int32)) < Term(b, count)
        key = used.where(indices, np.int32(_BEHIND_ALL))
        by_first = Term(b, b.emit_all("TopK", [key.value], axis=0, k=most, smallest=True)[1])
        moved = _placed(b, by_first, Term(b, np.arange(most, dtype=np.int32)), most)
        inverse, indices = moved.take(inverse), indices.take(by_first)
        counts = counts.take(by_first)
    found = [b.bounded(x.take(indices, axis).value, count, axis)]
    found += [b.bounded(indices.value, count, 0), inverse.value, b.bounded(counts.value, count, 0)]
    return found[: len(node.outputs)]


def _placed(b: Builder, at: Term, values: Term, n: int) -> Term:
    """int32[n] that has the values at the places."""
    zeros = b.constant(np.zeros(n, np.int32))
    return Term(b, scattered(b, zeros, at.value, values.value, 1, ScatterFn.Replace))


def _rank(rows: Term) -> Term:
    """How many of the rows come before each in the order of their elements, first to last."""
    n, columns = rows.shape
    if columns > MOST_COLUMNS:
        raise Unsupported(f"its slices have {columns} elements", f"{MOST_COLUMNS} are supported")
    before: Term | None = None
    flat = rows.reshape(n * columns)
    for k in reversed(range(columns)):
        at = np.arange(n, dtype=np.int32) * columns + k
        mine, other = flat.take(at.reshape(1, n)), flat.take(at.reshape(n, 1))
        less = other < mine
        before = less if before is None else mine.equals(other).where(before, less)
    assert before is not None
    return before.to(np.float32).sum(0).reshape(n).to(np.int32)


BUILT = (
    Composite("Compress", "NonZero", compressed, "ONNX Compress-9..11"),
    Composite("Unique", "TopK", unique, "ONNX Unique-11, elements, or slices of up to 256"),
)
