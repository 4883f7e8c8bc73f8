"""Convolution of volumes: of each depth, an image whose channels are all that a window reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir import Value
from .._opdef import Builder, OnnxNode
from ._conv import Attributes


def convolved(
    b: Builder, node: OnnxNode, w: NDArray[np.float32], a: Attributes, pads: Sequence[int]
) -> Value:
    """[N, C, D, H, W] by weights [O, C / groups, KD, KH, KW]; pads (front, top, left, back, ..)."""
    x, bias = node.inputs[0], node.inputs[2] if len(node.inputs) > 2 else None
    assert x is not None
    frames = b.transpose(x, (0, 2, 3, 4, 1))
    front, top, left, back, bottom, right = pads
    if front or back:
        before, after = (0, front, 0, 0, 0), (0, back, 0, 0, 0)
        frames = b.emit("Pad", [frames], before=before, after=after, mode="constant", value=0.0)
    images, depth = _stacked(b, frames, a)
    o, c, kd, kh, kw = w.shape
    weights = b.constant(w.transpose(0, 3, 4, 2, 1).reshape(o, kh, kw, kd * c))
    fixed = None if bias is None or bias.const is None else bias
    attrs: dict[str, Any] = {"stride": a.stride[1:], "dilation": a.dilation[1:], "groups": a.groups}
    y = b.emit("Conv2d", [images, weights, fixed], pads=(top, left, bottom, right), **attrs)
    if bias is not None and fixed is None:
        y = b.emit("Add", [y, bias])
    y = b.reshape(y, (x.shape[0], depth, *y.shape[1:]))
    return b.transpose(y, (0, 4, 1, 2, 3))


def _stacked(b: Builder, frames: Value, a: Attributes) -> tuple[Value, int]:
    """Images [N * depth, H, W, KD * C] of all frames that a window reads, and the depth.

    Channels are those of one group, frame by frame, and then those of the next.
    """
    n, d, h, w, c = frames.shape
    depth = (d - a.extent[0]) // a.stride[0] + 1
    if depth < 1:
        raise ValueError(f"a kernel of {a.kernel[0]} frames does not fit {d} once")
    shape = (n * depth, h, w, a.kernel[0] * c)
    if a.kernel[0] == a.stride[0] == 1:
        return b.reshape(frames, shape), depth
    part, frame = c // a.groups, h * w * c
    dims = (n, depth, h * w, a.groups, a.kernel[0], part)
    strides = (d * frame, a.stride[0] * frame, c, part, a.dilation[0] * frame, 1)
    return b.emit("Copy", [frames], dims=dims, strides=strides, offset=0, shape=shape), depth
