"""The geometry of convolutions: ONNX attributes, windows, and the struct ConvGeometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir import Node, Value
from ...numerics import FLOAT, HALF, INTEGERS
from .._opdef import Builder, OnnxNode, Unsupported

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]

LIMIT = 0xFFFF
"""What the file's 16-bit fields hold."""

AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True)
class Attributes:
    """Of an ONNX convolution, one entry per spatial axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    auto_pad: str
    groups: int

    @property
    def extent(self) -> tuple[int, ...]:
        """Inputs from a window's first tap to its last."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))


def attributes(node: OnnxNode, kernel: Sequence[int]) -> Attributes:
    """The attributes of ONNX Conv and ConvTranspose; refuses what has no meaning or no room."""
    rank = len(kernel)
    auto_pad = str(node.attrs.get("auto_pad", "NOTSET"))
    if auto_pad not in AUTO_PADS:
        raise Unsupported(f"auto_pad '{auto_pad}' is not one of {', '.join(AUTO_PADS)}")
    given = node.attrs.get("kernel_shape")
    if given is not None and list(given) != list(kernel):
        raise Unsupported(f"kernel_shape {list(given)} differs from its weights' {list(kernel)}")
    stride = tuple(node.attrs.get("strides") or [1] * rank)
    dilation = tuple(node.attrs.get("dilations") or [1] * rank)
    pads = list(node.attrs.get("pads") or [0] * 2 * rank)
    if auto_pad != "NOTSET":
        pads = [0] * 2 * rank
    groups = int(node.attrs.get("group", 1))
    if len(stride) != rank or len(dilation) != rank or len(pads) != 2 * rank:
        raise Unsupported(f"strides, dilations or pads are not those of {rank} spatial axes")
    if min(*stride, *dilation, groups) < 1 or min(pads) < 0:
        raise Unsupported(
            f"strides {list(stride)}, dilations {list(dilation)}, pads {pads} or group {groups}"
            " is out of range"
        )
    before, after = tuple(pads[:rank]), tuple(pads[rank:])
    return Attributes(tuple(kernel), stride, dilation, before, after, auto_pad, groups)


def spatial_rank(node: OnnxNode, most: int = 2) -> int:
    """1 to `most`, the spatial axes of the input; refuses others."""
    x = node.inputs[0]
    assert x is not None
    rank = len(x.shape) - 2
    if not 1 <= rank <= most:
        raise Unsupported(f"it convolves over {rank} axes", f"1 to {most} are supported")
    return rank


def constant_weights(node: OnnxNode) -> NDArray[np.float32]:
    """The weights as float32; refuses computed ones."""
    w = node.inputs[1]
    if w is None or w.const is None:
        raise Unsupported("its weights are computed at run time", "make them a constant")
    return w.const.astype(np.float32)


def channels_last(b: Builder, x: Value) -> Value:
    """NHWC of an ONNX [N, C, L] or [N, C, H, W]; a 1-D one has H = 1."""
    if len(x.shape) == 4:
        return b.transpose(x, (0, 2, 3, 1))
    n, c, length = x.shape
    return b.reshape(b.transpose(x, (0, 2, 1)), (n, 1, length, c))


def channels_first(b: Builder, y: Value, rank: int) -> Value:
    """The inverse of channels_last."""
    if rank == 2:
        return b.transpose(y, (0, 3, 1, 2))
    n, _, length, c = y.shape
    return b.transpose(b.reshape(y, (n, length, c)), (0, 2, 1))


def emit(
    b: Builder, op: str, node: OnnxNode, weights: NDArray[np.float32], **attrs: Any
) -> list[Value]:
    """The convolution between its two transposes. A computed bias becomes an Add."""
    x, name = node.inputs[0], node.outputs[0]
    assert x is not None
    rank = len(x.shape) - 2
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    inputs: list[Value | None] = [channels_last(b, x), b.constant(weights, f"{name}.weights")]
    if bias is not None and bias.const is not None:
        inputs.append(b.constant(bias.const.astype(np.float32), f"{name}.bias"))
        bias = None
    else:
        inputs.append(None)
    y = b.emit(op, inputs, name=name, **attrs)
    if bias is not None:
        y = b.emit("Add", [y, bias], name=name)
    return [channels_first(b, y, rank)]


def pair(values: Sequence[int], fill: int) -> Pair:
    """(h, w) of a spatial attribute; `fill` for the H of a 1-D one."""
    h, w = (fill, *values) if len(values) == 1 else values
    return h, w


def check_geometry(node: Node) -> None:
    """Raises ValueError unless input and weights match and every number fits its field."""
    x, w, groups = node.input(0), node.input(1), node.attrs["groups"]
    if len(x.shape) != 4 or len(w.shape) != 4:
        raise ValueError(f"{node.op}: input {x} and weights {w} are not both of rank 4")
    if x.dtype not in (FLOAT, HALF, *INTEGERS):
        raise ValueError(f"{node.op} of {x.dtype}; it takes float32")
    if x.shape[3] != w.shape[3] * groups or w.shape[0] % groups:
        raise ValueError(
            f"{node.op}: {x.shape[3]} input channels, weights {list(w.shape)} and {groups} groups"
            " do not match"
        )
    small = {
        "batch": x.shape[0],
        "input channels": x.shape[3],
        "output channels": w.shape[0],
        "kernel": max(w.shape[1:3]),
        "stride": max(node.attrs["stride"]),
        "dilation": max(node.attrs["dilation"]),
        "padding": max(node.attrs["pads"]),
    }
    for what, value in small.items():
        if value > LIMIT:
            raise ValueError(f"{node.op}: a {what} of {value} is more than {LIMIT}")


_TRANSPOSED = [(f"{what}_h", f"{what}_w") for what in ("in", "out", "kernel", "stride", "dilation")]


def geometry(node: Node) -> dict[str, int | float]:
    """The fields of the struct ConvGeometry.

    An image of one column, without padding, is given as one of one line: the same bytes, but the
    runtime takes a line at a time.
    """
    x, w, y = node.input(0).shape, node.input(1).shape, node.output.shape
    values = {
        "in_h": x[1],
        "in_w": x[2],
        "out_h": y[1],
        "out_w": y[2],
        "batch": x[0],
        "in_c": x[3],
        "out_c": w[0],
        "groups": node.attrs["groups"],
        "kernel_h": w[1],
        "kernel_w": w[2],
        "stride_h": node.attrs["stride"][0],
        "stride_w": node.attrs["stride"][1],
        "dilation_h": node.attrs["dilation"][0],
        "dilation_w": node.attrs["dilation"][1],
        "pad_top": node.attrs["pads"][0],
        "pad_left": node.attrs["pads"][1],
    }
    column = (x[2], w[2], y[2], node.attrs["stride"][1]) == (1, 1, 1, 1)
    if column and not any(node.attrs["pads"]):
        for a, b in _TRANSPOSED:
            values[a], values[b] = values[b], values[a]
    return {f"geometry.{k}": int(v) for k, v in values.items()}


def kernel_shape(params: Mapping[str, int | float]) -> tuple[int, int, int, int]:
    """[O, KH, KW, C / groups] of the weights, from the fields of the struct ConvGeometry."""
    o, kh, kw, c, groups = (
        int(params[f"geometry.{f}"]) for f in ("out_c", "kernel_h", "kernel_w", "in_c", "groups")
    )
    return o, kh, kw, c // groups
