"""Figures of each channel, the last axis of an array."""

import numpy as np
from numpy.typing import NDArray

# Numbers in a row, of which numpy compares rows fast.
_WIDE = 512


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


def channel_means(array: NDArray[np.floating]) -> NDArray[np.float64]:
    """The mean over all axes but the last, summed in order of the rows."""
    rows = array.reshape(-1, array.shape[-1])
    if rows.shape[1] == 1:  # which einsum adds up in the order of the machine's vectors
        return np.asarray(rows.mean(axis=0, dtype=np.float64))
    total: NDArray[np.float64] = np.einsum("ij->j", rows, dtype=np.float64)
    return total / len(rows)
