"""Resizing as products with matrices: what each source is worth is known before any image is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir import Value
from .._opdef import Builder
from ..matmul._matmul import matmul

Reals = NDArray[np.float64]
Kernel = Callable[[Reals], Reals]


def resized(b: Builder, image: Value, rows: Reals, columns: Reals) -> Value:
    """The NHWC `image`, its H and W multiplied by matrices [out, size]."""
    n, h, w, c = image.shape
    out_h, out_w = len(rows), len(columns)
    if rows.shape != (1, 1):
        lines = b.reshape(image, (n, h, w * c))
        image = matmul(b, b.constant(rows.astype(np.float32)), lines)
    if columns.shape != (1, 1):
        lines = b.reshape(image, (n * out_h, w, c))
        image = matmul(b, b.constant(columns.astype(np.float32)), lines)
    return b.reshape(image, (n, out_h, out_w, c))


def triangle(d: Reals) -> Reals:
    """The kernel of linear interpolation, of distances."""
    return np.clip(1 - d, 0, 1)


def cubic(a: float) -> Kernel:
    """Keys's kernel with coefficient `a`."""

    def weight(d: Reals) -> Reals:
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))

    return weight


RADIUS = {"linear": 1, "cubic": 2}
"""Distances from which on the kernels are 0."""


def matrix(
    x: NDArray[Any], size: int, kernel: Kernel, reach: int, scale: float, exclude_outside: bool
) -> Reals:
    """Row i: what the `size` elements of an axis are worth at coordinate x[i].

    `kernel` is of the distance times `scale`, at most 1, and 0 from `reach` on. Beyond the ends the
    outermost elements repeat, or with `exclude_outside` nothing is there and the others make up for
    it.
    """
    below = np.floor(x).astype(np.int64)
    result = np.zeros((len(x), size))
    taps = int(np.ceil(reach / scale))
    for k in range(1 - taps, taps + 1):
        at = below + k
        weight = kernel(np.abs(x - at) * scale)
        if exclude_outside:
            weight = np.where((at < 0) | (at >= size), 0, weight)
        np.add.at(result, (np.arange(len(x)), np.clip(at, 0, size - 1)), weight)
    sums_to_one = scale == 1 and not exclude_outside
    return result if sums_to_one else result / result.sum(axis=1, keepdims=True)
