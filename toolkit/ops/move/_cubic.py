"""Cubic resizing as products with matrices: four sources a row are known before any image is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir import Value
from .._opdef import Builder
from ..matmul._matmul import matmul

Reals = NDArray[np.float64]


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


def matrix(x: NDArray[Any], size: int, a: float, exclude_outside: bool) -> Reals:
    """Row i: what the `size` elements of an axis are worth at coordinate x[i].

    Keys's kernel with coefficient `a`. Beyond the ends the outermost elements repeat, or with
    `exclude_outside` nothing is there and the others make up for it.
    """
    below = np.floor(x).astype(np.int64)
    result = np.zeros((len(x), size))
    for k in range(-1, 3):
        d, at = np.abs(x - below - k), below + k
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        weight = np.where(d <= 1, near, far)
        if exclude_outside:
            weight = np.where((at < 0) | (at >= size), 0, weight)
        np.add.at(result, (np.arange(len(x)), np.clip(at, 0, size - 1)), weight)
    return result / result.sum(axis=1, keepdims=True) if exclude_outside else result
