"""Sums of products of whole numbers for the quantizer, in C (runtime_c/binding/toolkit.h). They are
exact."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime_c._ffi import ffi, lib
from ..ir import Array
from .cores import cores, on_cores
from .linear_algebra import Reals, pointer, real

Whole = NDArray[np.signedinteger[Any]]
"""int32, or int16 that is made int32 a sample at a time."""
Sums = NDArray[np.signedinteger[Any]]
"""int32 where that surely holds them, else int64."""

SMALL = 64
"""Columns that `add_small_moments` takes at most."""
_STEP = 32
_SPARE = 3
_ROWS = 128
"""Columns that rows are padded to whole numbers of, rows behind the last that are read, and rows of
which products of several digits are added at a time."""
_SHARED = 1 << 27
"""Products from which on all cores share them."""
_BITS = 12
_DIGIT = 1 << _BITS
_LARGEST = 32767
_LARGEST_SUM = (1 << 31) - 1
_LARGEST_SUMMED = _LARGEST_SUM // _STEP
"""The largest product of which `_STEP` are summed in 32 bits, several times faster than one."""


@dataclass(frozen=True)
class Windows:
    """Where an input [height, width, channels] meets a kernel: `pads` are top and left, `output` is
    [height, width]."""

    shape: tuple[int, ...]
    groups: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: tuple[int, ...]
    output: tuple[int, ...]


def columns(windows: Windows, x: Array, step: float, places: NDArray[np.int32]) -> Whole:
    """round(x / step) where outputs' `places` [samples, count] meet the weights: [samples, groups,
    count, k], 0 outside, in int16 if that holds it; x [samples, ..., height, width, channels]."""
    x, places = np.ascontiguousarray(x, np.float32), np.ascontiguousarray(places, np.int32)
    wide: Whole = np.empty(_columns_shape(windows, places), np.int32)
    size, count = x.size // len(places), places.shape[1]
    each = size < wide.size // len(places)
    known = pointer("int32_t", np.empty(size, np.int32)) if each else ffi.NULL
    given = pointer("float", x), step, pointer("int32_t", places), count, len(places)
    lib.ek_columns_f32(
        _fields(windows), *given, size // prod(windows.shape), known, pointer("int32_t", wide)
    )
    found: Whole = np.empty(wide.shape, np.int16)
    fits = lib.ek_narrowed_s16(pointer("int32_t", wide), wide.size, pointer("int16_t", found))
    return found if fits else wide


def whole_columns(windows: Windows, x: Array, zero: int, places: NDArray[np.int32]) -> Whole:
    """The same of x - zero, in int16, which must hold that, of int8 and int16."""
    x, places = np.ascontiguousarray(x), np.ascontiguousarray(places, np.int32)
    found: Whole = np.empty(_columns_shape(windows, places), np.int16)
    collect, kind = {1: (lib.ek_columns_s8, "int8_t"), 2: (lib.ek_columns_s16, "int16_t")}[
        x.itemsize
    ]
    given = pointer(kind, x), zero, pointer("int32_t", places), places.shape[1], len(places)
    images = x.size // len(places) // prod(windows.shape)
    collect(_fields(windows), *given, images, pointer("int16_t", found))
    return found


def sums(x: Whole) -> NDArray[np.int64]:
    """Of x [..., n, k] over n, exactly: [..., k]."""
    found: NDArray[np.int64] = np.empty((*x.shape[:-2], x.shape[-1]), np.int64)
    if x.dtype != np.int16:
        return np.sum(x, axis=-2, dtype=np.int64, out=found)
    x, sizes = np.ascontiguousarray(x), (prod(x.shape[:-2]), *x.shape[-2:])
    lib.ek_sums_s16(pointer("int16_t", x), *sizes, pointer("int64_t", found))
    return found


def _columns_shape(w: Windows, places: NDArray[np.int32]) -> tuple[int, int, int, int]:
    samples, count = places.shape
    return samples, w.groups, count, w.shape[2] // w.groups * prod(w.kernel)


def _fields(w: Windows) -> Any:
    numbers = [*w.shape, w.groups, *w.kernel, *w.stride, *w.dilation, *w.pads, *w.output]
    return ffi.new("ek_windows *", numbers)


def moments(
    x: Whole, q: Whole, middle: tuple[Whole, Whole]
) -> tuple[NDArray[np.int32], NDArray[np.int32], float] | None:
    """(q - its middle)' (q - its middle) and (x - its middle)' (q - its middle) [g, k, k] of
    samples x and q [samples, g, n, k] and middles [g, k], and the sum over samples of the squares
    off the diagonals of the former; None if x or q is no int16, or sums may not fit int32."""
    if x.dtype != np.int16 or q.dtype != np.int16:
        return None
    x, q = np.ascontiguousarray(x), np.ascontiguousarray(q)
    x0, q0 = (np.ascontiguousarray(v, np.int32) for v in middle)
    (samples, groups, rows, k), pitch = q.shape, _pitch(q.shape[2])
    own, qq, xq = (np.empty((groups, k, k), np.int32) for _ in range(3))
    spare, diagonals, squares = _lines(2 * (k + _SPARE + 1), pitch), np.empty(groups), np.empty(1)
    fits = lib.ek_moments_s16(
        pointer("int16_t", x),
        pointer("int16_t", q),
        samples,
        groups * rows * k,
        groups,
        rows,
        k,
        pointer("int32_t", x0),
        pointer("int32_t", q0),
        pointer("int16_t", spare),
        pitch,
        pointer("int32_t", own),
        real(diagonals),
        pointer("int32_t", qq),
        pointer("int32_t", xq),
        real(squares),
    )
    return (qq, xq, float(squares[0])) if fits else None


def few_squares(q: Whole, middle: Whole) -> float | None:
    """The sum over samples of the squares off the diagonal of (q - middle)' (q - middle), for q
    [samples, n, k] of fewer rows than columns; None as for `moments`."""
    if q.dtype != np.int16:
        return None
    q, q0 = np.ascontiguousarray(q), np.ascontiguousarray(middle, np.int32)
    (_, rows, k), pitch = q.shape, _pitch(q.shape[2])
    spare, outer = _lines(rows + _SPARE + 1, pitch), np.empty((rows, rows), np.int32)
    powers, squares = np.empty(k), np.empty(1)
    fits = lib.ek_few_squares_s16(
        pointer("int16_t", q),
        pointer("int32_t", q0),
        *q.shape,
        pointer("int16_t", spare),
        pitch,
        pointer("int32_t", outer),
        real(powers),
        real(squares),
    )
    return float(squares[0]) if fits else None


def add_small_moments(
    x: Whole, q: Whole, middle: tuple[Whole, Whole], moments: tuple[Reals, Reals]
) -> None:
    """Add (q - its middle)' (q - its middle) and (x - its middle)' (q - its middle) to `moments`
    [g, k, k], of x and q [g, n, k] and middles [g, k]; k is SMALL at most."""
    given = [np.ascontiguousarray(v, np.int32) for v in (x, q, *middle)]
    wholes, sums = [pointer("int32_t", v) for v in given], [real(m) for m in moments]
    lib.ek_small_moments_s32(*wholes[:2], *q.shape, *wholes[2:], *sums)


def inner_products(a: Whole, b: Whole, middle: tuple[Whole, Whole]) -> Sums:
    """(a - its middle)' (b - its middle) [k, l] of rows a [n, k] and b [n, l], exactly."""
    same, right = a is b, None if a is b else _digits(b, middle[1], True)
    left = _factor(a, middle[0], True, right)
    return _product(left, right or left, (a.shape[1], b.shape[1]), same, len(a))


