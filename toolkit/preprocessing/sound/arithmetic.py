"""int16 samples -> features in integers: the numpy meaning of runtime_c/src/sound.c."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir import Array
from .front_end import FrontEnd
from .tables import FRACTION, Tables, tables_of

Ints = NDArray[np.int64]

_MOST = (1 << 23) - 1
_TOGETHER = 512
"""Frames that are computed at a time, so that memory stays small."""


def frames_in(front: FrontEnd, samples: int) -> int:
    """How many frames so many samples have."""
    span = samples if front.centre != "none" else samples - front.window
    return max(0, span // front.stride + 1)


def samples_for(front: FrontEnd, frames: int) -> int:
    """The fewest samples that have so many frames."""
    return max(1, (frames - 1) * front.stride + (front.window if front.centre == "none" else 0))


def real_features(front: FrontEnd, pcm: Array, frames: int) -> NDArray[np.float32]:
    """float32 [frames, features] of int16 [samples]: what `features` stand for, exactly."""
    if front.kind == "pcm":
        whole, fraction = pcm[:, None], 15
    else:
        whole, fraction = features(front, pcm, frames), FRACTION
    real: NDArray[np.float32] = np.ldexp(whole.astype(np.float32), -fraction)
    return real


def features(front: FrontEnd, pcm: Array, frames: int) -> NDArray[np.int32]:
    """int32 [frames, features] of int16 [samples], of FRACTION bits behind the point."""
    tables, peak = tables_of(front), 32768
    if front.peak:
        peak = max(1, int(pcm.max()))
    begins = np.arange(frames) * front.stride
    if front.centre != "none":
        begins -= front.window // 2
    at = begins[:, None] + np.arange(front.window)
    if front.centre == "reflect":
        at = _reflected(at, len(pcm))
    inside = (at >= 0) & (at < len(pcm))
    x = np.where(inside, pcm[np.clip(at, 0, len(pcm) - 1)], 0).astype(np.int64)
    starts = range(0, frames, _TOGETHER)
    parts = [of_frames(front, tables, x[i : i + _TOGETHER], peak) for i in starts]
    return np.concatenate(parts)


def _reflected(at: Ints, count: int) -> Ints:
    at = np.abs(at)
    return np.where(at >= count, 2 * count - 2 - at, at)


def of_frames(front: FrontEnd, tables: Tables, x: Ints, peak: int) -> NDArray[np.int32]:
    """Features of int16 [frames, window]."""
    largest = np.abs(x).max(axis=1)
    up = np.zeros(len(x), np.int64)
    for _ in range(15):
        up += (largest << (up + 1)) <= 32768
    y = np.zeros((len(x), front.fft), np.int64)
    y[:, : front.window] = (x * tables.window) << up[:, None]
    re, im = _spectrum(y, tables)
    sums = _filtered(front, tables, re, im)
    logs = _logs(front, tables, sums, up, peak)
    if front.kind == "mfcc":
        made = logs @ tables.dct.T.astype(np.int64) + tables.constants
    else:
        made = logs * tables.factor + tables.constants
    held: NDArray[np.int32] = np.clip(made >> tables.shift, -_MOST, _MOST).astype(np.int32)
    return held


def _times(a: Ints, w: Any) -> Ints:
    """Half of a * w, w of Q15."""
    product: Ints = a * w >> 16
    return product


def _turned(re: Ints, im: Ints, c: Any, s: Any) -> tuple[Ints, Ints]:
    """Half of (re, im) * (c - js)."""
    return _times(re, c) + _times(im, s), _times(im, c) - _times(re, s)


def _circle(tables: Tables, at: Array) -> tuple[Ints, Ints]:
    """Cosine and sine of Q15 at so many of fft parts of the circle; 1 is 1, not less."""
    quarter = len(tables.sine) // 3
    c, s = tables.sine[at + quarter].astype(np.int64), tables.sine[at].astype(np.int64)
    return np.where(at == 0, 32768, c), np.where(at == quarter, 32768, s)


def _spectrum(y: Ints, tables: Tables) -> tuple[Ints, Ints]:
    """DFT of [frames, fft], divided by fft: real and imaginary [frames, fft / 2], bin 0 as 0."""
    half = y.shape[1] // 2
    order = _reversed_bits(half)
    re, im = y[:, 0::2][:, order], y[:, 1::2][:, order]
    length = 2
    while length <= half:
        k = np.arange(length // 2)
        c, s = _circle(tables, k * (2 * half // length))
        a_re, b_re = np.split(re.reshape(len(y), -1, length), 2, axis=2)
        a_im, b_im = np.split(im.reshape(len(y), -1, length), 2, axis=2)
        t_re, t_im = _turned(b_re, b_im, c, s)
        a_re, a_im = a_re >> 1, a_im >> 1
        re = np.concatenate([a_re + t_re, a_re - t_re], axis=2).reshape(len(y), half)
        im = np.concatenate([a_im + t_im, a_im - t_im], axis=2).reshape(len(y), half)
        length *= 2
    k = np.arange(1, half)
    c, s = _circle(tables, k)
    one_re, one_im, two_re, two_im = re[:, k] >> 1, im[:, k] >> 1, re[:, -k] >> 1, im[:, -k] >> 1
    t_re, t_im = _turned(one_im + two_im, two_re - one_re, c, s)
    none = np.zeros((len(y), 1), np.int64)
    out_re = (one_re + two_re >> 1) + t_re
    out_im = (one_im - two_im >> 1) + t_im
    return np.concatenate([none, out_re], axis=1), np.concatenate([none, out_im], axis=1)


def _reversed_bits(count: int) -> Array:
    found = np.zeros(1, np.int64)
    while len(found) < count:
        found = np.concatenate([2 * found, 2 * found + 1])
    return found


def _filtered(front: FrontEnd, tables: Tables, re: Ints, im: Ints) -> Ints:
    """Sums [frames, mels] of the filters."""
    power = re * re + im * im
    bins = power >> 12 if front.spectrum == "power" else _root(power)
    filters = tables.filters
    weights = filters.weights.astype(np.int64)
    sums = np.zeros((len(re), front.mels), np.int64)
    at = 0
    for m, (first, count) in enumerate(zip(filters.first, filters.counts, strict=True)):
        sums[:, m] = bins[:, first : int(first) + count] @ weights[at : at + count]
        at += count
    return sums


def _root(power: Ints) -> Ints:
    """The square root, of the upper 31 or 32 bits and zeros behind."""
    down = np.maximum(0, _bits(power) - 31) & ~1
    top = power >> down
    root = np.sqrt(top.astype(np.float64)).astype(np.int64)  # below 2^32 that is the floor
    return root << (down >> 1)


def _bits(x: Ints) -> Ints:
    """How many bits x >= 0 has."""
    found = np.zeros(x.shape, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        found += (x >> found >= 1 << step) * step
    return found + (x > 0)


def _logs(front: FrontEnd, tables: Tables, sums: Ints, up: Ints, peak: int) -> Ints:
    """log2 of what the sums [frames, mels] stand for and the offset, Q16."""
    power = 2 if front.spectrum == "power" else 1
    places = tables.places + (power * up)[:, None]
    down = np.maximum(0, places - 15 * power)
    added = tables.least.astype(np.int64) * peak**power >> np.minimum(
        15 * power + down - places, 63
    )
    sums = sums >> np.minimum(down, 63)
    sums = np.maximum(sums, added) if front.floor else sums + added
    logs = log2(tables, np.maximum(sums, 1)) + (down << 16) + tables.base
    relative = int(log2(tables, np.array([peak], np.int64))[0]) - (15 << 16)
    found: Ints = logs - power * ((up << 16)[:, None] + relative)
    return found


def log2(tables: Tables, x: Ints) -> Ints:
    """log2 of 1 <= x < 2^63, Q16, by lines between 129 points."""
    n = _bits(x) - 1
    aligned = np.where(n > 31, x >> np.maximum(n - 31, 0), x << np.maximum(31 - n, 0))
    at, rest = aligned >> 24 & 127, aligned >> 8 & 0xFFFF
    points = tables.log.astype(np.int64)
    rise = points[at + 1] - points[at] & 0xFFFF
    found: Ints = (n << 16) + points[at] + (rise * rest + 0x8000 >> 16)
    return found
