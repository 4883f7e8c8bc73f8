"""Convolutions whose weights are computed at run time: windows side by side, times a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from ...ir import Value
from .._formula import Term, stacked
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..conv._conv import Attributes, attributes
from ..conv.conv2d import padding
from ..conv.conv_transpose2d import placement
from ..matmul._matmul import matmul


def convolved(b: Builder, node: OnnxNode) -> list[Value]:
    """Conv, over any number of axes."""
    x, w = float_input(node), Term(b, node.input(1))
    a = attributes(node, w.shape[2:])
    _check(x, a, w.shape[1] * a.groups, w.shape[0])
    before, after = padding(a, x.shape[2:])
    image = _bordered(Term(b, x), before, after)
    taps = list(product(*(range(k) for k in a.kernel)))
    windows = _windows(image, a, [[t * d for t, d in zip(tap, a.dilation, strict=True)]
                                  for tap in taps], a.stride)  # fmt: skip
    m, per_group = w.shape[0], w.shape[1]
    matrix = w.reshape(1, a.groups, m // a.groups, per_group * prod(a.kernel))
    return [_product(b, node, matrix, windows, a.groups, m)]


def transposed(b: Builder, node: OnnxNode) -> list[Value]:
    """ConvTranspose, over any number of axes: a convolution of the input with zeros in between."""
    x, w = float_input(node), Term(b, node.input(1))
    a = attributes(node, w.shape[2:])
    _check(x, a, w.shape[0], w.shape[1] * a.groups)
    before, _, size = placement(node, a, x.shape[2:])
    image = Term(b, x)
    for axis, stride in enumerate(a.stride, 2):
        image = _spread(image, axis, stride)
    front = [e - 1 - p for e, p in zip(a.extent, before, strict=True)]
    back = [
        out + e - 1 - d - f
        for out, e, d, f in zip(size, a.extent, image.shape[2:], front, strict=True)
    ]
    image = _bordered(image, front, back)
    taps = list(product(*(range(k) for k in a.kernel)))
    turned = [
        [(k - 1 - t) * d for t, k, d in zip(tap, a.kernel, a.dilation, strict=True)] for tap in taps
    ]
    windows = _windows(image, a, turned, (1,) * len(size))
    c, per_group = w.shape[0] // a.groups, w.shape[1]
    matrix = w.reshape(a.groups, c, per_group, prod(a.kernel)).transpose(0, 2, 1, 3)
    matrix = matrix.reshape(1, a.groups, per_group, c * prod(a.kernel))
    return [_product(b, node, matrix, windows, a.groups, per_group * a.groups)]


def _check(x: Value, a: Attributes, inputs: int, outputs: int) -> None:
    if x.shape[1] != inputs or inputs % a.groups or outputs % a.groups:
        raise Unsupported(
            f"{x.shape[1]} input channels, weights for {inputs} and group {a.groups} do not match"
        )


def _bordered(x: Term, before: Sequence[int], after: Sequence[int]) -> Term:
    """Zeros around the spatial axes, or less of them where a width is negative."""
    for axis, (lo, hi) in enumerate(zip(before, after, strict=True), 2):
        start, size = max(-lo, 0), x.shape[axis] - max(-lo, 0) - max(-hi, 0)
        x = x.part(axis, start, size)
    front, back = ((0, 0, *(max(w, 0) for w in side)) for side in (before, after))
    if not any(front) and not any(back):
        return x
    return x.function("Pad", before=front, after=back, mode="constant", value=0.0)


def _spread(x: Term, axis: int, stride: int) -> Term:
    """stride - 1 zeros between neighbours along an axis."""
    if stride == 1:
        return x
    d, shape = x.shape[axis], x.shape
    apart = x.reshape(*shape[: axis + 1], 1, *shape[axis + 1 :])
    after = tuple(stride - 1 if i == axis + 1 else 0 for i in range(len(shape) + 1))
    none = (0,) * len(after)
    apart = apart.function("Pad", before=none, after=after, mode="constant", value=0.0)
    wide = apart.reshape(*shape[:axis], d * stride, *shape[axis + 1 :])
    return wide.part(axis, 0, (d - 1) * stride + 1)


def _windows(
    x: Term, a: Attributes, taps: Sequence[Sequence[int]], stride: Sequence[int]
) -> tuple[Term, tuple[int, ...]]:
    """[N, groups, channels * taps, outputs], and the outputs of each axis."""
    n, c = x.shape[:2]
    sizes = tuple((d - e) // s + 1 for d, e, s in zip(x.shape[2:], a.extent, stride, strict=True))
    if min(sizes) < 1:
        raise Unsupported(f"its kernel {list(a.kernel)} is larger than its input")
    parts = []
    for tap in taps:
        seen = x.b.emit(
            "Slice", [x.value], starts=(0, 0, *tap), sizes=(n, c, *sizes), steps=(1, 1, *stride)
        )
        parts.append(Term(x.b, seen).reshape(n, a.groups, c // a.groups, 1, prod(sizes)))
    rows = stacked(parts, 3)
    return rows.reshape(n, a.groups, c // a.groups * len(taps), prod(sizes)), sizes


def _product(
    b: Builder, node: OnnxNode, matrix: Term, windows: tuple[Term, tuple[int, ...]], groups: int,
    channels: int,
) -> Value:  # fmt: skip
    rows, sizes = windows
    n = rows.shape[0]
    wide = matrix if n == 1 else matrix.expand(n, *matrix.shape[1:])
    y = Term(b, matmul(b, wide.value, rows.value)).reshape(n, channels, *sizes)
    bias = node.optional(2)
    if bias is not None:
        y = y + Term(b, bias).reshape(1, channels, *(1,) * len(sizes))
    return y.value


__all__ = ["convolved", "transposed"]
