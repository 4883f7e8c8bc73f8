"""Running sums and products, and norms over a window or an axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ir import Value
from .._formula import Term, stacked
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..conv._conv import attributes
from ..conv.conv2d import OPS as CONVOLUTIONS
from ..conv.conv2d import padding
from ..move.movement import axis_of
from ._composite import Composite


def running(b: Builder, node: OnnxNode) -> list[Value]:
    """CumSum and CumProd, in log2(n) steps; of an axis that is computed, each one is."""
    x, axis = node.input(0), node.input(1)
    if x.dtype not in (np.float32, np.int32):
        raise Unsupported(f"it computes on {x.dtype} tensors", "cast them to float32 or int32")
    term, rank = Term(b, x), len(x.shape)
    if axis.const is not None:
        return [_running(term, axis_of(int(np.ravel(axis.const)[0]), rank), node).value]
    every = [_running(term, a, node).reshape(1, *x.shape) for a in range(rank)]
    at = Term(b, np.arange(rank)).take(Term(b, axis).to(np.int32).reshape())
    return [stacked(every, 0).take(at).value]


def _running(x: Term, axis: int, node: OnnxNode) -> Term:
    n, backwards = x.shape[axis], bool(node.attrs.get("reverse", 0))
    product = node.op == "CumProd"

    def moved(term: Term, k: int) -> Term:
        kept = term.part(axis, k if backwards else 0, n - k)
        widths = tuple(k if i == axis else 0 for i in range(len(x.shape)))
        none = (0,) * len(widths)
        before, after = (none, widths) if backwards else (widths, none)
        return kept.function(
            "Pad", before=before, after=after, mode="constant", value=float(product)
        )

    if node.attrs.get("exclusive", 0):
        if n == 1:
            return Term(x.b, np.full(x.shape, float(product)).astype(x.value.dtype))
        x = moved(x, 1)
    step = 1
    while step < n:
        x = x * moved(x, step) if product else x + moved(x, step)
        step *= 2
    return x


def running_sum(x: Term, axis: int) -> Term:
    """Of float32 or int32: each element with all those before it."""
    return _running(x, axis, OnnxNode("CumSum", "", 14, "", [], [], {}))


def normalized(b: Builder, node: OnnxNode) -> list[Value]:
    """LpNormalization: x over its norm along an axis; where that is 0, 0."""
    x = Term(b, float_input(node))
    axis = axis_of(int(node.attrs.get("axis", -1)), len(x.shape))
    op = {1: "ReduceL1", 2: "ReduceL2"}.get(int(node.attrs.get("p", 2)))
    if op is None:
        raise Unsupported(f"p is {node.attrs['p']}", "1 and 2 are supported")
    norm = x.function(op, axes=(axis,), keepdims=True)
    zero = norm.equals(np.zeros((), np.float32))
    return [(x / zero.where(np.ones((), np.float32), norm)).value]


def pooled(b: Builder, node: OnnxNode) -> list[Value]:
    """LpPool: the p-th root of the sum of p-th powers, a convolution with ones."""
    x = Term(b, float_input(node))
    p = float(node.attrs.get("p", 2))
    c, rank = x.shape[1], len(x.shape) - 2
    if node.op == "GlobalLpPool":
        return [_root(_power(x, p).sum(*range(2, len(x.shape))), p).value]
    kernel = [int(k) for k in node.attrs["kernel_shape"]]
    a = attributes(node, kernel)
    before, after = padding(a, x.shape[2:])
    if node.attrs.get("ceil_mode", 0) and a.auto_pad == "NOTSET":
        over = [
            -(d + lo + hi - e) % s
            for d, lo, hi, e, s in zip(x.shape[2:], before, after, a.extent, a.stride, strict=True)
        ]
        after = tuple(hi + o for hi, o in zip(after, over, strict=True))
    ones = b.constant(np.ones((c, 1, *kernel), np.float32))
    attrs = {
        "kernel_shape": kernel, "strides": list(a.stride), "dilations": list(a.dilation),
        "pads": [*before, *after], "group": c,
    }  # fmt: skip
    if rank > 3:
        raise Unsupported(f"it pools over {rank} axes", "1 to 3 are supported")
    conv = replace(node, op="Conv", inputs=[_power(x, p).value, ones], attrs=attrs)
    (y,) = CONVOLUTIONS[0].from_onnx(b, conv)
    return [_root(Term(b, y), p).value]


def _power(x: Term, p: float) -> Term:
    size = x.function("Abs")
    if p in (1, 2):
        return size * size if p == 2 else size
    return Term(x.b, x.b.emit("Pow", [size.value, x.b.constant(np.array(p, np.float32))]))


def _root(x: Term, p: float) -> Term:
    if p in (1, 2):
        return x.function("Sqrt") if p == 2 else x
    return Term(x.b, x.b.emit("Pow", [x.value, x.b.constant(np.array(1 / p, np.float32))]))


BUILT = (
    Composite("CumSum", "Add", running, "ONNX CumSum-11..14, float32 and int32"),
    Composite("CumProd", "Mul", running, "ONNX CumProd-26, float32 and int32"),
    Composite("LpNormalization", "ReduceL2", normalized, "ONNX LpNormalization-1..22"),
    Composite("LpPool", "Conv2d", pooled, "ONNX LpPool-1..22"),
    Composite("GlobalLpPool", "ReduceSum", pooled, "ONNX GlobalLpPool-1..22"),
)
