"""Figures of arrays, the same on every machine, in C (runtime_c/binding/calibration.h)."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..runtime_c._ffi import ffi, lib

Reals = NDArray[np.float64]

SPARE: int = lib.EK_SPARE_BINS

# Numbers in a row, of which numpy compares rows fast.
_WIDE = 512


def extremes(array: NDArray[np.float32]) -> tuple[float, float]:
    """The least and the largest value; there must be some. Either is NaN if any value is."""
    ends: NDArray[np.float32] = np.empty(2, np.float32)
    low = ffi.from_buffer("float[]", ends)
    lib.ek_extremes_f32(_floats(array), array.size, low, low + 1)
    return float(ends[0]), float(ends[1])


def add_to_bins(
    counts: NDArray[np.int64], first: int, exponent: int, values: NDArray[np.float32]
) -> int:
    """Count finite values other than 0 in bins [k * 2^exponent, (k + 1) * 2^exponent), k from
    `first` on; all must lie in one of `counts`, of which the last SPARE are none. Returns the
    number of zeros."""
    bins, inverse = len(counts) - SPARE, 2.0**-exponent
    into = ffi.from_buffer("int64_t[]", counts)
    return int(lib.ek_histogram_f32(_floats(values), values.size, inverse, first, bins, into))


def channel_extremes(
    array: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The least and the largest value over all axes but the last; there must be some."""
    rows = array.reshape(-1, array.shape[-1])
    count, channels = rows.shape
    beside = max(1, min(_WIDE // channels, count))  # so many rows are taken for one
    whole = count - count % beside
    wide, left = rows[:whole].reshape(-1, beside * channels), rows[whole:]
    low, high = wide.min(axis=0).reshape(-1, channels), wide.max(axis=0).reshape(-1, channels)
    return np.concatenate([low, left]).min(axis=0), np.concatenate([high, left]).max(axis=0)


def channel_means(array: NDArray[np.float32], power: int = 1) -> NDArray[np.float64]:
    """The mean of the values, or of their squares (`power` 2), over all axes but the last, summed
    in order of the rows."""
    rows = array.reshape(-1, array.shape[-1])
    count, channels = rows.shape
    if channels == 1:
        x = rows if power == 1 else rows.astype(np.float64) ** power
        return np.asarray(x.mean(axis=0, dtype=np.float64))
    total: NDArray[np.float64] = np.empty(channels)
    into = ffi.from_buffer("double[]", total)
    lib.ek_channel_sums_f32(_floats(rows), count, channels, power, into)
    return total / count


def range_errors(
    counts: Reals,
    moments: Reals,
    first: int,
    width: float,
    step: float,
    levels: int,
    most: float,
) -> Reals:
    """The summed squared error [levels] of values in bins of a `width`, the number `first` and
    following, in multiples of `step`, for the zero points 0 to levels - 1; infinity where what is
    clipped alone makes more than `most`.

    `counts` [n] are taken as evenly spread within their bins; `moments` [3, n + 1] are sums of
    their powers 0, 1 and 2 up to each edge.
    """
    errors, work = np.empty(levels), np.empty(5 * levels + 2 * (len(counts) + 1))
    arrays = (ffi.from_buffer("double[]", v) for v in (counts, moments, work, errors))
    given, sums, room, found = arrays
    bins = len(counts), first, width, step, step**3 / width
    lib.ek_range_errors_f64(given, sums, *bins, levels, most, room, found)
    return errors


def median(x: ArrayLike) -> float:
    """Of some numbers of any shape, NaN if any is: numpy's imports numpy.ma, which takes longer."""
    values = np.sort(np.asarray(x, np.float64), axis=None)
    if math.isnan(values[-1]):
        return math.nan
    half = len(values) // 2
    return float(values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2)


def _floats(array: NDArray[np.float32]) -> Any:
    return ffi.from_buffer("float[]", np.ascontiguousarray(array, np.float32))
