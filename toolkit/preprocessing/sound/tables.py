"""The constants of an integer front end, made once from its parameters: for numpy and for C."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...ir import Array
from .front_end import FrontEnd

LOG_POINTS = 128
FRACTION = 14
"""Bits of a feature behind the point."""

_POWER_SHIFT = 12


@dataclass(frozen=True)
class Filters:
    """Triangles: filter m has `counts[m]` of the `weights` (Q15), from bin `first[m]` on."""

    first: NDArray[np.uint16]
    counts: NDArray[np.uint16]
    weights: NDArray[np.uint16]


@dataclass(frozen=True)
class Tables:
    """Integers of a front end; docs/arithmetic.md says what is done with each.

    window: uint16 [window], Q15. sine: int16 [3/4 fft], Q15. log: uint16 [129], Q16 modulo 2^16.
    base: int32 [mels], Q16, log2 of what a filter's sum of 1 stands for. least, places: uint32 and
    int32 [mels], least * 2^places is the offset or floor in units of the sum. dct: int16
    [coefficients, mels], empty for log-mel. constants: int64 [features]. factor and shift make
    features.
    """

    window: NDArray[np.uint16]
    sine: NDArray[np.int16]
    filters: Filters
    log: NDArray[np.uint16]
    base: NDArray[np.int32]
    least: NDArray[np.uint32]
    places: NDArray[np.int32]
    dct: NDArray[np.int16]
    constants: NDArray[np.int64]
    factor: int
    shift: int


def mel_of(hz: Array, scale: str) -> Array:
    """Hz in mel: HTK's 2595 log10(1 + f / 700), or Slaney's, which is linear below 1 kHz."""
    if scale == "htk":
        return 1127.0 * np.log1p(hz / 700.0)
    above = 15.0 + 27.0 * np.log(np.maximum(hz, 1000.0) / 1000.0) / math.log(6.4)
    return np.where(hz < 1000.0, hz * 3.0 / 200.0, above)


def hz_of(mel: Array, scale: str) -> Array:
    """The inverse of `mel_of`."""
    if scale == "htk":
        return 700.0 * np.expm1(mel / 1127.0)
    above = 1000.0 * np.exp((mel - 15.0) * math.log(6.4) / 27.0)
    return np.where(mel < 15.0, mel * 200.0 / 3.0, above)


def triangles(front: FrontEnd) -> tuple[Array, Array]:
    """(heights float64 [mels, fft / 2 + 1], the gain of each: 1, or that of area 1)."""
    ends = mel_of(np.array([front.lower, front.top]), front.mel)
    edges = np.linspace(ends[0], ends[1], front.mels + 2)
    in_hz = hz_of(edges, front.mel)
    bins = np.arange(front.fft // 2 + 1) * (front.rate / front.fft)
    if front.triangles == "hz":
        edges = in_hz
    else:
        bins = mel_of(bins, front.mel)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    heights = np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle))
    gains = 2.0 / (in_hz[2:] - in_hz[:-2]) if front.area else np.ones(front.mels)
    heights = np.maximum(heights, 0.0)
    heights[:, [0, -1]] = 0.0
    return heights, gains


def window_of(front: FrontEnd) -> Array:
    """The window, float64 [window], periodic."""
    cosine = np.cos(2 * math.pi * np.arange(front.window) / front.window)
    first, second = {"hann": (0.5, 0.5), "hamming": (0.54, 0.46), "rectangular": (1.0, 0.0)}[
        front.window_function
    ]
    return first - second * cosine


def dct_of(front: FrontEnd) -> Array:
    """The matrix of a DCT-II, float64 [coefficients, mels]."""
    j, m = np.arange(front.coefficients)[:, None], np.arange(front.mels)
    found = math.sqrt(2 / front.mels) * np.cos(math.pi * j * (m + 0.5) / front.mels)
    if front.dct == "ortho":
        found[0] *= math.sqrt(0.5)
    return found


@lru_cache(maxsize=8)
def tables_of(front: FrontEnd) -> Tables:
    """The tables of "log-mel" or "mfcc"."""
    heights, gains = triangles(front)
    power = 2 if front.spectrum == "power" else 1
    points = int(math.log2(front.fft))
    unit = 15 + 30 * power - power * points - (_POWER_SHIFT if power == 2 else 0)
    base = np.rint((np.log2(gains) - unit) * 65536).astype(np.int32)
    least, places = np.frexp(front.least / gains)
    sine = np.rint(32768 * np.sin(2 * math.pi * np.arange(3 * front.fft // 4) / front.fft))
    log = np.rint(65536 * np.log2(1 + np.arange(LOG_POINTS + 1) / LOG_POINTS)).astype(np.int64)
    real = {"ln": math.log(2), "log10": math.log10(2), "db": 10 * math.log10(2)}[front.log]
    real *= 2.0 ** (FRACTION - 16) / front.std
    away = round(-front.mean / front.std * 2**FRACTION)
    if front.kind == "mfcc":
        matrix = dct_of(front) * real
        shift = 15 - math.ceil(math.log2(np.abs(matrix).max() * 32768 / 32767))
        dct, factor = np.rint(matrix * 2**shift).astype(np.int16), 0
    else:
        shift = 24 - math.ceil(math.log2(real))
        dct, factor = np.zeros((0, front.mels), np.int16), round(real * 2**shift)
    constant = (away << shift) + (1 << (shift - 1))
    return Tables(
        np.rint(32768 * window_of(front)).astype(np.uint16),
        np.minimum(sine, 32767).astype(np.int16),
        _filters(np.rint(heights * 32768).astype(np.uint16)),
        (log & 0xFFFF).astype(np.uint16),
        base,
        np.minimum(np.rint(least * 2.0**32), 2**32 - 1).astype(np.uint32),
        (places + unit - 32).astype(np.int32),
        dct,
        np.full(front.features, constant, np.int64),
        factor,
        shift,
    )


def _filters(heights: NDArray[np.uint16]) -> Filters:
    first, counts, weights = [], [], [np.zeros(0, np.uint16)]
    for row in heights:
        used = np.flatnonzero(row)
        begin, end = (used[0], used[-1] + 1) if used.size else (1, 1)
        first.append(begin)
        counts.append(end - begin)
        weights.append(row[begin:end])
    return Filters(np.array(first, np.uint16), np.array(counts, np.uint16), np.concatenate(weights))
