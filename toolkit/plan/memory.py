"""Lifetimes -> offsets: where in the arena each buffer lies.

Offset assignment is the dynamic storage allocation problem (NP-hard). Several greedy orders are
tried, then swaps of the best one; the search stops at once when it meets the lower bound, which it
mostly does. Deterministic: the random source has a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

TRIES = 400
"""Orders of the buffers tried for a small arena, beyond the first four."""
MOST_PAIRS = 4_000_000
"""Of buffers alive together, that all tries look at: a network with 2,000 tensors that one Concat
reads has 4.6 million, of which a try takes seconds."""


@dataclass(frozen=True)
class Buffer:
    """`size` bytes that are needed from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Layout:
    """Byte offset of each buffer, the bytes they take, and a bound no layout can beat."""

    offsets: list[int]
    total: int
    bound: int


def round_up(n: int, align: int) -> int:
    return (n + align - 1) // align * align


def lower_bound(buffers: Sequence[Buffer], align: int) -> int:
    """The most bytes that are alive at one step."""
    events: dict[int, int] = {}
    for b in buffers:
        size = round_up(b.size, align)
        events[b.first] = events.get(b.first, 0) + size
        events[b.last + 1] = events.get(b.last + 1, 0) - size
    peak = alive = 0
    for step in sorted(events):
        alive += events[step]
        peak = max(peak, alive)
    return peak


def place(buffers: Sequence[Buffer], align: int, tries: int = TRIES) -> Layout:
    """Offsets, multiples of `align`, such that buffers alive together do not overlap."""
    return _placed(tuple(buffers), align, tries)


@lru_cache(maxsize=64)  # a search writes many files with the same buffers
def _placed(buffers: tuple[Buffer, ...], align: int, tries: int) -> Layout:
    bound = lower_bound(buffers, align)
    indices = list(range(len(buffers)))

    def span(i: int) -> int:
        return buffers[i].last - buffers[i].first

    starts = [
        sorted(indices, key=lambda i: (-buffers[i].size, buffers[i].first)),
        sorted(indices, key=lambda i: (-buffers[i].size * (span(i) + 1), buffers[i].first)),
        sorted(indices, key=lambda i: (buffers[i].first, -buffers[i].size)),
        sorted(indices, key=lambda i: (-span(i), -buffers[i].size)),
    ]
    fit = _FirstFit(buffers, align)
    best_order: list[int] = []
    best: tuple[int, list[int]] | None = None
    for order in starts:
        if best is not None and best[0] <= bound:
            break
        found = fit.place(order)
        if found is not None and (best is None or found[0] < best[0]):
            best, best_order = found, order
    assert best is not None
    rng = random.Random(0)
    tries = min(tries, MOST_PAIRS // max(fit.pairs, 1))
    for _ in range(tries if len(buffers) > 2 else 0):
        if best[0] <= bound:
            break
        order = best_order.copy()
        i, j = rng.sample(indices, 2)
        order.insert(j, order.pop(i))
        found = fit.place(order, min(i, j), best)
        if found is not None:
            best, best_order = found, order
    return Layout(best[1], best[0], bound)


def _alive_together(buffers: Sequence[Buffer]) -> list[list[int]]:
    """Of each buffer, the others that are needed at a step when it is."""
    found: list[list[int]] = [[] for _ in buffers]
    alive: list[int] = []
    for i in sorted(range(len(buffers)), key=lambda i: buffers[i].first):
        alive = [j for j in alive if buffers[j].last >= buffers[i].first]
        for j in alive:
            found[i].append(j)
            found[j].append(i)
        alive.append(i)
    return found


class _FirstFit:
    """Each buffer, in some order, at the lowest offset that is free during its life."""

    def __init__(self, buffers: Sequence[Buffer], align: int) -> None:
        self._sizes = [b.size for b in buffers]
        self._together = _alive_together(buffers)
        self._align = align
        self.pairs = sum(map(len, self._together))

    def place(
        self, order: Sequence[int], same: int = 0, best: tuple[int, list[int]] | None = None
    ) -> tuple[int, list[int]] | None:
        """The bytes taken and all offsets; None if that is more than `best`, whose order begins
        with the same `same` buffers."""
        sizes, align = self._sizes, self._align
        offsets, ends, total = [-1] * len(order), [0] * len(order), 0
        if best is not None:
            for i in order[:same]:
                offsets[i] = best[1][i]
                ends[i] = round_up(offsets[i] + sizes[i], align)
                total = max(total, ends[i])
        for i in order[same:]:
            size, at = sizes[i], 0
            placed = [(offsets[j], ends[j]) for j in self._together[i] if offsets[j] >= 0]
            placed.sort()
            for low, high in placed:
                if at + size <= low:
                    break
                if high > at:
                    at = high
            offsets[i] = at
            ends[i] = round_up(at + size, align)
            if ends[i] > total:
                total = ends[i]
                if best is not None and total > best[0]:
                    return None
        return total, offsets
