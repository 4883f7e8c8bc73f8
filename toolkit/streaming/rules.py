"""How each operator streams. What is not here is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..ir import Node, Value, constant
from ..ops import is_a
from ..ops.conv.conv2d import Conv2d
from ..ops.conv.conv_transpose2d import ConvTranspose2d
from ..ops.convert import cast, fake_quantize, quantize
from ..ops.elementwise import binary, compare, lut, prelu, unary, where
from ..ops.matmul.fully_connected import FullyConnected
from ..ops.matmul.mat_mul import MatMul
from ..ops.move.concat import Concat
from ..ops.move.gather import Gather
from ..ops.move.movement import Copy, Expand, Reshape, Slice, Transpose
from ..ops.move.pad import Pad
from ..ops.norm import layer_norm, softmax
from ..ops.recurrent.layers import Recurrent
from ..ops.reduction import arg_max, reduce
from ..ops.reduction import pool as pools
from .recurrence import recurrent
from .stage import Stage
from .timing import Refusal, Streamed, resized
from .views import movement, reshape
from .windows import convolution, pad, pool, transposed

Rule = Callable[[Stage, Node, list[Streamed | None]], list[Streamed]]


def timed(xs: list[Streamed | None]) -> list[Streamed]:
    """Those with a time axis."""
    return [x for x in xs if x is not None and x.timing is not None]


def align(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed | None]:
    """All inputs, those with time equally late."""
    late = iter(stage.aligned(node, timed(xs)))
    return [x if x is None or x.timing is None else next(late) for x in xs]


def pointwise(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """Of one tensor, each element by itself; constants beside it are not of time."""
    x = xs[0]
    assert x is not None
    if is_a(node, lut.Lut) and len(node.inputs) > 2 and x.axis == len(x.value.shape) - 1:
        raise Refusal(node, "treats each frame of the sequence differently")
    (y,) = stage.again(node, [None if v is None else v.value for v in xs])
    return [Streamed(y, x.timing)]


def broadcast(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """Of several tensors, which broadcast."""
    xs, rank = align(stage, node, xs), len(node.output.shape)
    axes = {rank - len(x.value.shape) + x.axis for x in timed(xs)}
    if len(axes) > 1:
        raise Refusal(node, "combines frames with each other")
    (axis,) = axes
    inputs = [
        None if x is None else x.value if x.timing else _still(node, x.value, axis, rank)
        for x in xs
    ]
    (y,) = stage.again(node, inputs)
    return [Streamed(y, replace(timed(xs)[0].time, axis=axis))]


def _still(node: Node, v: Value, axis: int, rank: int) -> Value:
    """An operand that is the same at all times, of one frame."""
    at = axis - (rank - len(v.shape))
    if at < 0 or v.shape[at] == 1:
        return v
    if v.const is not None:
        first = np.take(v.const, [0], at)
        if np.array_equal(np.broadcast_to(first, v.shape), v.const):
            return constant(first, v.name, v.quant)
    raise Refusal(node, f"reads '{v.name}', which differs from frame to frame")


def rows(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """Of the last axis, row by row."""
    x = xs[0]
    assert x is not None
    if x.axis == len(x.value.shape) - 1:
        raise Refusal(node, "sums over time")
    (y,) = stage.again(node, [None if v is None else v.value for v in xs])
    return [Streamed(y, x.timing)]


def product(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A matrix product each moment."""
    a, b = align(stage, node, xs)
    assert a is not None and b is not None
    rank = len(a.value.shape)
    inner = rank - 1 if a.timing else -1
    if a.timing and b.timing:
        alike = a.axis == b.axis < rank - 2
    elif a.timing:
        alike = a.axis != inner and len(b.value.shape) == rank
        alike = alike and (a.axis == rank - 2 or b.value.shape[a.axis] == 1)
    else:
        alike = False
    if not alike:
        raise Refusal(node, "multiplies frames with each other")
    (y,) = stage.again(node, [a.value, b.value])
    return [Streamed(y, a.timing)]


