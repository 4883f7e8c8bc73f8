"""Numbers or channels of an output that differ too much in magnitude to be evaluated together, and
numbers that differ too little from each other to be evaluated only as they are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

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


class Parts(NamedTuple):
    """The numbers of a tensor, or the channels along an axis, that are evaluated one by one, if
    any; and whether the numbers rise and fall together, so that what they differ by is evaluated
    too: the best of several actions has the largest value."""

    each: range = range(0)
    along: int | None = None
    together: bool = False


def unlike_parts(samples: Iterable[Array]) -> Parts:
    """The numbers of a small tensor, or the channels of a larger one, if the magnitudes by which
    they vary over the samples are unlike; none, but `together`, if most of what a few numbers vary
    by is common to all."""
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
                return Parts()  # of several sizes
            rows = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
            spread.add(rows.reshape(-1, spread.count).astype(np.float64))
    for axis, spread in zip(axes, spreads, strict=True):
        if spread.samples >= ENOUGH and spread.unlike():
            return Parts(range(spread.count), axis)
    few = axes[:1] == [None] and first.size <= FEW_NUMBERS
    return Parts(together=few and spreads[0].samples >= ENOUGH and spreads[0].together())


class _Spread:
    """How much the columns of rows vary that come one sample after another."""

    def __init__(self, count: int) -> None:
        self.count, self.samples, self.rows = count, 0, 0
        self.offset = np.zeros(count)
        self.sums, self.squares, self.energy = (np.zeros(count) for _ in range(3))
        self.common = 0.0  # the squares of the rows' sums

    def add(self, rows: NDArray[np.float64]) -> None:
        if not self.samples:
            self.offset = rows.mean(axis=0)
        self.samples, self.rows = self.samples + 1, self.rows + len(rows)
        self.energy += np.square(rows).sum(axis=0)
        rows = rows - self.offset
        self.sums += rows.sum(axis=0)
        self.common += float(np.square(rows.sum(axis=1)).sum())
        self.squares += np.square(rows).sum(axis=0)

    def _varied(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.squares - self.sums**2 / self.rows
        return found

    def together(self) -> bool:
        """Whether the mean of the numbers varies far more than they do around it."""
        common = (self.common - self.sums.sum() ** 2 / self.rows) / self.count
        differing = self._varied().sum() - common
        return bool(CONSTANT * self.energy.sum() < differing < common / UNLIKE**2)

    def unlike(self) -> bool:
        """Whether the deviations of those that vary are."""
        varied = self._varied()
        varied = varied[varied > CONSTANT * self.energy]
        ratio = UNLIKE if self.count <= FEW_NUMBERS else FAR_UNLIKE
        return len(varied) > 0 and bool(varied.max() > ratio**2 * varied.min())
