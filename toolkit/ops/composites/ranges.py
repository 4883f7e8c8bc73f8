"""Operators that make a tensor of a shape: Range and ConstantOfShape."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir import Value
from .._formula import Term
from .._opdef import Builder, OnnxNode
from ._checks import agrees, as_ints, checked
from ._composite import Composite


def filled(b: Builder, node: OnnxNode) -> list[Value]:
    """One value; the shape, computed, is checked."""
    shape = node.shape_of(0)
    value = np.asarray(node.attrs.get("value", np.zeros(1, np.float32))).ravel()[0]
    if not prod(shape):
        return [b.constant(np.full(shape, value))]
    result = Term(b, np.full(shape, value))
    return [checked(result, agrees(as_ints(b, node.input(0)), shape)).value]


def counted(b: Builder, node: OnnxNode) -> list[Value]:
    """first + i * step, as many as the model says; that they reach the limit is checked."""
    (n,) = node.shape_of(0)
    first, limit, step = (Term(b, node.input(i)).reshape() for i in range(3))
    if n == 0:
        return [b.constant(np.zeros(0, first.value.dtype))]
    last, behind = first + step * (n - 1), first + step * n
    rising = (last < limit) & (limit <= behind)
    falling = (limit < last) & (behind <= limit)
    fits = ((step > 0) & rising) | ((step < 0) & falling)
    return [checked(first + step * np.arange(n), fits).value]


BUILT = (
    Composite("ConstantOfShape", "Where", filled, "ONNX ConstantOfShape-9..25, known shapes"),
    Composite("Range", "Add", counted, "ONNX Range-11, of a known length"),
)
