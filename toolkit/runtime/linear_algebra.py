"""Triangular systems and products of real numbers for the quantizer, in C
(runtime_c/binding/toolkit.h).

Sums come in one order, without contraction: the same input gives the same bits on every machine,
whatever BLAS and threads it has. Products and systems are of float64 or, in half the time, of
float32: as the first argument is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...runtime_c._ffi import ffi, lib
from ..ir import Array
from .cores import cores, on_cores

Reals = NDArray[np.float64]
R = TypeVar("R", np.float32, np.float64)

_SHARED = 1 << 24
"""Products from which on all cores share them."""


def squares_without(whole: Reals, part: Array) -> float:
    """The sum of the squares of whole - part [g, k, k] off the diagonals."""
    whole, left = _without(whole, part)
    return float(lib.ek_squares_without_f64(real(whole), left, *whole.shape[:2]))


def moments_without(
    whole: Reals, part: Array, count: int, factor: float, mean: Reals, diagonal: Reals
) -> NDArray[np.float32]:
    """factor ((whole - part) / count - m m') [g, k, k] about the means m [g, k], computed in
    float64, with this `diagonal` [g, k]."""
    (whole, left), found = _without(whole, part), np.empty(whole.shape, np.float32)
    about = real(reals(mean)), real(reals(diagonal))
    sizes = whole.shape[:2]
    lib.ek_moments_without_f32(real(whole), left, *sizes, count, factor, *about, real(found))
    return found


def _without(whole: Reals, part: Array) -> tuple[Reals, Any]:
    """Both, int32 as a pointer; else what is left, and NULL."""
    if part.dtype != np.int32:
        return reals(whole - part), ffi.NULL
    return reals(whole), pointer("int32_t", np.ascontiguousarray(part))


def product(a: NDArray[R], m: Array, less: Array | None = None, unit: float = 1.0) -> NDArray[R]:
    """a [g, n, k] @ m [g, k, l], summed in order, or with `less` a @ (unit * m - less). int32 is
    read in place."""
    whole = all(v is None or v.dtype == np.int32 for v in (m, less))
    if not whole:
        m = np.ascontiguousarray(m if less is None else unit * m - less, a.dtype)
        less = None
    a = np.ascontiguousarray(a)
    found = np.empty((*a.shape[:2], m.shape[2]), a.dtype)

    def some(g: slice, n: slice) -> None:
        rows: Array = a[g, n]
        sizes, out = (*rows.shape, m.shape[2]), real(found[g, n])
        if whole:
            taken = ffi.NULL if less is None else pointer("int32_t", less[g])
            given = real(rows), pointer("int32_t", m[g]), taken, unit
            _of("ek_product_of_s32", a)(*given, *sizes, out)
        else:
            _of("ek_product", a)(real(rows), real(m[g]), *sizes, out)

    _share_rows(some, a.shape, m.shape[2])
    return found


def _of(name: str, like: Array) -> Callable[..., Any]:
    """The function of this name for numbers of a type."""
    found: Callable[..., Any] = getattr(lib, f"{name}_f{8 * like.itemsize}")
    return found


def _share_rows(work: Callable[[slice, slice], None], shape: tuple[int, ...], each: int) -> None:
    """Call `work` with groups and rows of numbers [g, n, k], each of which takes so many products:
    on all cores if they are many. Rows do not depend on each other."""
    every, alone = slice(None), shape[0] == 1
    if prod(shape) * each <= _SHARED:
        work(every, every)
        return
    count = shape[1] if alone else shape[0]
    size = -(-count // cores())
    some = [slice(first, first + size) for first in range(0, count, size)]
    on_cores(lambda at: work(every, at) if alone else work(at, every), some)


def cholesky(h: NDArray[R], overwrite: bool = False) -> NDArray[R]:
    """Upper triangular r with r' r = h [g, k, k]; `overwrite`: in place of h where that is
    contiguous. Raises LinAlgError if an h is not positive definite."""
    found = np.ascontiguousarray(h) if overwrite else np.array(h, order="C")
    if not _of("ek_cholesky", found)(real(found), *h.shape[:2]):
        raise np.linalg.LinAlgError("a matrix is not positive definite")
    return found


def divided(b: NDArray[R], r: NDArray[R]) -> NDArray[R]:
    """b [g, n, k] r^-1, r upper triangular [g, k, k]."""
    return _solved("ek_divide", b, r)


def divided_transposed(b: NDArray[R], r: NDArray[R]) -> NDArray[R]:
    """b [g, n, k] r'^-1, r upper triangular [g, k, k]."""
    return _solved("ek_divide_transposed", b, r)


def _solved(name: str, b: NDArray[R], r: NDArray[R]) -> NDArray[R]:
    found, r, divide = np.array(b, order="C"), np.ascontiguousarray(r), _of(name, b)

    def some(g: slice, n: slice) -> None:
        rows = found[g, n]
        divide(real(rows), real(r[g]), *rows.shape)

    _share_rows(some, b.shape, b.shape[2])
    return found


def nearest_plane(
    y: Reals, r: Reals, steps: Reals, limit: int, price: Reals | None = None
) -> Reals:
    """Integers in [-limit, limit] whose `steps` times r come closest to y [g, n, k], last first;
    `price` [2 * limit + 1] is what each of them costs beside its squared error."""
    y, r, steps = np.array(y, np.float64, order="C"), reals(r), reals(steps)
    found: Reals = np.empty_like(y)
    costs, middle = _price(price, limit)

    def some(g: slice, n: slice) -> None:
        for one, upper, unit, z in zip(y[g, n], r[g], steps[g, n], found[g, n], strict=True):
            pointers = real(one), real(upper), real(unit)
            lib.ek_nearest_plane_f64(*pointers, *one.shape, limit, middle, real(z))

    _share_rows(some, y.shape, y.shape[2])
    del costs
    return found


def descend(
    z: Reals,
    gradient: Reals,
    h: Reals,
    steps: Reals,
    limit: int,
    sweeps: int,
    price: Reals | None = None,
) -> tuple[Reals, Reals]:
    """(z [g, n, k] after coordinate descent, its gradient), from z and its gradient; `price` as for
    nearest_plane."""
    z, gradient = (np.array(v, np.float64, order="C") for v in (z, gradient))
    h, steps = reals(h), reals(steps)
    costs, middle = _price(price, limit)

    def some(g: slice, n: slice) -> None:
        for one, slope, curve, unit in zip(z[g, n], gradient[g, n], h[g], steps[g, n], strict=True):
            pointers = (real(v) for v in (one, slope, curve, unit))
            lib.ek_descend_f64(*pointers, *one.shape, limit, middle, sweeps)

    _share_rows(some, z.shape, z.shape[2])
    del costs
    return z, gradient


def least_error_scales(
    rows: Reals, scales: Reals, limit: int, fractions: Reals, counts: Reals | None = None
) -> Reals:
    """Of `scales` [n], which make the largest of each of the rows [n, k] of magnitudes `limit`, the
    part, one of `fractions`, that rounds the row with the least squared error, weighed by `counts`
    [n, k]; the first of equals."""
    found, rows, fractions = np.array(scales, np.float64), reals(rows), reals(fractions)
    counts = None if counts is None else reals(counts)
    given = real(rows), ffi.NULL if counts is None else real(counts)
    lib.ek_least_error_f64(*given, *rows.shape, limit, real(fractions), len(fractions), real(found))
    return found


def _price(price: Reals | None, limit: int) -> tuple[Reals | None, Any]:
    """(the prices, which must be kept as long as it is used, a pointer to that of 0)."""
    if price is None:
        return None, ffi.NULL
    assert price.shape == (2 * limit + 1,)
    costs = reals(price)
    return costs, real(costs) + limit


def reals(x: Reals) -> Reals:
    return np.ascontiguousarray(x, np.float64)


def real(x: Array) -> Any:
    return pointer("float" if x.itemsize == 4 else "double", x)


def pointer(kind: str, array: NDArray[Any]) -> Any:
    return ffi.from_buffer(f"{kind}[]", array)
