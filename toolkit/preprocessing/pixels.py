"""Pixels as sensors give them -> red, green and blue: the meaning of the C that `build` writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

_LUMA = np.array([19595, 38470, 7471], np.uint32)
"""Weights of red, green and blue in gray, of 2^16 (ITU-R BT.601), as Pillow has them."""


@dataclass(frozen=True)
class Format:
    """`bytes` of one pixel, and what they become: uint8 [..., bytes] to uint8 [..., 3]. Where so
    many pixels `share` colours, they are neighbours in the axis before the last."""

    name: str
    bytes: int
    to_rgb: Callable[[Pixels], Pixels]
    share: int = 1


def _rgb565(pixels: Pixels) -> Pixels:
    """Little-endian words rrrrrggg gggbbbbb; the highest bits fill the lowest."""
    word = pixels[..., 0].astype(np.uint16) | pixels[..., 1].astype(np.uint16) << 8
    r, g, b = word >> 11, word >> 5 & 63, word & 31
    found = np.stack([r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2], axis=-1)
    return found.astype(np.uint8)


RED, GREEN_U, GREEN_V, BLUE = 91881, 22554, 46802, 116130
"""Of V in red, U and V in green (less), and U in blue, of 2^16 (ITU-R BT.601, all of 0 to 255 in
use, as JFIF has it)."""


def _yuv422(pixels: Pixels, luma: int) -> Pixels:
    """Bytes Y U Y V of two pixels, or U Y V Y, where `luma` is 1."""
    y = pixels[..., luma].astype(np.int32)
    colour = pixels[..., 1 - luma].astype(np.int32) - 128
    u, v = (np.repeat(colour[..., i::2], 2, axis=-1) for i in (0, 1))
    r = y + (RED * v + 0x8000 >> 16)
    g = y - (GREEN_U * u + GREEN_V * v + 0x8000 >> 16)
    b = y + (BLUE * u + 0x8000 >> 16)
    rgb: Pixels = np.clip(np.stack([r, g, b], axis=-1), 0, 255).astype(np.uint8)
    return rgb


FORMATS = {
    f.name: f
    for f in (
        Format("rgb888", 3, lambda p: p),
        Format("bgr888", 3, lambda p: p[..., ::-1]),
        Format("rgb565", 2, _rgb565),
        Format("gray8", 1, lambda p: np.repeat(p, 3, axis=-1)),
        Format("yuyv", 2, lambda p: _yuv422(p, 0), 2),
        Format("uyvy", 2, lambda p: _yuv422(p, 1), 2),
    )
}
"""By name, which is that of the C function as well."""


def to_rgb(pixels: Pixels, form: str) -> Pixels:
    """uint8 [..., bytes of a pixel] of a format as uint8 [..., 3]."""
    return FORMATS[form].to_rgb(pixels)


def to_channels(rgb: Pixels, channels: int, bgr: bool) -> Pixels:
    """uint8 [..., 3] as the channels that a model takes: 1 is gray, 4 has an opaque last one."""
    if channels == 1:
        gray = (rgb.astype(np.uint32) @ _LUMA + 0x8000) >> 16
        return gray.astype(np.uint8)[..., None]
    found = rgb[..., ::-1] if bgr else rgb
    if channels == 4:
        opaque = np.full((*found.shape[:-1], 1), 255, np.uint8)
        found = np.concatenate([found, opaque], axis=-1)
    return found
