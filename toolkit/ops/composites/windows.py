"""Windows put back: Col2Im and MaxUnpool."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from ...format.schema import ScatterFn
from ...ir import Shape, Value
from .._formula import Term, stacked
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..conv.conv_transpose2d import OPS as CONVOLUTIONS
from ..move.scatter import scattered
from ._checks import agrees, as_ints, checked
from ._composite import Composite
from .convolutions import transposed

MOST_BLOCKS = 32
"""Shapes of a block, computed at run time, that are tried."""


def col2im(b: Builder, node: OnnxNode) -> list[Value]:
    """x [N, C * block, windows] added up to [N, C, *image]: a ConvTranspose whose kernels have one
    element that is not 0."""
    x, given = Term(b, float_input(node)), node.input(2)
    axes = given.type.size
    if len(x.shape) != 3:
        raise Unsupported(f"its input is {list(x.shape)}, not rows of windows")
    strides, dilations, pads = (
        [int(i) for i in node.attrs.get(name) or [otherwise] * count]
        for name, otherwise, count in (
            ("strides", 1, axes), ("dilations", 1, axes), ("pads", 0, 2 * axes),
        )
    )  # fmt: skip
    size = node.input(1)
    image = node.shape_of(0)[2:] if size.const is None else tuple(int(d) for d in size.const)
    place = _Place(image, strides, dilations, pads)
    if given.const is not None:
        blocks = [tuple(int(k) for k in given.const)]
    else:
        block = x.shape[1] // node.shape_of(0)[1]
        blocks = [k for k in _factors(block, axes) if prod(place.counts(k)) == x.shape[2]]
    if not 0 < len(blocks) <= MOST_BLOCKS:
        raise Unsupported(f"{len(blocks)} shapes of a block fit its inputs", "make it a constant")
    found = [place.put(b, x, block) for block in blocks]
    y = found[0]
    if given.const is None:
        same = [agrees(as_ints(b, given), block).to(np.float32).sum(0) for block in blocks]
        score = stacked(same, 0)
        which = Term(b, b.emit("ArgMax", [score.value], axis=0, keepdims=False,
                               select_last_index=False))  # fmt: skip
        y = stacked([each.reshape(1, *each.shape) for each in found], 0).take(which)
        y = checked(y, score.take(which).equals(float(axes)).reshape(1))
    if size.const is None:
        y = checked(y, agrees(as_ints(b, size), image))
    return [y.value]


def _factors(n: int, count: int) -> list[tuple[int, ...]]:
    """The ways to write n as a product of so many numbers."""
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    return [f for f in product(divisors, repeat=count) if prod(f) == n]


class _Place:
    """Where windows of an image are."""

    def __init__(
        self, image: Shape, strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int]
    ) -> None:
        self.image, self.strides, self.dilations, self.pads = image, strides, dilations, pads

    def counts(self, block: Sequence[int]) -> list[int]:
        """Windows along each axis."""
        return [room // s + 1 if room >= 0 else 0
                for room, s in zip(self._rooms(block), self.strides, strict=True)]  # fmt: skip

    def _rooms(self, block: Sequence[int]) -> list[int]:
        axes = len(self.image)
        return [
            d + self.pads[i] + self.pads[axes + i] - (block[i] - 1) * self.dilations[i] - 1
            for i, d in enumerate(self.image)
        ]

    def put(self, b: Builder, x: Term, block: Sequence[int]) -> Term:
        n, rows, windows = x.shape
        size, counts = prod(block), self.counts(block)
        if not size or rows % size or prod(counts) != windows:
            raise Unsupported(
                f"{windows} windows of {list(block)} in {rows} rows do not fit {list(self.image)}"
            )
        channels = rows // size
        kernels = np.tile(np.eye(size, dtype=np.float32), (channels, 1)).reshape(rows, 1, *block)
        rooms = zip(self._rooms(block), counts, self.strides, strict=True)
        over = [room - (k - 1) * s for room, k, s in rooms]
        attrs = {
            "kernel_shape": list(block), "strides": list(self.strides), "pads": list(self.pads),
            "dilations": list(self.dilations), "output_padding": over, "group": channels,
        }  # fmt: skip
        inputs: list[Value | None] = [x.reshape(n, rows, *counts).value, b.constant(kernels)]
        node = OnnxNode("ConvTranspose", "", 11, "", inputs, ["y"], attrs)
        (y,) = (
            CONVOLUTIONS[0].from_onnx(b, node) if len(block) < 3 else transposed(b, node)
        )  # fmt: skip
        return Term(b, y)


def unpooled(b: Builder, node: OnnxNode) -> list[Value]:
    """Each element of x at its index in a tensor of zeros; a larger shape has zeros behind."""
    x, at, wanted = node.input(0), node.input(1), node.optional(2)
    kernel = [int(k) for k in node.attrs["kernel_shape"]]
    axes = len(kernel)
    if len(x.shape) != axes + 2 or at.shape != x.shape:
        raise Unsupported(f"its inputs {list(x.shape)} and {list(at.shape)} do not fit {axes} axes")
    strides = node.attrs.get("strides") or [1] * axes
    pads = node.attrs.get("pads") or [0] * (2 * axes)
    inner = tuple(
        (x.shape[2 + i] - 1) * int(strides[i]) - int(pads[i]) - int(pads[axes + i]) + kernel[i]
        for i in range(axes)
    )
    shape = (*x.shape[:2], *inner)
    if min(inner) < 1:
        raise Unsupported(f"its output has the shape {list(shape)}")
    zeros = b.constant(np.zeros(shape, x.dtype))
    y = Term(b, scattered(b, zeros, at, x, 1, ScatterFn.Replace))
    if wanted is None:
        return [y.value]
    larger = node.shape_of(0) if wanted.const is None else tuple(int(d) for d in wanted.const)
    after = tuple(n - d for n, d in zip(larger, shape, strict=True))
    if min(after) < 0 or any(after[:2]):
        raise Unsupported(f"its output of {list(larger)} has no room for {list(shape)}")
    if any(after):
        none = (0,) * len(after)
        y = y.function("Pad", before=none, after=after, mode="constant", value=0.0)
    if wanted.const is None:
        y = checked(y, agrees(as_ints(b, wanted), larger))
    return [y.value]


BUILT = (
    Composite("Col2Im", "ConvTranspose2d", col2im, "ONNX Col2Im-18, an image of a known shape"),
    Composite("MaxUnpool", "Scatter", unpooled, "ONNX MaxUnpool-9..22"),
)
