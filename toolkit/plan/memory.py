"""Lifetimes -> offsets: where in the arena each buffer lies.

Offset assignment is the dynamic storage allocation problem (NP-hard). Several greedy orders are
tried, then swaps of the best one; the search stops at once when it meets the lower bound, which it
mostly does. Deterministic: the random source has a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

TRIES = 400
"""Orders of the buffers tried for a small arena, beyond the first four."""


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
    bound = lower_bound(buffers, align)
    indices = list(range(len(buffers)))

    def span(i: int) -> int:
        return buffers[i].last - buffers[i].first

    together = _alive_together(buffers)
    starts = [
        sorted(indices, key=lambda i: (-buffers[i].size, buffers[i].first)),
        sorted(indices, key=lambda i: (-buffers[i].size * (span(i) + 1), buffers[i].first)),
        sorted(indices, key=lambda i: (buffers[i].first, -buffers[i].size)),
        sorted(indices, key=lambda i: (-span(i), -buffers[i].size)),
    ]
    best_order: list[int] = []
    best: tuple[int, list[int]] | None = None
    for order in starts:
        found = _first_fit(buffers, order, together, align)
        if best is None or found[0] < best[0]:
            best, best_order = found, order
    assert best is not None
    rng = random.Random(0)
    for _ in range(tries if len(buffers) > 2 else 0):
        if best[0] <= bound:
            break
        order = best_order.copy()
        i, j = rng.sample(indices, 2)
        order.insert(j, order.pop(i))
        found = _first_fit(buffers, order, together, align)
        if found[0] <= best[0]:
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


def _first_fit(
    buffers: Sequence[Buffer],
    order: Sequence[int],
    together: Sequence[Sequence[int]],
    align: int,
) -> tuple[int, list[int]]:
    """Each buffer, in this order, at the lowest offset that is free during its life."""
    offsets = [-1] * len(buffers)
    total = 0
    for i in order:
        size, at = buffers[i].size, 0
        placed = [j for j in together[i] if offsets[j] >= 0]
        for low, high in sorted((offsets[j], offsets[j] + buffers[j].size) for j in placed):
            if at + size <= low:
                break
            at = max(at, round_up(high, align))
        offsets[i] = at
        total = max(total, round_up(at + size, align))
    return total, offsets