def outer_products(a: Whole, middle: Whole) -> Sums:
    """(a - its middle) (a - its middle)' [n, n] of rows a [n, k], exactly."""
    rows = _factor(a, middle, False)
    return _product(rows, rows, (len(a), len(a)), True, a.shape[1])


Digit = tuple[NDArray[np.int16], int]
"""Whole numbers that fit 16 bits, and the largest magnitude."""
Digits = list[Digit]
"""Parts of whole numbers, lowest first."""


def _factor(x: Whole, middle: Whole, transposed: bool, other: Digits | None = None) -> Digits:
    """Digits of x - middle whose products with `other`, or each other, fit _LARGEST_SUMMED."""
    found = _digits(x, middle, transposed)
    if max(m for _, m in found) * max(m for _, m in other or found) <= _LARGEST_SUMMED:
        return found
    return _digits(x, middle, transposed, _DIGIT // 2)


def _digits(x: Whole, middle: Whole, transposed: bool, largest: int = _LARGEST) -> Digits:
    if x.dtype == np.int16:
        found = _centred(x, middle, transposed)
        if found[1] <= largest:
            return [found]
    most = sum(max(int(v.max(initial=0)), -int(v.min(initial=0))) for v in (x, middle))
    kind = np.int32 if most < 1 << 30 else np.int64
    rest = x.astype(kind) - middle.astype(kind)
    digits, none = Digits(), np.zeros_like(middle)
    while max(rest.max(initial=0), -rest.min(initial=0)) > largest:
        rest += _DIGIT // 2
        digit = (rest & (_DIGIT - 1)).astype(np.int16) - np.int16(_DIGIT // 2)
        digits.append(_centred(digit, none, transposed))
        rest >>= _BITS
    return [*digits, _centred(rest.astype(np.int16), none, transposed)]


def _centred(x: Whole, middle: Whole, transposed: bool) -> tuple[NDArray[np.int16], int]:
    """x - middle and its largest magnitude; above _LARGEST, the former says nothing."""
    rows, length = x.shape[::-1] if transposed else x.shape
    pitch = _pitch(length)
    out = _lines(rows + _SPARE, pitch)
    out[rows:] = 0
    x, middle = np.ascontiguousarray(x), np.ascontiguousarray(middle, np.int32)
    pointers = pointer("int16_t", x), pointer("int32_t", middle)
    largest = lib.ek_centred_s16(*pointers, *x.shape, transposed, pointer("int16_t", out), pitch)
    return out, int(largest)


def _pitch(length: int) -> int:
    """The least number of columns for so many: an odd number of steps, so that rows are in
    different sets of the cache."""
    return (-(-length // _STEP) | 1) * _STEP


def _lines(rows: int, pitch: int) -> NDArray[np.int16]:
    """[rows, pitch] where loads are of whole cache lines."""
    spare = np.empty(rows * pitch + _STEP, np.int16)
    first = -spare.ctypes.data % (2 * _STEP) // 2
    return spare[first : first + rows * pitch].reshape(rows, pitch)


def _product(a: Digits, b: Digits, shape: tuple[int, int], same: bool, length: int) -> Sums:
    single = len(a) == len(b) == 1
    fits = single and length * a[0][1] * b[0][1] <= _LARGEST_SUM
    out: Sums = np.empty(shape, np.int32) if fits else np.empty(shape, np.int64)
    shared = prod(shape) * length >= _SHARED and cores() > 1
    if single and not shared:
        return _dots(a[0], b[0], shape, same, out)

    def rows(first: int) -> None:
        last = min(first + _ROWS, shape[0])
        start = first if same else 0
        block: Sums = np.zeros((last - first, shape[1] - start), out.dtype)
        for i, (x, x_most) in enumerate(a):
            for j, (y, y_most) in enumerate(b):
                at, part = (x[first:], x_most), np.empty_like(block)
                _dots(at, (y[start:], y_most), block.shape, False, part)
                part *= _DIGIT ** (i + j)
                block += part
        out[first:last, start:] = block
        if same:
            out[last:, first:last] = block[:, last - first :].T

    on_cores(rows, range(0, shape[0], _ROWS), None if shared else 1)
    return out


def _dots(x: Digit, y: Digit, shape: tuple[int, ...], same: bool, out: Sums) -> Sums:
    """The sums of products of the first rows of x and y, in `out`."""
    dot, kind = {4: (lib.ek_dot_s16_s32, "int32_t"), 8: (lib.ek_dot_s16, "int64_t")}[out.itemsize]
    given = pointer("int16_t", x[0]), pointer("int16_t", y[0]), *shape, x[0].shape[1]
    dot(*given, x[1] * y[1], same, pointer(kind, out))
    return out
