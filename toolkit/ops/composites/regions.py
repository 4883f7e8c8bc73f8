"""Images read where another tensor says: RoiAlign and DeformConv."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from ...ir import Value
from .._formula import Term, column
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..conv._conv import attributes
from ..conv.conv2d import padding
from ..matmul._matmul import matmul
from ..reduction.pool import Span, pool_attrs
from ._composite import Composite

Taps = list[tuple[Term, Term]]
"""Index along an axis, within it, and share of each element that a point lies between."""


def roi_align(b: Builder, node: OnnxNode) -> list[Value]:
    """x [N, C, H, W] in boxes [boxes, 4] of images [boxes]: each box in bins of some samples."""
    x, boxes, images = Term(b, float_input(node)), Term(b, node.input(1)), Term(b, node.input(2))
    if len(x.shape) != 4 or boxes.shape[1:] != (4,) or images.shape != boxes.shape[:1]:
        raise Unsupported(
            f"its inputs {list(x.shape)}, {list(boxes.shape)} and {list(images.shape)} are not "
            "images, boxes of 4 numbers and the image of each box"
        )
    n, c, h, w = x.shape
    grid = int(node.attrs.get("sampling_ratio", 0))
    if grid < 1:
        raise Unsupported("its number of samples depends on the boxes", "give it a sampling_ratio")
    # Before opset 16 there are no half pixels.
    old = "output_half_pixel" if node.version < 16 else "half_pixel"
    half = str(node.attrs.get("coordinate_transformation_mode", old)) == "half_pixel"
    scale, mode = float(node.attrs.get("spatial_scale", 1.0)), str(node.attrs.get("mode", "avg"))
    if mode not in ("avg", "max"):
        raise Unsupported(f"its mode is {mode}", "use avg or max")
    count = boxes.shape[0]
    ends = boxes * scale - (0.5 if half else 0.0)
    sizes = [int(node.attrs.get(f"output_{name}", 1)) for name in ("height", "width")]
    lines = []
    for axis, (size, bins) in enumerate(zip((h, w), sizes, strict=True)):
        start, end = (ends.part(1, 1 - axis + k) for k in (0, 2))
        length = end - start if half else (end - start).at_least(1.0)
        points = bins * grid
        steps = (np.arange(points, dtype=np.float32) + 0.5) / points
        at = start + length * steps.reshape(1, points)
        there = ((at >= -1.0) & (at <= float(size))).to(np.float32)
        shape = (count, points, 1) if axis == 0 else (count, 1, points)
        lines.append([
            (i.reshape(*shape), (s * there).reshape(*shape))
            for i, s in _between(at.at_least(0.0).at_most(size - 1.0), size)
        ])  # fmt: skip
    rows = x.transpose(0, 2, 3, 1).reshape(n * h * w, c)
    first = images.to(np.int32).reshape(count, 1, 1) * (h * w)
    total: Term | None = None
    for (i, p), (k, q) in product(*lines):
        share = (p * q).reshape(count, i.shape[1], k.shape[2], 1)
        part = rows.take(first + i * w + k) * share
        if total is not None:
            part = total + part if mode == "avg" else total.at_least(part)
        total = part
    assert total is not None
    attrs = pool_attrs(*(Span(s * grid, grid, grid, out=s) for s in sizes))
    if mode == "avg":
        y = total.function("AvgPool2d", **attrs, count_include_pad=False)
    else:
        y = total.function("MaxPool2d", **attrs)
    return [y.transpose(0, 3, 1, 2).value]


def _between(at: Term, size: int) -> Taps:
    """The two elements that a point, within the axis, lies between."""
    low = at.function("Floor")
    share = at - low
    high = (low + 1.0).at_most(size - 1.0)
    return [(low.to(np.int32), 1.0 - share), (high.to(np.int32), share)]


def _around(at: Term, size: int) -> Taps:
    """The same of points anywhere: elements outside of the axis are worth nothing."""
    low = at.function("Floor")
    share = at - low
    taps = []
    for place, worth in ((low, 1.0 - share), (low + 1.0, share)):
        inside = place.at_least(0.0).at_most(size - 1.0)
        taps.append((inside.to(np.int32), worth * inside.equals(place).to(np.float32)))
    return taps


def deformed(b: Builder, node: OnnxNode) -> list[Value]:
    """DeformConv over two axes: each tap of a window at its own distance, times a mask."""
    x, w, offset = Term(b, float_input(node)), Term(b, node.input(1)), Term(b, node.input(2))
    if len(x.shape) != 4:
        raise Unsupported(f"it convolves over {len(x.shape) - 2} axes", "2 are supported")
    a = attributes(node, w.shape[2:])
    parts = int(node.attrs.get("offset_group", 1))
    n, c, *size = x.shape
    o, taps, out = w.shape[0], prod(a.kernel), offset.shape[2:]
    if c % parts or c != w.shape[1] * a.groups or offset.shape[1] != 2 * parts * taps:
        raise Unsupported(f"{c} channels, weights {list(w.shape)} and offsets do not match")
    before, _ = padding(a, x.shape[2:])
    points, part = prod(out), c // parts
    apart = offset.reshape(n, parts, taps, 2, points)
    grids = np.stack(np.meshgrid(*(np.arange(d) for d in out), indexing="ij")).reshape(2, 1, points)
    kernel = np.stack(np.meshgrid(*(np.arange(k) for k in a.kernel), indexing="ij"))
    axes = []
    for axis in range(2):
        start = grids[axis] * a.stride[axis] - before[axis]
        start = start + kernel[axis].reshape(taps, 1) * a.dilation[axis]
        at = apart.part(3, axis).reshape(n, parts, taps, points) + start.astype(np.float32)
        axes.append(_around(at, size[axis]))
    rows = x.reshape(n, parts, part, prod(size)).transpose(0, 1, 3, 2)
    rows = rows.reshape(n * parts * prod(size), part)
    first = column(n, 0, 4, parts * prod(size)) + column(parts, 1, 4, prod(size))
    total: Term | None = None
    for (i, p), (k, q) in product(*axes):
        seen = rows.take(i * size[1] + k + first) * (p * q).reshape(n, parts, taps, points, 1)
        total = seen if total is None else total + seen
    assert total is not None
    mask = node.optional(4)
    if mask is not None:
        total = total * Term(b, mask).reshape(n, parts, taps, points, 1)
    return [_convolved(node, total, w, a.groups).reshape(n, o, *out).value]


def _convolved(node: OnnxNode, seen: Term, w: Term, groups: int) -> Term:
    """What windows [N, parts, taps, points, channels of a part] come to: [N, O, points]."""
    b = seen.b
    n, _, taps, points, _ = seen.shape
    o, per_group = w.shape[:2]
    depth = per_group * taps
    columns = seen.transpose(0, 3, 1, 4, 2).reshape(n, points, groups, depth)
    matrices = w.reshape(groups, o // groups, depth)
    found = []
    for g in range(groups):
        lines = columns.part(2, g).reshape(n, points, depth)
        matrix = matrices.part(0, g).reshape(o // groups, depth).transpose(1, 0)
        found.append(matmul(b, lines.value, matrix.value))
    y = Term(b, found[0] if groups == 1 else b.emit("Concat", found, axis=2))
    bias = node.optional(3)
    if bias is not None:
        y = y + Term(b, bias).reshape(1, 1, o)
    return y.transpose(0, 2, 1)


BUILT = (
    Composite("RoiAlign", "Gather", roi_align, "ONNX RoiAlign-10..22 with a sampling_ratio"),
    Composite("DeformConv", "MatMul", deformed, "ONNX DeformConv-19..22 over two axes"),
)
