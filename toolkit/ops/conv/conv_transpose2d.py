"""ConvTranspose2d: each input spreads its kernel over the output."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from .._opdef import Blob, Builder, Lowered, OnnxNode, Unsupported
from .._weighted import (
    Ints,
    Params,
    WeightedOp,
    check_bias,
    exact_product,
    file_weights,
    weights_of,
)
from ._conv import (
    Attributes,
    attributes,
    check_geometry,
    constant_weights,
    emit,
    geometry,
    kernel_shape,
    pair,
    spatial_rank,
)

Phases = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


class ConvTranspose2d(WeightedOp):
    """ONNX ConvTranspose-1..22 with constant weights.

    x [N, H, W, C], w [O, KH, KW, C / groups], bias [O] or absent; float32, int8 or int16.
    attrs: stride, dilation (h, w); pads (top, left, bottom, right) taken off the output, of which
    bottom and right only inform; output_shape (h, w); groups; act_min, act_max.
    """

    name = "ConvTranspose2d"
    onnx = ("ConvTranspose",)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        rank = spatial_rank(node)
        w = constant_weights(node)
        if w.ndim != rank + 2:
            raise Unsupported(f"weights {list(w.shape)} are not those of {rank} spatial axes")
        x = node.inputs[0]
        assert x is not None
        a = attributes(node, w.shape[2:])
        if w.shape[0] != x.shape[1] or w.shape[0] % a.groups:
            raise Unsupported(
                f"{x.shape[1]} input channels, weights {list(w.shape)} and group {a.groups}"
                " do not match"
            )
        before, after, size = placement(node, a, x.shape[2:])
        if w.ndim == 3:
            w = w[:, :, None, :]
        c, per_group, kh, kw = w.shape
        w = w.reshape(a.groups, c // a.groups, per_group, kh, kw).transpose(0, 2, 3, 4, 1)
        return emit(
            b,
            self.name,
            node,
            w.reshape(a.groups * per_group, kh, kw, c // a.groups),
            stride=pair(a.stride, 1),
            dilation=pair(a.dilation, 1),
            pads=(*pair(before, 0), *pair(after, 0)),
            output_shape=pair(size, 1),
            groups=a.groups,
        )

    def infer(self, node: Node) -> list[TensorType]:
        check_geometry(node)
        x, w, (h, width) = node.input(0), node.input(1), node.attrs["output_shape"]
        check_bias(node, w.shape[0])
        if h < 1 or width < 1:
            raise ValueError(f"{node.op}: an output of {h} x {width} from {x}")
        return [TensorType(x.dtype, (x.shape[0], h, width, w.shape[0]))]

    def sizes(self, node: Node) -> tuple[OpKind, dict[str, int | float]]:
        return OpKind.ConvTranspose2d, geometry(node)

    def accumulate(self, node: Node, x: Array) -> Ints:
        quant = node.input(0).quant
        assert quant is not None
        w, groups = weights_of(node), node.attrs["groups"]
        (sh, sw), (dh, dw) = node.attrs["stride"], node.attrs["dilation"]
        n, h, width, _ = x.shape
        channels, kh, kw, _ = w.shape
        top, left = node.attrs["pads"][:2]
        out_h, out_w = node.attrs["output_shape"]
        # Large enough for every tap and, uncropped, for the whole output.
        full_h = max((h - 1) * sh + (kh - 1) * dh + 1, top + out_h)
        full_w = max((width - 1) * sw + (kw - 1) * dw + 1, left + out_w)
        full = np.zeros((n, full_h, full_w, channels), np.int64)
        parts = np.split(x.astype(np.int16) - quant.zero_point, groups, axis=-1)
        for ky in range(kh):
            for kx in range(kw):
                taps = np.split(w[:, ky, kx], groups)
                y0, x0 = ky * dh, kx * dw
                spread = [exact_product(p, t) for p, t in zip(parts, taps, strict=True)]
                full[:, y0 : y0 + (h - 1) * sh + 1 : sh, x0 : x0 + (width - 1) * sw + 1 : sw] += (
                    np.concatenate(spread, axis=-1)
                )
        return full[:, top : top + out_h, left : left + out_w]

    def folding_sums(self, node: Node) -> tuple[Ints, Ints]:
        """Per phase [stride_h * stride_w, O]: an output sees the taps of its phase only."""
        w = weights_of(node).astype(np.int64)
        parts = [w[:, ky][:, :, kx] for ky, kx in _phases(node)]
        return (
            np.stack([p.sum(axis=(1, 2, 3)) for p in parts]),
            np.stack([np.abs(p).sum(axis=(1, 2, 3)) for p in parts]),
        )

    def stored_weights(self, node: Node, params: Params, flat: NDArray[np.int8]) -> Array:
        return stored_taps(params, flat)

    def lower(self, node: Node, blob: Blob) -> Lowered:
        w, x = file_weights(node), node.input(0)
        ordered = np.concatenate([w[:, ky][:, :, kx].ravel() for ky, kx in _phases(node)])
        kind, params = self.sizes(node)
        params |= {"weights": blob.add(ordered)} | self.add_tail(node, blob)
        return Lowered(kind, params, [x])


def _phases(node: Node) -> Phases:
    """The kernel rows and columns that reach the outputs of each phase, as edge.fbs orders them."""
    kernel, a = node.input(1).shape[1:3], node.attrs
    return _of_phases(zip(kernel, a["stride"], a["dilation"], a["pads"][:2], strict=True))


def _of_phases(axes: Iterable[tuple[int, int, int, int]]) -> Phases:
    """By (kernel, stride, dilation, pad in front) of rows and columns."""
    rows, columns = (
        [_phase_taps(p, kernel, stride, dilation, pad) for p in range(stride)]
        for kernel, stride, dilation, pad in axes
    )
    return [(r, c) for r in rows for c in columns]


def phases_of(params: Params) -> Phases:
    """Those of an operator of a file."""
    g = {k.partition(".")[2]: int(v) for k, v in params.items() if k.startswith("geometry.")}
    return _of_phases(
        (g[f"kernel_{a}"], g[f"stride_{a}"], g[f"dilation_{a}"], g[f"pad_{side}"])
        for a, side in (("h", "top"), ("w", "left"))
    )


def stored_taps(params: Params, flat: NDArray[np.int8]) -> NDArray[np.int8]:
    """Weights [O, KH, KW, C / groups] of what a file has phase by phase."""
    o, kh, kw, c = kernel_shape(params)
    w, at = np.zeros((o, kh, kw, c), np.int8), 0  # a tap that reaches no output is not there
    for ky, kx in phases_of(params):
        size = o * len(ky) * len(kx) * c
        w[np.ix_(np.arange(o), ky, kx)] = flat[at : at + size].reshape(o, len(ky), len(kx), c)
        at += size
    return w


def _phase_taps(phase: int, kernel: int, stride: int, dilation: int, pad: int) -> NDArray[np.intp]:
    """From the last to the first, so that the inputs they read ascend."""
    taps = [k for k in range(kernel) if (phase + pad - k * dilation) % stride == 0]
    return np.array(taps[::-1], np.intp)


Sizes = tuple[int, ...]


def placement(node: OnnxNode, a: Attributes, size: Sizes) -> tuple[Sizes, Sizes, Sizes]:
    """(before, after, output size) per axis.

    SAME_UPPER and SAME_LOWER differ in which side gives the odd one. With output_shape, what the
    kernels cover beyond it is cut.
    """
    rank = len(size)
    extra = list(node.attrs.get("output_padding") or [0] * rank)
    wanted = node.attrs.get("output_shape")
    covered = [
        (n - 1) * s + e + extent
        for n, s, e, extent in zip(size, a.stride, extra, a.extent, strict=True)
    ]
    if wanted:
        shape = tuple(int(v) for v in wanted)[-rank:]
    elif a.auto_pad.startswith("SAME"):
        shape = tuple(n * s for n, s in zip(size, a.stride, strict=True))
    else:
        shape = tuple(c - p - q for c, p, q in zip(covered, a.before, a.after, strict=True))
        return a.before, a.after, shape
    cut = [max(c - n, 0) for c, n in zip(covered, shape, strict=True)]
    less, more = tuple(t // 2 for t in cut), tuple(t - t // 2 for t in cut)
    return (less, more, shape) if a.auto_pad == "SAME_UPPER" else (more, less, shape)


OPS = (ConvTranspose2d(),)
