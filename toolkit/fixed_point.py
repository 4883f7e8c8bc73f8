"""Requantization in numpy, bit for bit as runtime_c/src/fixed_point.h (docs/arithmetic.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MIN_SHIFT, MAX_SHIFT = -30, 30
MOST_ONCE = 12
"""Up to this shift to the right a second rounding does more harm than a multiplier of as many bits
less, which is 2^-13 of a step at most."""


def multiplier(ratio: float) -> tuple[int, int]:
    """`(m, shift)` with ratio = m * 2^(shift - 31), m in [1, 2^31), for one rounding if possible.

    From 2^-13 to 1 shift is 0, elsewhere m is in [2^30, 2^31). A ratio below 2^-31 gives the
    smallest one there is. Raises ValueError for ratios that are not
    positive and finite, or not below 2^30.
    """
    m, shift = multipliers(np.array([ratio]))
    return int(m[0]), int(shift[0])


def multipliers(ratios: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """`multiplier` of each element."""
    m, shift = _split(ratios.ravel(), 31, MAX_SHIFT)
    tiny = shift < MIN_SHIFT
    m, shift = np.where(tiny, 1 << 30, m), np.where(tiny, MIN_SHIFT, shift)
    once = (shift < 0) & (shift >= -MOST_ONCE)
    m = np.where(once, np.rint(np.ldexp(ratios.ravel(), 31)), m)
    shift = np.where(once, 0, shift)
    return m.astype(np.int32), shift.astype(np.int8)


def _split(ratios: NDArray[np.float64], bits: int, most: int) -> tuple[Ints, Ints]:
    """(m, exponent) with ratio = m * 2^(exponent - bits), m of `bits` bits, exponent <= `most`."""
    if len(bad := ratios[~(np.isfinite(ratios) & (ratios > 0))]):
        raise ValueError(f"scale ratio {bad[0]} is not positive and finite")
    fraction, exponent = np.frexp(ratios)  # fraction in [0.5, 1)
    m = np.rint(np.ldexp(fraction, bits)).astype(np.int64)
    full = m == 1 << bits
    m, exponent = np.where(full, 1 << (bits - 1), m), exponent.astype(np.int64) + full
    if len(bad := ratios[exponent > most]):
        raise ValueError(f"scale ratio {bad[0]} is 2^{most} or more")
    return m, exponent


def of_bits(ratios: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """The ratios nearest to these that a multiplier of so many bits makes exactly."""
    fraction, exponent = np.frexp(ratios)
    result: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)
    return result


def real_ratio(m: NDArray[Any], shift: NDArray[Any]) -> NDArray[np.float64]:
    """The ratios that `multipliers` made these of."""
    return np.ldexp(np.asarray(m, np.float64), np.asarray(shift, np.int64) - 31)


def scale(acc: NDArray[Any], m: NDArray[Any] | int, shift: NDArray[Any] | int) -> Ints:
    """acc * m * 2^(shift - 31), rounded half up twice; arguments broadcast."""
    acc64, m64, s = (np.asarray(v, np.int64) for v in (acc, m, shift))
    left, right = np.maximum(s, 0), np.maximum(-s, 0)
    h = ((acc64 << left) * m64 + (1 << 30)) >> 31
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), 0)
    result: Ints = (h + half) >> right
    return result


def requantize(
    acc: NDArray[Any],
    m: NDArray[Any] | int,
    shift: NDArray[Any] | int,
    zero_point: int,
    qmin: int,
    qmax: int,
) -> NDArray[np.int8]:
    """The int8 result of an int32 accumulator."""
    return np.clip(scale(acc, m, shift) + zero_point, qmin, qmax).astype(np.int8)


MIN_SHIFT16, MAX_SHIFT16 = 1, 62

ACC_LIMIT16 = 1 << 39
"""Accumulators of int16 operators stay below it, so that their product with m fits 64 bits."""


def multiplier16(ratio: float) -> tuple[int, int]:
    """`(m, shift)` with ratio = m * 2^-shift and m in [2^22, 2^23), for int16 operators.

    A ratio below 2^-40 gives the smallest one there is. Raises ValueError for ratios that are not
    positive and finite, or not below 2^22.
    """
    m, shift = multipliers16(np.array([ratio]))
    return int(m[0]), int(shift[0])


def multipliers16(ratios: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """`multiplier16` of each element."""
    m, exponent = _split(ratios.ravel(), 23, 23 - MIN_SHIFT16)
    shift = 23 - exponent
    tiny = shift > MAX_SHIFT16
    m, shift = np.where(tiny, 1 << 22, m), np.where(tiny, MAX_SHIFT16, shift)
    return m.astype(np.int32), shift.astype(np.uint8)


def real_ratio16(m: NDArray[Any], shift: NDArray[Any]) -> NDArray[np.float64]:
    """The ratios that `multipliers16` made these of."""
    return np.ldexp(np.asarray(m, np.float64), -np.asarray(shift, np.int64))


def scale16(acc: NDArray[Any], m: NDArray[Any] | int, shift: NDArray[Any] | int) -> Ints:
    """acc * m * 2^-shift, rounded half up once; |acc| below ACC_LIMIT16; arguments broadcast."""
    acc64, m64, s = (np.asarray(v, np.int64) for v in (acc, m, shift))
    result: Ints = (acc64 * m64 + (np.int64(1) << (s - 1))) >> s
    return result


def requantize16(
    acc: NDArray[Any],
    m: NDArray[Any] | int,
    shift: NDArray[Any] | int,
    qmin: int,
    qmax: int,
) -> NDArray[np.int16]:
    """The int16 result of an accumulator."""
    return np.clip(scale16(acc, m, shift), qmin, qmax).astype(np.int16)


def inverse_root(radicand: Ints) -> tuple[Ints, Ints]:
    """`(r, e)`, r below 2^30, for which r * 2^(-44 - e) is 1 / sqrt(radicand) to 2^-28 of it.

    Radicands are in [1, 2^63).
    """
    m, e = radicand.copy(), np.zeros_like(radicand)
    while (large := m >= 1 << 30).any():
        m, e = np.where(large, m >> 2, m), e + large
    while (small := m < 1 << 28).any():
        m, e = np.where(small, m << 2, m), e - small
    root = np.full_like(m, 1 << 15)
    for bit in range(14, -1, -1):
        more = root | (1 << bit)
        root = np.where(m * more * more <= 1 << 60, more, root)
    left = (1 << 60) - m * root * root
    return (root << 14) + ((root * (left >> 15)) >> 32), e
