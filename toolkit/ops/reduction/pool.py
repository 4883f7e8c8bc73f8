"""Pooling over windows of an NHWC image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import ACTIVATIONS, INTEGERS, integer_precisions
from .._formula import Term, column
from .._opdef import Activation, Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from .._views import float_input, from_nhwc, small_input, to_nhwc
from ..convert.cast import cast_to
from ._sums import Table, requantized_sum, sum_problem, sum_table

LARGEST_KERNEL = 65535
"""Along one axis, in the file."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Span:
    """The windows of a pool along one axis."""

    size: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    out: int = 1

    @property
    def reach(self) -> int:
        """From a window's first element to past its last."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def leaves_padding(self) -> bool:
        """Whether the last window ends outside the padded input, as ceil_mode lets it."""
        return (self.out - 1) * self.stride + self.reach > self.size + self.before + self.after

    def taps(self) -> tuple[NDArray[np.int64], Bools]:
        """Index [out, kernel] of every tap, and whether it is inside the input."""
        starts = np.arange(self.out) * self.stride - self.before
        at = starts[:, None] + np.arange(self.kernel) * self.dilation
        return at, (at >= 0) & (at < self.size)

    def counts(self) -> NDArray[np.int64]:
        """Taps inside the input of each window."""
        counts: NDArray[np.int64] = np.count_nonzero(self.taps()[1], axis=1)
        return counts


def spans(node: Node) -> tuple[Span, Span]:
    """The windows of a pool node, along H and along W."""
    x, a = node.input(0).shape, node.attrs
    top, left, bottom, right = a["pads"]
    pads = ((top, bottom), (left, right))
    h, w = (
        Span(x[1 + i], a["kernel"][i], a["stride"][i], a["dilation"][i], *pads[i], a["out_hw"][i])
        for i in range(2)
    )
    return h, w


def read_span(node: OnnxNode, i: int, axes: int, size: int) -> Span:
    """The windows along spatial axis `i` of `axes` that ONNX means."""

    def attr(name: str, otherwise: int) -> int:
        return int(node.attrs[name][i]) if node.attrs.get(name) else otherwise

    kernel, stride, dilation = attr("kernel_shape", 1), attr("strides", 1), attr("dilations", 1)
    pads = node.attrs.get("pads") or [0] * (2 * axes)
    before, after = int(pads[i]), int(pads[axes + i])
    reach = (kernel - 1) * dilation + 1
    auto = node.attrs.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        out = -(-size // stride)
        total = max((out - 1) * stride + reach - size, 0)
        before = total // 2 if auto == "SAME_UPPER" else total - total // 2
        return Span(size, kernel, stride, dilation, before, total - before, out)
    if auto == "VALID":
        before = after = 0
    if min(before, after) < 0:
        raise Unsupported(f"its pads {list(pads)} are negative", "slice the input instead")
    room = size + before + after - reach
    if room < 0:
        raise Unsupported(f"its window of {reach} is larger than the padded input")
    out = room // stride + 1
    # A window more to cover the rest, unless it would start in the padding behind the input.
    if node.attrs.get("ceil_mode", 0) and room % stride and out * stride < size + before:
        out += 1
    return Span(size, kernel, stride, dilation, before, after, out)


def pool_attrs(h: Span, w: Span) -> dict[str, Any]:
    """The attributes of a pool node with these windows."""
    return {
        "kernel": (h.kernel, w.kernel),
        "stride": (h.stride, w.stride),
        "dilation": (h.dilation, w.dilation),
        "pads": (h.before, w.before, h.after, w.after),
        "out_hw": (h.out, w.out),
    }


def global_pool(b: Builder, op: str, x: Value) -> Value:
    """NHWC `x` pooled over the whole of H and W by `op`, MaxPool2d or AvgPool2d: [N, 1, 1, C]."""
    height, width = x.shape[1:3]
    if max(height, width) > LARGEST_KERNEL:
        reduction = "ReduceMax" if op == "MaxPool2d" else "ReduceMean"
        return b.emit(reduction, [x], axes=(1, 2), keepdims=True)
    attrs = pool_attrs(Span(height, height), Span(width, width))
    if op == "AvgPool2d":
        attrs["count_include_pad"] = False
    return b.emit(op, [x], **attrs)


def takes_all(node: Node) -> bool:
    """Whether the pool's one window is the whole of H and W, as of `global_pool`."""
    return all(replace(s, stride=1) == Span(s.size, s.size) for s in spans(node))


