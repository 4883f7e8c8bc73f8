"""DFT and STFT: products with constant matrices."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Value
from .._formula import Term, stacked
from .._opdef import Builder, OnnxNode, Unsupported
from .._views import float_input
from ..matmul.mat_mul import OPS as PRODUCTS
from ..move.movement import axis_of
from ._checks import as_ints, checked
from ._composite import Composite

MOST = 4096
"""Points of a transform: its matrix has up to four times the square."""
_MAT_MUL = next(op for op in PRODUCTS if "MatMul" in op.onnx)


def fourier(b: Builder, node: OnnxNode) -> list[Value]:
    """x [.., n, .., 1 or 2] along an axis; of one that is computed, each that gives the shape."""
    x = Term(b, float_input(node))
    rank, length = len(x.shape), node.const(1)
    given = node.optional(2) if node.version >= 20 else None
    axes = [axis_of(int(node.attrs.get("axis", 1 if node.version < 20 else -2)), rank)]
    if given is not None and given.const is not None:
        axes = [axis_of(int(np.ravel(given.const)[0]), rank)]
    elif given is not None:
        shape = node.shape_of(0)
        axes = [a for a in range(rank - 1) if _gives(node, x, a, length, shape)]
    found = [_transformed(x, a, _along(node, x, a, length)[0]) for a in axes]
    if given is None or given.const is not None:
        return [found[0].value]
    table = np.full(2 * rank, len(axes), np.int32)
    for i, a in enumerate(axes):
        table[[a, rank + a]] = i
    which = Term(b, table).take(as_ints(b, given)).reshape()
    every = stacked([y.reshape(1, *y.shape) for y in found], 0)
    return [every.take(which).value]


def _gives(
    node: OnnxNode, x: Term, axis: int, length: Array | None, shape: tuple[int, ...]
) -> bool:
    try:
        return _along(node, x, axis, length)[1] == shape
    except Unsupported:  # there are no points along it
        return False


def _along(
    node: OnnxNode, x: Term, axis: int, length: Array | None
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """The matrix [n, parts, k, parts] of a transform along an axis, and the shape of its result."""
    inverse, onesided = bool(node.attrs.get("inverse", 0)), bool(node.attrs.get("onesided", 0))
    n, parts = x.shape[axis], x.shape[-1]
    whole = 2 * (n - 1) if inverse and onesided else n
    points = whole if length is None else int(np.ravel(length)[0])
    matrix = dft_matrix(n, parts, points, inverse, onesided)
    shape = list(x.shape)
    shape[axis], shape[-1] = matrix.shape[2:]
    return matrix, tuple(shape)


def dft_matrix(
    n: int, parts: int, points: int, inverse: bool, onesided: bool
) -> NDArray[np.float64]:
    """[n, parts, k, parts] of a transform of so many points, parts real and imaginary."""
    if not 0 < points <= MOST:
        raise Unsupported(f"it has {points} points", f"{MOST} are supported")
    half = points // 2 + 1
    used = min(n, half if inverse and onesided else points)
    out = half if onesided and not inverse else points
    turns = np.outer(np.arange(used), np.arange(out)) % points * (2 * np.pi / points)
    cosine, sine = np.cos(turns), np.sin(turns) * (1 if inverse else -1)
    if inverse:
        weight = np.ones(used)
        if onesided:
            weight[1 : (points + 1) // 2] = 2
        cosine, sine = (m * weight[:, None] / points for m in (cosine, sine))
    matrix = np.zeros((n, 2, out, 2))
    matrix[:used, 0, :, 0], matrix[:used, 0, :, 1] = cosine, sine
    matrix[:used, 1, :, 0], matrix[:used, 1, :, 1] = -sine, cosine
    return matrix[:, :parts, :, : 1 if inverse and onesided else 2]


def _transformed(x: Term, axis: int, matrix: NDArray[np.float64]) -> Term:
    rank = len(x.shape)
    front = [*(i for i in range(rank - 1) if i != axis), axis, rank - 1]
    moved = x.transpose(*front)
    lead = moved.shape[:-2]
    n, parts, out, made = matrix.shape
    y = _product(moved.reshape(prod(lead), n * parts), matrix.reshape(n * parts, out * made))
    back = [int(i) for i in np.argsort(front)]
    return y.reshape(*lead, out, made).transpose(*back)


def _product(x: Term, matrix: NDArray[np.float64]) -> Term:
    weights = x.b.constant(matrix.astype(np.float32))
    node = OnnxNode("MatMul", "", 13, "", [x.value, weights], ["y"], {})
    return Term(x.b, _MAT_MUL.from_onnx(x.b, node)[0])


def short_time(b: Builder, node: OnnxNode) -> list[Value]:
    """STFT of a signal [batch, length] or [batch, length, 1 or 2], of frames as long as the window,
    as given, or as the signal; a computed step must give the declared shape."""
    x, window = Term(b, float_input(node)), node.optional(2)
    if len(x.shape) == 2:  # not in the standard, but onnxruntime reads it and exporters write it
        x = x.reshape(*x.shape, 1)
    _, length, parts = x.shape
    given = node.const(3) if window is None and node.optional(3) is not None else None
    size = length if given is None else int(np.ravel(given)[0])
    size = size if window is None else prod(window.shape)
    onesided = bool(node.attrs.get("onesided", 1))
    step = as_ints(b, node.input(1))
    if step.const is not None:
        frames = (length - size) // int(step.const[0]) + 1
    else:
        frames = node.shape_of(0)[1]
    places = step.reshape(1, 1) * np.arange(frames, dtype=np.int32).reshape(frames, 1)
    y = x.take(places + np.arange(size, dtype=np.int32), 1)
    if step.const is None:
        last = step * frames + size
        y = checked(y, last > length)
    if window is not None:
        y = y * Term(b, window).reshape(1, 1, size, 1)
    return [_transformed(y, 2, dft_matrix(size, parts, size, False, onesided)).value]


BUILT = (
    Composite("DFT", "MatMul", fourier, "ONNX DFT-17..20, up to 4,096 points of a known length"),
    Composite("STFT", "MatMul", short_time, "ONNX STFT-17 of a window or frames of known length"),
)
