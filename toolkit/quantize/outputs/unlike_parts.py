"""Numbers or channels of an output that differ too much in magnitude to be evaluated together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ...ir import Array
from .signals import CONSTANT, ENOUGH, FEW_NUMBERS

UNLIKE = 4.0
"""Ratio of the standard deviations of an output's numbers or channels from which each is evaluated
alone: angles beside distances."""
MOST_APART, FAR_UNLIKE = 32, 16.0
"""Maximum size of a vector whose numbers may be evaluated alone, and that ratio for more than
FEW_NUMBERS: logits of many classes differ by less."""


def unlike_parts(samples: Iterable[Array]) -> tuple[range, int | None]:
    """The numbers of a small tensor, or the channels of a larger one and their axis, if the
    magnitudes by which they vary over the samples are unlike; else none."""
    samples = iter(samples)
    first = next(samples, np.empty(0))
    vector = max(first.shape, default=1) == first.size <= MOST_APART
    axes: list[int | None] = (
        [None] if first.size > 1 and (vector or first.size <= FEW_NUMBERS) else []
    )
    if first.size > FEW_NUMBERS and first.ndim > 2:
        axes += [a for a in (1, first.ndim - 1) if 1 < first.shape[a] <= FEW_NUMBERS]
    counts = [first.size if axis is None else first.shape[axis] for axis in axes]
    spreads = [_Spread(count) for count in counts]
    for x in chain([first], samples) if axes else ():
        for axis, spread in zip(axes, spreads, strict=True):
            if x.ndim != first.ndim or spread.count != (x.size if axis is None else x.shape[axis]):
                return range(0), None  # of several sizes
            rows = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
            spread.add(rows.reshape(-1, spread.count).astype(np.float64))
    for axis, spread in zip(axes, spreads, strict=True):
        if spread.samples >= ENOUGH and spread.unlike():
            return range(spread.count), axis
    return range(0), None


class _Spread:
    """How much the columns of rows vary that come one sample after another."""

    def __init__(self, count: int) -> None:
        self.count, self.samples, self.rows = count, 0, 0
        self.offset = np.zeros(count)
        self.sums, self.squares, self.energy = (np.zeros(count) for _ in range(3))

    def add(self, rows: NDArray[np.float64]) -> None:
        if not self.samples:
            self.offset = rows.mean(axis=0)
        self.samples, self.rows = self.samples + 1, self.rows + len(rows)
        self.energy += np.square(rows).sum(axis=0)
        rows = rows - self.offset
        self.sums += rows.sum(axis=0)
        self.squares += np.square(rows).sum(axis=0)

    def unlike(self) -> bool:
        """Whether the deviations of those that vary are."""
        varied = self.squares - self.sums**2 / self.rows
        varied = varied[varied > CONSTANT * self.energy]
        ratio = UNLIKE if self.count <= FEW_NUMBERS else FAR_UNLIKE
        return len(varied) > 0 and bool(varied.max() > ratio**2 * varied.min())