def _still(size: int) -> Span:
    """What pools nothing along an axis."""
    return Span(size, 1, out=size)


def _reduce_windows(x: Array, axis: int, span: Span, fill: int, fn: Callable[..., Any]) -> Array:
    at, inside = span.taps()
    windows = np.take(x, np.clip(at, 0, span.size - 1), axis)
    mask = inside.reshape(inside.shape + (1,) * (windows.ndim - axis - 2))
    result: Array = fn(np.where(mask, windows, fill), axis=axis + 1)
    return result


class _Pool2d(OpDef):
    """attrs: kernel, stride, dilation, out_hw: (h, w); pads: (top, left, bottom, right)."""

    channelwise = frozenset({"scale", "shift", "order"})

    precisions = integer_precisions(*INTEGERS)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = float_input(node)
        rank = len(x.shape)
        if node.op.startswith("Global"):
            return [self._global(b, x)]
        if rank == 5:
            return [self._of_volume(b, node, x)]
        image = to_nhwc(b, x)
        w = read_span(node, rank - 3, rank - 2, image.shape[2])
        h = read_span(node, 0, 2, image.shape[1]) if rank == 4 else Span(1, 1)
        return [from_nhwc(b, self._pool(b, node, image, h, w), rank)]

    def _of_volume(self, b: Builder, node: OnnxNode, x: Value) -> Value:
        """Of [N, C, D, H, W]: the images of all depths, then along the depths."""
        n, c, *sizes = x.shape
        d, h, w = (read_span(node, i, 3, size) for i, size in enumerate(sizes))
        if (h, w) != (_still(h.size), _still(w.size)):
            images = to_nhwc(b, b.reshape(x, (n, c * d.size, h.size, w.size)))
            x = from_nhwc(b, self._pool(b, node, images, h, w), 4)
        if d != _still(d.size):
            lines = h.out * w.out
            depths = to_nhwc(b, b.reshape(x, (n, c, d.size, lines)))
            x = from_nhwc(b, self._pool(b, node, depths, d, _still(lines)), 4)
        return b.reshape(x, (n, c, d.out, h.out, w.out))

    def _pool(self, b: Builder, node: OnnxNode, x: Value, h: Span, w: Span) -> Value:
        return b.emit(self.name, [x], **pool_attrs(h, w))

    def _global(self, b: Builder, x: Value) -> Value:
        rank = len(x.shape)
        if rank in (3, 4):
            return from_nhwc(b, global_pool(b, self.name, to_nhwc(b, x)), rank)
        reduction = "ReduceMax" if self.name == "MaxPool2d" else "ReduceMean"
        return b.emit(reduction, [x], axes=tuple(range(2, rank)), keepdims=True)

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        if len(x.shape) != 4 or x.dtype not in ACTIVATIONS:
            raise ValueError(f"{self.name} of {x.dtype}{list(x.shape)}; it takes NHWC float32")
        for s in spans(node):
            if min(s.kernel, s.stride, s.dilation, s.out) < 1 or min(s.before, s.after) < 0:
                raise ValueError(f"{self.name} with windows {s}")
        return [TensorType(x.dtype, (x.shape[0], *node.attrs["out_hw"], x.shape[3]))]

    def _geometry(self, node: Node) -> dict[str, int]:
        x, (h, w) = node.input(0).shape, spans(node)
        fields = {
            "in_h": h.size, "in_w": w.size, "out_h": h.out, "out_w": w.out,
            "batch": x[0], "in_c": x[3], "out_c": x[3], "groups": 1,
            "kernel_h": h.kernel, "kernel_w": w.kernel, "stride_h": h.stride,
            "stride_w": w.stride, "dilation_h": h.dilation, "dilation_w": w.dilation,
            "pad_top": h.before, "pad_left": w.before,
        }  # fmt: skip
        return {f"geometry.{k}": v for k, v in fields.items()}


