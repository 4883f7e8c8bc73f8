"""Reductions of int32, exact modulo 2^32: elements are joined two by two, in log2(n) steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...format.schema import ReduceFn
from .._formula import Term, stacked
from .._opdef import OnnxNode

JOINED: dict[ReduceFn, Callable[[Term, Term], Term]] = {
    ReduceFn.Sum: Term.__add__,
    ReduceFn.Mean: Term.__add__,
    ReduceFn.L1: Term.__add__,
    ReduceFn.SumSquare: Term.__add__,
    ReduceFn.Prod: Term.__mul__,
    ReduceFn.Max: Term.at_least,
    ReduceFn.Min: Term.at_most,
}
"""What joins two elements."""
_SIGNED = (None, 6, 7)
"""Element types of ONNX whose order is that of int32: itself and int64."""


def is_int32(node: OnnxNode) -> bool:
    """Whether the runtime holds the first input as int32, of signed numbers."""
    x = node.inputs[0]
    return x is not None and x.dtype == np.int32 and node.element(0) in _SIGNED


def reduced(x: Term, axes: Sequence[int], fn: ReduceFn) -> Term:
    """int32 `x` with the axes reduced to one element each; means are rounded towards 0."""
    x = x * x if fn == ReduceFn.SumSquare else x.at_least(0 - x) if fn == ReduceFn.L1 else x
    count = int(np.prod([x.shape[axis] for axis in axes]))
    for axis in axes:
        while (n := x.shape[axis]) > 1:
            half = n // 2
            y = JOINED[fn](x.part(axis, 0, half), x.part(axis, half, half))
            x = stacked([y, x.part(axis, n - 1)], axis) if n % 2 else y
    return x / count if fn == ReduceFn.Mean else x
