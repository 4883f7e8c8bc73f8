"""Conv2d: convolution over NHWC; depthwise, grouped, and 1-D with H = 1."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, TensorType, Value
from ...numerics import INTEGERS, WEIGHT_TYPES, integer_precisions
from .._opdef import Blob, Builder, Lowered, OnnxNode
from .._weighted import (
    Ints,
    Params,
    WeightedOp,
    add_weights,
    check_bias,
    exact_product,
    file_weights,
    weights_of,
)
from ._conv import (
    Attributes,
    Pads,
    attributes,
    check_geometry,
    constant_weights,
    emit,
    geometry,
    kernel_shape,
    pair,
    spatial_rank,
)
from ._volume import convolved


class Conv2d(WeightedOp):
    """ONNX Conv-1..22 with constant weights, over 1 to 3 axes.

    x [N, H, W, C], w [O, KH, KW, C / groups], bias [O] or absent; float32, int8 or int16.
    attrs: stride, dilation (h, w); pads (top, left, bottom, right); groups; act_min, act_max.
    """

    name = "Conv2d"
    onnx = ("Conv",)
    precisions = integer_precisions(*INTEGERS, weight_bits=tuple(WEIGHT_TYPES))

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        rank = spatial_rank(node, most=3)
        w = constant_weights(node)
        x = node.inputs[0]
        assert x is not None
        if w.ndim != len(x.shape):
            w = w.reshape(w.shape + (1,) * (len(x.shape) - w.ndim))
        a = attributes(node, w.shape[2:])
        before, after = padding(a, x.shape[2:])
        if rank == 3:
            return [convolved(b, node, w, a, (*before, *after))]
        if w.ndim == 3:
            w = w[:, :, None, :]
        return emit(
            b,
            self.name,
            node,
            w.transpose(0, 2, 3, 1),
            stride=pair(a.stride, 1),
            dilation=pair(a.dilation, 1),
            pads=(*pair(before, 0), *pair(after, 0)),
            groups=a.groups,
        )

    def infer(self, node: Node) -> list[TensorType]:
        check_geometry(node)
        x, w = node.input(0), node.input(1)
        check_bias(node, w.shape[0])
        top, left, bottom, right = node.attrs["pads"]
        (sh, sw), (dh, dw) = node.attrs["stride"], node.attrs["dilation"]
        n, h, width, _ = x.shape
        out_h = (h + top + bottom - (w.shape[1] - 1) * dh - 1) // sh + 1
        out_w = (width + left + right - (w.shape[2] - 1) * dw - 1) // sw + 1
        if out_h < 1 or out_w < 1:
            raise ValueError(f"{node.op}: a kernel {list(w.shape[1:3])} does not fit {x} once")
        return [TensorType(x.dtype, (n, out_h, out_w, w.shape[0]))]

    def sums_channels(self, node: Node) -> bool:
        return bool(node.attrs["groups"] == 1)

    def accumulate(self, node: Node, x: Array) -> Ints:
        """Padding is zero after the zero point is taken off."""
        quant = node.input(0).quant
        assert quant is not None
        patches = _patches(node, x.astype(np.int16) - quant.zero_point)
        w = weights_of(node)
        groups = node.attrs["groups"]
        if is_depthwise(node):
            taps, kernels = patches.astype(np.float64), w[..., 0].astype(np.float64)
            acc: Ints = np.einsum("nyxijc,cij->nyxc", taps, kernels).astype(np.int64)
            return acc
        where = patches.shape[:3]
        parts = [
            exact_product(p.reshape(*where, -1), f.reshape(len(f), -1))
            for p, f in zip(np.split(patches, groups, axis=-1), np.split(w, groups), strict=True)
        ]
        return np.concatenate(parts, axis=-1)

    def stored_weights(self, node: Node, params: Params, flat: NDArray[np.int8]) -> Array:
        o, kh, kw, c = kernel_shape(params)
        if is_depthwise(node):
            return flat[: kh * kw * o].reshape(kh, kw, o).transpose(2, 0, 1)[..., None]
        return flat[: o * kh * kw * c].reshape(o, kh, kw, c)

    def sizes(self, node: Node) -> tuple[OpKind, dict[str, int | float]]:
        return OpKind.Conv2d, geometry(node)

    def lower(self, node: Node, blob: Blob) -> Lowered:
        w, x, (kind, params) = file_weights(node), node.input(0), self.sizes(node)
        params |= add_weights(node, blob, w.reshape(len(w), -1), depthwise=is_depthwise(node))
        return Lowered(kind, params | self.add_tail(node, blob), [x])


def is_depthwise(node: Node) -> bool:
    """Whether a node is a convolution of each channel with a kernel of its own."""
    if node.op != Conv2d.name:
        return False
    channels = node.input(0).shape[3]
    return channels > 1 and node.attrs["groups"] == channels == node.input(1).shape[0]


def padding(a: Attributes, size: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(before, after) per axis. SAME: ceil(size / stride) outputs; UPPER has more at the end."""
    if not a.auto_pad.startswith("SAME"):
        return a.before, a.after
    total = [
        max((-(-n // s) - 1) * s + extent - n, 0)
        for n, s, extent in zip(size, a.stride, a.extent, strict=True)
    ]
    less, more = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
    return (less, more) if a.auto_pad == "SAME_UPPER" else (more, less)


def _patches(node: Node, x: NDArray[np.int16]) -> NDArray[np.int16]:
    """A view [N, OH, OW, KH, KW, C] of the windows of x padded with zeros."""
    pads: Pads = node.attrs["pads"]
    top, left, bottom, right = pads
    _, kh, kw, _ = node.input(1).shape
    (sh, sw), (dh, dw) = node.attrs["stride"], node.attrs["dilation"]
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    extent = ((kh - 1) * dh + 1, (kw - 1) * dw + 1)
    windows = sliding_window_view(padded, extent, axis=(1, 2))
    view: NDArray[np.int16] = windows[:, ::sh, ::sw, :, ::dh, ::dw].transpose(0, 1, 2, 4, 5, 3)
    return view


OPS = (Conv2d(),)
