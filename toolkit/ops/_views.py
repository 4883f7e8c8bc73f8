"""How operators look at a tensor: as an NHWC image, or as [outer][axis][inner]."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir import Shape, Value
from ._opdef import Builder, OnnxNode, Unsupported


def float_input(node: OnnxNode) -> Value:
    """The first input, which must be float32 and not empty."""
    x = as_float32(node)
    if x.type.size == 0:
        raise Unsupported(f"its input is empty, of shape {list(x.shape)}")
    return x


def as_float32(node: OnnxNode) -> Value:
    """The first input, which must be float32."""
    x = node.inputs[0]
    assert x is not None
    if x.dtype != np.float32:
        raise Unsupported(f"its input is {x.dtype}; it takes float32", "cast it to float32 first")
    return x


SMALL = (2, 3, 4, 5, 9)
"""uint8, int8, uint16, int16 and bool: element types of ONNX whose values float32 has."""


def small_input(node: OnnxNode) -> int | None:
    """The element type of the first input, if it is one of SMALL; else None."""
    x, element = node.inputs[0], node.element(0)
    assert x is not None
    return element if element in SMALL and x.dtype in (np.uint8, np.int32) else None


def to_nhwc(b: Builder, x: Value) -> Value:
    """NCHW `x`, or NCW as an image of one line, in NHWC."""
    if len(x.shape) == 4:
        return b.transpose(x, (0, 2, 3, 1))
    if len(x.shape) == 3:
        n, c, w = x.shape
        return b.reshape(b.transpose(x, (0, 2, 1)), (n, 1, w, c))
    spatial = len(x.shape) - 2
    raise Unsupported(f"it has {spatial} spatial axes", "1 and 2 are supported")


def from_nhwc(b: Builder, y: Value, rank: int) -> Value:
    """What `to_nhwc` did to a tensor of `rank`, undone."""
    if rank == 4:
        return b.transpose(y, (0, 3, 1, 2))
    n, _, w, c = y.shape
    return b.transpose(b.reshape(y, (n, w, c)), (0, 2, 1))


def axis_view(shape: Shape, axes: Sequence[int]) -> tuple[int, int, int]:
    """(outer, axis, inner) sizes around a run of neighbouring axes.

    Raises ValueError for axes that are not neighbours in order.
    """
    first, end = axes[0], axes[-1] + 1
    if list(axes) != list(range(first, end)) or not 0 <= first < end <= len(shape):
        raise ValueError(f"axes {list(axes)} of shape {list(shape)} are not neighbours in order")
    return prod(shape[:first]), prod(shape[first:end]), prod(shape[end:])


def view_params(shape: Shape, axes: Sequence[int]) -> dict[str, int]:
    """`axis_view` as the fields of the file's AxisView."""
    outer, axis, inner = axis_view(shape, axes)
    return {"view.outer": outer, "view.axis": axis, "view.inner": inner}
