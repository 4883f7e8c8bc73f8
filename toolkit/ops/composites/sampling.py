"""GridSample and AffineGrid: an image read at computed places, between its elements."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from ...ir import Value
from .._formula import Term
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..matmul._matmul import matmul
from ._checks import agrees, as_ints, checked
from ._composite import Composite
from ._shares import cubic_shares

_MODES = {"bilinear": "linear", "bicubic": "cubic", "linear": "linear", "cubic": "cubic"}
_MODES |= {"nearest": "nearest"}
_FAR = float(1 << 23)
"""Beyond any image: places are cut there, so that they fit int32."""


def grid_sample(b: Builder, node: OnnxNode) -> list[Value]:
    """x [N, C, *size] at grid [N, *out, len(size)], whose last axis counts from -1 to 1."""
    x, grid = float_input(node), Term(b, node.input(1))
    mode = _MODES.get(str(node.attrs.get("mode", "linear")))
    outside = str(node.attrs.get("padding_mode", "zeros"))
    if mode is None or outside not in ("zeros", "border", "reflection"):
        raise Unsupported(f"its mode is {node.attrs.get('mode')}, its padding {outside}")
    n, c, *size = x.shape
    if grid.value.dtype != np.float32 or grid.shape[0] != n or grid.shape[-1] != len(size):
        raise Unsupported(f"its grid {list(grid.shape)} does not fit {list(x.shape)}")
    if mode == "cubic" and len(size) != 2:
        raise Unsupported(f"it is cubic over {len(size)} axes", "2 are supported")
    corners = bool(node.attrs.get("align_corners", 0))
    points = prod(grid.shape[1:-1])
    axes = [
        _Axis(d, corners, outside, mode, grid.part(grid_rank(grid), len(size) - 1 - i))
        for i, d in enumerate(size)
    ]
    rows = Term(b, x).transpose(0, *range(2, len(x.shape)), 1).reshape(n * prod(size), c)
    image = np.arange(n).reshape(n, 1) * prod(size)
    total: Term | None = None
    for taps in product(*(axis.taps for axis in axes)):
        place, weight = Term(b, image.astype(np.int32)), None
        for i, (at, share) in enumerate(taps):
            place = place + at.reshape(n, points) * prod(size[i + 1 :])
            if share is not None:
                weight = share if weight is None else weight * share
        value = rows.take(place.reshape(n, points))
        if weight is not None:
            value = value * weight.reshape(n, points, 1)
        total = value if total is None else total + value
    assert total is not None
    out = grid.shape[1:-1]
    return [total.transpose(0, 2, 1).reshape(n, c, *out).value]


def affine_grid(b: Builder, node: OnnxNode) -> list[Value]:
    """theta [N, axes, axes + 1] of the points of an image [N, C, *size]: [N, *size, axes]."""
    theta, size = Term(b, float_input(node)), node.input(1)
    shape = node.shape_of(0)[1:-1] if size.const is None else tuple(int(d) for d in size.const[2:])
    n, axes, _ = theta.shape
    if len(shape) != axes:
        raise Unsupported(f"its theta {list(theta.shape)} does not fit an image of {list(shape)}")
    corners = bool(node.attrs.get("align_corners", 0))
    lines = [
        np.linspace(-1, 1, d) if corners and d > 1 else (2 * np.arange(d) + 1) / d - 1
        for d in shape
    ]
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    points = np.stack([*mesh, np.ones(shape)], -1).reshape(prod(shape), axes + 1)
    wide = Term(b, points.astype(np.float32)).reshape(1, *points.shape).expand(n, *points.shape)
    y = Term(b, matmul(b, wide.value, theta.transpose(0, 2, 1).value))
    y = y.reshape(n, *shape, axes)
    if size.const is None:
        y = checked(y, agrees(as_ints(b, size).part(0, 0), [n]))
        y = checked(y, agrees(as_ints(b, size).part(0, 2, axes), shape))
    return [y.value]


def grid_rank(grid: Term) -> int:
    return len(grid.shape) - 1


class _Axis:
    """The elements along one axis that a point lies between, and the share of each."""

    def __init__(self, size: int, corners: bool, outside: str, mode: str, grid: Term) -> None:
        self.size, self.outside = size, outside
        self.low, self.high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        at = (grid + 1.0) * ((size - 1) / 2) if corners else ((grid + 1.0) * size - 1.0) * 0.5
        at = at.at_least(-_FAR).at_most(_FAR)
        if mode == "nearest":
            at = at.function("Round")
        at = self._brought_back(at)
        floor = at.function("Floor")
        part = at - floor
        if mode == "nearest":
            self.taps = [self._tap(at, None)]
        elif mode == "linear":
            self.taps = [self._tap(floor, 1.0 - part), self._tap(floor + 1.0, part)]
        else:
            shares = cubic_shares(part, -0.75)
            self.taps = [self._tap(floor + (k - 1.0), share) for k, share in enumerate(shares)]

    def _brought_back(self, at: Term) -> Term:
        if self.outside == "border":
            beyond = (at < self.low) | (at > self.high)
            return beyond.where(at.at_least(0.0).at_most(self.size - 1.0), at)
        return self._mirrored(at) if self.outside == "reflection" else at

    def _mirrored(self, at: Term) -> Term:
        """Thrown back at either end as often as needed."""
        span = self.high - self.low
        if span <= 0:
            return at * 0.0
        far = (at - self.low).function("Abs")
        times = (far * (1 / span)).function("Floor")
        rest = far - times * span
        odd = times - (times * 0.5).function("Floor") * 2.0
        return (odd > 0.5).where(self.high - rest, rest + self.low)

    def _tap(self, at: Term, share: Term | None) -> tuple[Term, Term | None]:
        """An element's index, within the axis, and its share, 0 for what is no element."""
        if self.outside == "reflection":
            at = (self._mirrored(at) + 0.5).function("Floor")
        inside = at.at_least(0.0).at_most(self.size - 1.0)
        if self.outside == "zeros":
            there = inside.equals(at).to(np.float32)
            share = there if share is None else share * there
        return inside.to(np.int32), share


BUILT = (
    Composite("AffineGrid", "MatMul", affine_grid, "ONNX AffineGrid-20, 2 and 3 axes"),
    Composite("GridSample", "Gather", grid_sample, "ONNX GridSample-16..22, 1 to 3 axes, cubic 2"),
)
