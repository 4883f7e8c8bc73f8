"""The layers that a limit has room for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

PARTS = 2000
"""That room is divided into; what a layer takes is rounded up to whole ones."""


def most_within(values: Mapping[str, int], costs: Mapping[str, float]) -> frozenset[str]:
    """The names with the greatest sum of values whose costs are 1 in all, at most: the knapsack
    problem, by dynamic programming. What costs nothing is always among them."""
    free = {name for name in values if costs[name] <= 0}
    paid = [name for name in values if 0 < costs[name] <= 1]
    best = np.zeros(PARTS + 1)
    taken: list[np.ndarray[tuple[int], np.dtype[np.bool_]]] = []
    for name in paid:
        need = int(np.ceil(costs[name] * PARTS))
        with_it = np.full(PARTS + 1, -1.0)
        with_it[need:] = best[: PARTS + 1 - need] + values[name]
        taken.append(with_it > best)
        best = np.maximum(best, with_it)
    room, found = PARTS, set(free)
    for name, better in zip(reversed(paid), reversed(taken), strict=True):
        if better[room]:
            found.add(name)
            room -= int(np.ceil(costs[name] * PARTS))
    return frozenset(found)
