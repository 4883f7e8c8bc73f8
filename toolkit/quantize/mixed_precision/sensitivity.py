"""What single steps bring for what they take, from few measurements, and their order by that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...progress import Progress
from .precision_change import Move, joined

PARTS = 4
"""A block is measured anew in so many parts."""
NODE_BYTES = 64
"""What a node off int8 costs at least: it is slower even where it takes no bytes."""

Block = tuple[Move, ...]
"""Neighbours of one kind, measured as one."""


@dataclass(frozen=True)
class Gain:
    """Of a step taken alone: the noise that it takes out, and bytes more of file and arena."""

    noise: float
    file: float = 0.0
    arena: float = 0.0


def measured(
    moves: Sequence[Move], most: int, gain: Callable[[Move], Gain], progress: Progress
) -> dict[Move, Gain]:
    """The gain of each move, from about `most` measurements by `gain`.

    Where that is fewer than there are moves, neighbours are measured together, then the blocks that
    bring most in smaller parts. What stays together shares evenly, but for the arena, whose peak
    each may make.
    """
    size = 1 if len(moves) <= most else -(-2 * len(moves) // max(most, 1))
    found: dict[Block, Gain] = {}
    waiting, expected = _blocks(moves, size), min(len(moves), most)
    spent = 0
    while waiting:
        for block in waiting:
            found[block] = gain(joined(block))
            spent += 1
            progress("measuring precisions", spent, max(expected, spent))
        large = [b for b in found if len(b) > 1]
        best = max(large, key=lambda b: found[b].noise, default=())
        waiting = _blocks(best, -(-len(best) // PARTS)) if best else []
        if spent + len(waiting) > most:
            break
        found.pop(best, None)
    known = {m: _share(g, len(block)) for block, g in found.items() for m in block}
    return {m: known[m] for m in moves}


def _blocks(moves: Sequence[Move], size: int) -> list[Block]:
    """Neighbours of one kind, `size` at a time."""
    found: list[Block] = []
    for kind in dict.fromkeys(m.to for m in moves):
        same = [m for m in moves if m.to == kind]
        found += [tuple(same[i : i + size]) for i in range(0, len(same), size)]
    return found


def _share(gain: Gain, members: int) -> Gain:
    return Gain(gain.noise / members, gain.file / members, gain.arena)


def by_worth(
    gains: Mapping[Move, Gain], kinds: Iterable[Iterable[str]], memory: float
) -> list[Move]:
    """The moves that bring anything, by what they bring for their bytes, one set of kinds after
    the other; a byte of arena counts `memory` bytes of file.

    An arena is as large as its largest moment: a step is charged for what it needs beyond those
    before it.
    """
    order: list[Move] = []
    arena = 0.0
    for some in kinds:
        left = {m: g for m, g in gains.items() if m.to in set(some) and g.noise > 0}
        while left:
            costs = {m: g.file + memory * max(g.arena - arena, 0.0) for m, g in left.items()}
            worth = {m: left[m].noise / (c + NODE_BYTES) for m, c in costs.items()}
            best = max(worth, key=worth.__getitem__)
            arena = max(arena, left.pop(best).arena)
            order.append(best)
    return order
