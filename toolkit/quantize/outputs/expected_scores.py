"""Scores of a quantized model on labels that are as likely as the float model says, relative to the
float model's own: no labels are needed.

What is lost or gained near a threshold, or between two classes that are as likely, changes them
little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ir import Array

Sums = NDArray[np.float64]
"""[..., 3]: of what a model finds, the sum of the float model's probabilities, and their number;
the sum of the probabilities of all elements."""


def sums_of(likely: NDArray[np.float64], found: Array) -> Sums:
    """[3] of elements of a class with probabilities `likely`; `found` says where a model finds
    it."""
    return np.array([likely[found].sum(), np.count_nonzero(found), likely.sum()])


def f1(sums: Sums) -> NDArray[np.float64]:
    """[...]: the expected F1 score."""
    hits, found, likely = np.moveaxis(sums, -1, 0)
    score: NDArray[np.float64] = 2 * hits / np.maximum(found + likely, 1e-30)
    return score


def intersection_over_union(sums: Sums) -> NDArray[np.float64]:
    """[...]: the expected intersection, relative to the expected union."""
    hits, found, likely = np.moveaxis(sums, -1, 0)
    score: NDArray[np.float64] = hits / np.maximum(found + likely - hits, 1e-30)
    return score


def part_kept(
    rows: Sums, score: Callable[[Sums], NDArray[np.float64]], parts: Sequence[slice]
) -> NDArray[np.float64]:
    """What another model keeps of the float model's `score`, 1 at most, from `rows`
    [samples, ..., 2, 3] of the float model and of the other.

    The samples of each of the `parts` ran in another file. What one file finds too much does not
    make up for what another one lacks: the losses of the parts are added.
    """
    real = rows[..., 0, :].sum(axis=0)
    whole = np.maximum(score(real), 1e-30)
    lost = np.zeros_like(whole)
    for at in parts:
        mixed = real + (rows[at, ..., 1, :] - rows[at, ..., 0, :]).sum(axis=0)
        lost += np.maximum(1 - score(mixed) / whole, 0)
    found: NDArray[np.float64] = np.maximum(1 - lost, 0)
    return found