def along(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """Of lines along other axes than time: softmax, norms, reductions, ArgMax."""
    x = xs[0]
    assert x is not None
    axes = node.attrs["axes"] if "axes" in node.attrs else (node.attrs["axis"],)
    if x.axis in axes:
        raise Refusal(node, "needs the whole sequence, and a stream has no end")
    (y,) = stage.again(node, [None if v is None else v.value for v in xs])
    gone = 0 if node.attrs.get("keepdims", True) else sum(a < x.axis for a in axes)
    return [Streamed(y, replace(x.time, axis=x.axis - gone))]


def concat(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """Tensors behind each other along another axis than time."""
    xs = align(stage, node, xs)
    axes, axis = {x.axis for x in timed(xs)}, node.attrs["axis"]
    if axis in axes:
        raise Refusal(node, "concatenates sequences along time")
    if len(axes) > 1:
        raise Refusal(node, "combines frames with each other")
    (time,) = axes
    frames = timed(xs)[0].time.frames
    inputs = [None if x is None else x.value for x in xs]
    for i, v in enumerate(inputs):
        if v is not None and xs[i] == Streamed(v):
            one = _still(node, v, time, len(v.shape))
            if one.const is None:
                raise Refusal(node, f"reads '{v.name}', which has the length of the sequence")
            whole = np.broadcast_to(one.const, resized(v.shape, time, frames))
            inputs[i] = constant(whole, v.name, v.quant)
    (y,) = stage.again(node, inputs)
    return [Streamed(y, timed(xs)[0].timing)]


def gather(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """Elements of each frame, or rows of a table for each."""
    x, index = xs[0], xs[1]
    assert x is not None and index is not None
    axis = node.attrs["axis"]
    (y,) = stage.again(node, [x.value, index.value])
    if x.timing and index.timing is None and x.axis != axis:
        extra = len(index.value.shape) - 1 if x.axis > axis else 0
        return [Streamed(y, replace(x.time, axis=x.axis + extra))]
    if x.timing is None and index.timing:
        return [Streamed(y, replace(index.time, axis=axis + index.axis))]
    raise Refusal(node, "gathers frames of the sequence")


_POINTWISE = (*unary.OPS, *lut.OPS, *cast.OPS, *quantize.OPS, *fake_quantize.OPS)
_ALONG = (*reduce.OPS, *softmax.OPS, *layer_norm.OPS, *arg_max.OPS)

RULES: dict[str, Rule] = {
    **{op.name: pointwise for op in _POINTWISE},
    **{op.name: broadcast for op in (*binary.OPS, *compare.OPS, *where.OPS, *prelu.OPS)},
    **{op.name: along for op in _ALONG},
    **{op.name: movement for op in (Transpose, Slice, Expand, Copy)},
    **{op.name: pool for op in pools.OPS},
    FullyConnected.name: rows,
    MatMul.name: product,
    Conv2d.name: convolution,
    ConvTranspose2d.name: transposed,
    Pad.name: pad,
    Reshape.name: reshape,
    Concat.name: concat,
    Gather.name: gather,
    Recurrent.name: recurrent,
}


def apply(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """What stands for the outputs of `node`. Raises Refusal or NeedsFrames."""
    given = timed(xs)
    if all(x.time.once for x in given):
        made = align(stage, node, xs)
        late = timed(made)[0].time
        outputs = stage.again(node, [None if x is None else x.value for x in made])
        return [Streamed(y, replace(late, axis=None)) for y in outputs]
    if any(x.time.once and x.time.latest for x in given):
        raise Refusal(node, "combines a result of the whole sequence with each frame")
    if any(x.time.axis is None for x in given):
        raise Refusal(node, "combines a result of the whole sequence with its frames")
    rule = RULES.get(node.op)
    if rule is None:
        raise Refusal(node, "is not supported in streams")
    return rule(stage, node, xs)
