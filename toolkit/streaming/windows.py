"""Windows along time: convolutions and pools."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy as np

from ..ir import Array, Node, Value
from ..ops import is_a
from ..ops.reduction.pool import AvgPool2d, MaxPool2d
from .stage import Stage
from .timing import NeedsFrames, Refusal, Streamed, Timing

H, W = 1, 2
"""Axes of an NHWC tensor that windows move along."""


def window(
    stage: Stage,
    node: Node,
    x: Streamed,
    extent: int,
    stride: int,
    before: int,
    whole: int,
    fill: Array | None = None,
) -> tuple[Value, Timing]:
    """What windows of `extent` + 1 frames read at a step, and the timing of what they give.

    Window j of `whole` reads frames from j * stride - before on; of those before the sequence it
    reads `fill`.
    """
    t = x.time
    if t.frames % stride:
        raise NeedsFrames(node, stride // gcd(t.frames, stride))
    if before > 0:
        x = stage.since_start(x, fill)
    delay = max(0, -(-(t.delay + extent - before + 1 - stride) // stride))
    past = delay * stride + before - t.delay
    v = stage.past(x, past, fill) if past > 0 else x.value
    start, frames = max(0, -past), t.frames // stride
    length = (frames - 1) * stride + extent + 1
    if start or v.shape[x.axis] - length >= stride:
        v = stage.cut(v, x.axis, start, length)
    sure = (t.sure - 1 - extent + before) // stride + 1
    return v, Timing(t.axis, whole, frames, max(0, min(whole, sure)), delay)


def convolution(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A convolution that begins each step with the frames that its first window needs."""
    x, rest = _only(xs), [None if v is None else v.value for v in xs[1:]]
    t, a = x.time, node.attrs
    if t.axis == 0:
        return [Streamed(stage.again(node, [x.value, *rest])[0], t)]
    if t.axis not in (H, W):
        raise Refusal(node, "sums over time as its channels")
    i = t.axis - H
    extent = (node.input(1).shape[1 + i] - 1) * a["dilation"][i]
    whole = node.output.shape[x.axis]
    v, found = window(stage, node, x, extent, a["stride"][i], a["pads"][i], whole)
    (y,) = stage.again(node, [v, *rest], a | {"pads": _without(a["pads"], i)})
    return [Streamed(y, found)]


def transposed(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A transposed convolution along other axes than time."""
    x, rest = _only(xs), [None if v is None else v.value for v in xs[1:]]
    t, a = x.time, node.attrs
    if t.axis not in (0, H, W):
        raise Refusal(node, "sums over time as its channels")
    i = x.axis - H
    if t.axis == 0:
        return [Streamed(stage.again(node, [x.value, *rest])[0], t)]
    if node.input(1).shape[1 + i] != 1 or a["stride"][i] != 1 or a["pads"][i]:
        raise Refusal(node, "upsamples along time")
    shape = list(a["output_shape"])
    shape[i] = t.frames
    (y,) = stage.again(node, [x.value, *rest], a | {"output_shape": tuple(shape)})
    return [Streamed(y, t)]


def pool(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A pool, but not one over the whole of time."""
    x = _only(xs)
    t, a = x.time, node.attrs
    if t.axis not in (H, W):
        return [Streamed(stage.again(node, [x.value])[0], t)]
    i = t.axis - H
    kernel, before = a["kernel"][i], a["pads"][i]
    if kernel >= t.whole > 1:
        raise Refusal(node, "pools over the whole sequence, and a stream has no end")
    if before and is_a(node, AvgPool2d) and not a["count_include_pad"]:
        raise Refusal(node, "averages fewer frames at the start of a sequence than later")
    fill = _least(x.value) if is_a(node, MaxPool2d) else None
    extent = (kernel - 1) * a["dilation"][i]
    whole, stride = node.output.shape[x.axis], a["stride"][i]
    v, found = window(stage, node, x, extent, stride, before, whole, fill)
    out = list(a["out_hw"])
    out[i] = found.frames
    attrs = a | {"pads": _without(a["pads"], i), "out_hw": tuple(out)}
    (y,) = stage.again(node, [v], attrs)
    return [Streamed(y, found)]


def pad(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A border: in front of a sequence it is what the memory begins with, behind it nothing."""
    x, a = _only(xs), node.attrs
    axis = x.axis
    before = a["before"][axis]
    if before and a["mode"] != "constant":
        raise Refusal(
            node, f"pads the start of the sequence with its own frames (mode {a['mode']})"
        )
    here = [list(a[side]) for side in ("before", "after")]
    for side in here:
        side[axis] = 0
    value = x.value
    if any(map(any, here)):
        attrs = a | {"before": tuple(here[0]), "after": tuple(here[1])}
        value = stage.again(node, [value], attrs)[0]
    whole = node.output.shape[axis]
    x = Streamed(value, replace(x.time, whole=whole))
    if not before:
        return [x]
    fill = np.array(a["value"], np.float32)
    fill = fill.astype(value.dtype) if value.quant is None else value.quant.quantize(fill)
    v, found = window(stage, node, x, 0, 1, before, whole, fill)
    return [Streamed(stage.cut(v, axis, 0, found.frames), found)]


def _only(xs: list[Streamed | None]) -> Streamed:
    assert xs[0] is not None
    return xs[0]


def _least(v: Value) -> Array:
    """What never wins a maximum."""
    return np.array(-np.inf if v.dtype.kind == "f" else {1: -128, 2: -32767}[v.dtype.itemsize])


def _without(pads: tuple[int, ...], i: int) -> tuple[int, ...]:
    """`pads` (top, left, bottom, right) without those of axis `i`."""
    return tuple(0 if k % 2 == i else p for k, p in enumerate(pads))