class MaxPool2d(_Pool2d):
    """ONNX MaxPool-1..22, GlobalMaxPool-1..22; 1-D as an image of one line. Indices by an ArgMax.

    uint8 and int8 go through float32. Padding never wins. A window of padding alone gives -inf, and
    on integers the least q there is.
    """

    name = "MaxPool2d"
    selects = True
    onnx = ("MaxPool", "GlobalMaxPool")
    exactness = "exact"
    shared = True

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        if (element := small_input(node)) is not None:
            found = self.from_onnx(b, replace(node, inputs=[cast_to(b, node.input(0), 1)]))
            return [cast_to(b, found[0], element), *found[1:]]
        y = super().from_onnx(b, node)
        if len(node.outputs) > 1 and node.outputs[1]:
            y.append(_places_of_maxima(b, node))
        return y

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        h, w = spans(node)
        dtype = node.output.dtype
        least = -128 if dtype == np.int8 else -32767
        rows = _reduce_windows(inputs[0], 1, h, least, np.max)
        result = _reduce_windows(rows, 2, w, least, np.max)
        return [np.maximum(result, least).astype(dtype)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        return Lowered(OpKind.MaxPool2d, self._geometry(node), [x])


def _places_of_maxima(b: Builder, node: OnnxNode) -> Value:
    """The index of each window's first maximum in the whole tensor: all that the windows hold, side
    by side; what would be padding shows an element of the same window."""
    x = float_input(node)
    n, c, *sizes = x.shape
    axes = len(sizes)
    windows = Term(b, x)
    strides = [prod(sizes[i + 1 :]) for i in range(axes)]
    if node.attrs.get("storage_order", 0):
        strides = [prod(sizes[:i]) for i in range(axes)]
    place = np.zeros((1,) * (2 * axes), np.int64)
    spans_of = [read_span(node, i, axes, size) for i, size in enumerate(sizes)]
    for i, span in enumerate(spans_of):
        at, inside = span.taps()
        if not inside.any(axis=1).all():
            raise Unsupported("a window of padding alone has no maximum", "make the pads smaller")
        first = np.argmax(inside, axis=1)[:, None]
        at = np.where(inside, at, np.take_along_axis(at, first, 1))
        windows = windows.take(at.ravel(), 2 + i)
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = at.shape
        place = place + at.reshape(shape) * strides[i]
    outs, kernel = [s.out for s in spans_of], [s.kernel for s in spans_of]
    windows = windows.reshape(n * c, *(d for pair in zip(outs, kernel, strict=True) for d in pair))
    order = (0, *range(1, 2 * axes, 2), *range(2, 2 * axes + 1, 2))
    lines = windows.transpose(*order).reshape(n * c, prod(outs), prod(kernel))
    which = lines.function("ArgMax", axis=2, keepdims=False, select_last_index=False)
    which = which + column(prod(outs), 1, 2, prod(kernel))
    found = Term(b, place.ravel()).take(which) + column(n * c, 0, 2, prod(sizes))
    return found.reshape(n, c, *outs).value


class AvgPool2d(_Pool2d):
    """ONNX AveragePool-1..22, GlobalAveragePool-1..22; 1-D as an image of one line. LRN-1..13.

    attrs, besides those of all pools: count_include_pad, whether the divisor is the whole window
    or only its elements inside the input. A window of padding alone gives 0.
    """

    name = "AvgPool2d"
    onnx = ("AveragePool", "GlobalAveragePool", "LRN")

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        return [_lrn(b, node)] if node.op == "LRN" else super().from_onnx(b, node)

    def _pool(self, b: Builder, node: OnnxNode, x: Value, h: Span, w: Span) -> Value:
        counted = bool(node.attrs.get("count_include_pad", 0))
        if counted and (h.leaves_padding or w.leaves_padding):
            # What lies behind the padding never counts: so the padding becomes part of the input.
            before, after = (0, h.before, w.before, 0), (0, h.after, w.after, 0)
            x = b.emit("Pad", [x], before=before, after=after, mode="constant", value=0.0)
            height, width = x.shape[1:3]
            h = Span(height, h.kernel, h.stride, h.dilation, 0, 0, h.out)
            w = Span(width, w.kernel, w.stride, w.dilation, 0, 0, w.out)
            counted = False
        return b.emit("AvgPool2d", [x], **pool_attrs(h, w), count_include_pad=counted)

    def _divisors(self, node: Node) -> NDArray[np.int64]:
        """What each window [out_h, out_w] is divided by; 1 if nothing is in it."""
        h, w = spans(node)
        if node.attrs["count_include_pad"]:
            return np.full((h.out, w.out), h.kernel * w.kernel)
        return np.maximum(np.outer(h.counts(), w.counts()), 1)

    def _table(self, node: Node) -> Table:
        """Multiplier and shift by number of elements - 1, or the one entry that serves all."""
        h, w = spans(node)
        divisors = np.unique(self._divisors(node))
        if len(divisors) > 1:
            divisors = np.arange(1, min(h.kernel, h.size) * min(w.kernel, w.size) + 1)
        x, y = node.input(0).quant, node.output.quant
        assert x is not None and y is not None
        return sum_table(x, y, divisors)

    def accumulator_problem(self, node: Node) -> str | None:
        """Why the sums of this integer node do not fit; None if they do."""
        x = node.input(0).quant
        assert x is not None
        try:
            _, shift = self._table(node)
        except ValueError as why:
            return str(why)
        h, w = spans(node)
        most = min(h.kernel, h.size) * min(w.kernel, w.size)
        counts = np.arange(1, most + 1) if len(shift) > 1 else np.array([most])
        return sum_problem(counts, x, shift)

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        q, x, y = inputs[0], node.input(0).quant, node.output.quant
        assert q is not None and x is not None and y is not None
        h, w = spans(node)
        rows = _reduce_windows(q.astype(np.int64) - x.zero_point, 1, h, 0, np.sum)
        acc = _reduce_windows(rows, 2, w, 0, np.sum)
        m, shift = self._table(node)
        entry = self._divisors(node)[..., None] - 1 if len(m) > 1 else 0
        return [requantized_sum(acc, m[entry], shift[entry], y)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, y = node.input(0), node.output
        geometry = self._geometry(node)
        if x.quant is None or y.quant is None:
            padding = {"counts": int(node.attrs["count_include_pad"])}
            return Lowered(OpKind.AvgPool2d, geometry | padding | Activation().limits(None), [x])
        m, shift = self._table(node)
        params = geometry | {
            "table": blob.add(m, shift),
            "counts": len(m),
            "input_zero": x.quant.zero_point,
            "output_zero": y.quant.zero_point,
        }
        return Lowered(OpKind.AvgPool2d, params | Activation().limits(y.quant), [x])


def _lrn(b: Builder, node: OnnxNode) -> Value:
    """x times (bias + alpha * mean of the squares of neighbouring channels) ^ -beta."""
    x, size = float_input(node), int(node.attrs["size"])
    rank = len(x.shape)
    x = b.transpose(x, (0, *range(2, rank), 1))  # channels last
    n, *spatial, c = x.shape
    before = (size - 1) // 2
    lines = Span(c, size, 1, 1, before, size - 1 - before, c)
    squares = b.reshape(b.emit("Mul", [x, x]), (n, prod(spatial), c, 1))
    attrs = pool_attrs(Span(prod(spatial), 1, out=prod(spatial)), lines)
    mean = b.emit("AvgPool2d", [squares], **attrs, count_include_pad=True)
    y = b.reshape(mean, x.shape)
    steps = (("Mul", "alpha", 1e-4, 1), ("Add", "bias", 1.0, 1), ("Pow", "beta", 0.75, -1))
    for op, attr, otherwise, sign in steps:
        number = sign * float(node.attrs.get(attr, otherwise))
        y = b.emit(op, [y, b.constant(np.array(number, np.float32))])
    return b.transpose(b.emit("Mul", [x, y]), (0, rank - 1, *range(1, rank - 1)))


OPS: tuple[OpDef, ...] = (MaxPool2d(), AvgPool2d())
