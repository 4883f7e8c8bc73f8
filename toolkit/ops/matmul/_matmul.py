"""The product of two tensors as numpy.matmul has it."""

from __future__ import annotations

from math import prod

import numpy as np

from ...ir import Shape, Value
from .._opdef import Builder


def matmul(b: Builder, x: Value, w: Value, name: str = "") -> Value:
    """x @ w; a constant matrix or vector w makes it a FullyConnected."""
    shape = _numpy_shape(x.shape, w.shape)
    if w.const is not None and len(w.shape) <= 2:
        rows = np.atleast_2d(w.const.T)
        weights = b.constant(rows, f"{name}.weights" if name else "")
        return b.reshape(b.emit("FullyConnected", [x, weights, None], name=name), shape)
    if len(x.shape) == 1:
        x = b.reshape(x, (1, *x.shape))
    if len(w.shape) == 1:
        w = b.reshape(w, (*w.shape, 1))
    x, w = _same_batch(b, x, w)
    return b.reshape(b.emit("MatMul", [x, w], name=name, transpose_b=False), shape)


def _numpy_shape(a: Shape, b: Shape) -> Shape:
    """Of the product as numpy.matmul gives it: a vector's added dimension goes away again."""
    lead = np.broadcast_shapes(a[:-2], b[:-2])
    return (*lead, *(a[-2:-1]), *(b[-1:] if len(b) > 1 else ()))


def _same_batch(b: Builder, x: Value, w: Value) -> tuple[Value, Value]:
    """x and w with leading dimensions that MatMul.infer takes."""
    lead_x, lead_w = x.shape[:-2], w.shape[:-2]
    if lead_x == lead_w or 1 in (prod(lead_x), prod(lead_w)):
        return x, w
    lead = np.broadcast_shapes(lead_x, lead_w)
    return _expand(b, x, lead), _expand(b, w, lead)


def _expand(b: Builder, x: Value, lead: Shape) -> Value:
    if x.shape[:-2] == lead:
        return x
    return b.emit("Expand", [x], shape=(*lead, *x.shape[-2:]))
