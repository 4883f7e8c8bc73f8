"""Pictures of any size to that of an input, in integers: the meaning of runtime_c/src/picture.c."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import CalibrationError
from .specs import Fit

Pixels = NDArray[np.uint8]

_ALPHA = 3
"""The channel that is opaque around a picture."""


@dataclass(frozen=True)
class Axis:
    """Height or width: `size` elements of a picture become `scaled`; element i of the input is
    i + `offset` of these, or the fill where there is none."""

    size: int
    scaled: int
    offset: int
    length: int


def axes_of(size: tuple[int, int], out: tuple[int, int], fit: Fit) -> tuple[Axis, Axis]:
    """Of a picture of `size` and an input of `out`, both (height, width).

    The picture is fitted to a canvas, `fit.canvas` or the input's size, whose middle is cut out.
    """
    height, width = size
    canvas = fit.canvas or out
    tall = height * canvas[1] > width * canvas[0]
    scaled = canvas
    if fit.how == "crop":
        by_width = canvas[1] * height // width, canvas[1]
        scaled = by_width if tall else (canvas[0], canvas[0] * width // height)
    elif fit.how == "letterbox":
        by_height = canvas[0], max(1, (2 * canvas[0] * width + height) // (2 * height))
        by_width = max(1, (2 * canvas[1] * height + width) // (2 * width)), canvas[1]
        scaled = by_height if tall else by_width
    first, second = (
        Axis(size[i], scaled[i], _half(scaled[i] - canvas[i]) + (canvas[i] - out[i]) // 2, out[i])
        for i in (0, 1)
    )
    return first, second


def _half(n: int) -> int:
    """n / 2, towards zero."""
    return n // 2 if n >= 0 else -(-n // 2)


def fitted(pixels: Pixels, out: tuple[int, int], fit: Fit) -> Pixels:
    """uint8 [height, width, channels] of uint8 [any height, any width, channels].

    Each axis is resampled by triangles, as wide as two elements of the smaller size, and rounded to
    whole numbers: the width first. Pillow's BILINEAR, but for its rounding. Raises CalibrationError
    for a canvas below the input's size.
    """
    canvas = fit.canvas or out
    if canvas[0] < out[0] or canvas[1] < out[1]:
        raise CalibrationError(
            f"the input is {out[0]} x {out[1]}, and resize makes pictures of {canvas[0]} x "
            f"{canvas[1]}; resize to at least the input's size"
        )
    rows, columns = axes_of((pixels.shape[0], pixels.shape[1]), out, fit)
    if (rows.size, columns.size) == (rows.scaled, columns.scaled) == out:
        return pixels
    turned = np.ascontiguousarray(pixels.transpose(1, 0, 2))
    narrow = _resampled(turned, columns, fit.fill).transpose(1, 0, 2)
    return _resampled(np.ascontiguousarray(narrow), rows, fit.fill)


def _resampled(x: Pixels, axis: Axis, fill: int) -> Pixels:
    """[axis.length, ...] of [axis.size, ...]."""
    begin, end = max(0, -axis.offset), min(axis.length, axis.scaled - axis.offset)
    made = np.full((axis.length, *x.shape[1:]), fill, np.uint8)
    made[..., _ALPHA:] = 255
    middle = (2 * (np.arange(begin, end) + axis.offset) + 1) * axis.size
    step, reach = 2 * axis.scaled, 2 * max(axis.size, axis.scaled)
    first = np.maximum((middle - reach - axis.scaled) // step + 1, 0)
    at = first[:, None] + np.arange(reach // axis.scaled + 1)
    weights = np.maximum(reach - np.abs((2 * at + 1) * axis.scaled - middle[:, None]), 0)
    weights[at >= axis.size] = 0
    at = np.minimum(at, axis.size - 1)
    total = weights.sum(axis=1)
    kind = np.uint32 if 256 * int(total.max(initial=0)) < 1 << 32 else np.uint64
    flat, wide = x.reshape(axis.size, -1), total[:, None].astype(kind)
    sums = np.repeat(wide // kind(2), flat.shape[1], axis=1)
    for tap in range(at.shape[1]):
        sums += flat[at[:, tap]] * weights[:, tap, None].astype(kind)
    made[begin:end] = (sums // wide).reshape(-1, *x.shape[1:])
    return made
