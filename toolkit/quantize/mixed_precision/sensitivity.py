"""What single steps bring for what they take, from few measurements, and their order by that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...progress import Progress
from .precision_change import PrecisionChange, merged
from .tuning import BLOCK_PARTS, NODE_BYTES

Block = tuple[PrecisionChange, ...]
"""Neighbours of one kind, measured as one."""


@dataclass(frozen=True)
class Gain:
    """Of a step taken alone: the noise that it takes out, and bytes more of file and arena."""

    noise: float
    file: float = 0.0
    arena: float = 0.0


def measure_gains(
    changes: Sequence[PrecisionChange],
    most: int,
    gain: Callable[[PrecisionChange], Gain],
    progress: Progress,
) -> dict[PrecisionChange, Gain]:
    """The gain of each change, from about `most` measurements by `gain`.

    Where that is fewer than there are changes, neighbours are measured together, then the blocks
    that bring most in smaller parts. What stays together shares evenly, but for the arena, whose
    peak each may make.
    """
    size = 1 if len(changes) <= most else -(-2 * len(changes) // max(most, 1))
    found: dict[Block, Gain] = {}
    waiting, expected = _blocks(changes, size), min(len(changes), most)
    spent = 0
    while waiting:
        for block in waiting:
            found[block] = gain(merged(block))
            spent += 1
            progress("measuring precisions", spent, max(expected, spent))
        large = [b for b in found if len(b) > 1]
        best = max(large, key=lambda b: found[b].noise, default=())
        waiting = _blocks(best, -(-len(best) // BLOCK_PARTS)) if best else []
        if spent + len(waiting) > most:
            break
        found.pop(best, None)
    known = {m: _share(g, len(block)) for block, g in found.items() for m in block}
    return {m: known[m] for m in changes}


def _blocks(changes: Sequence[PrecisionChange], size: int) -> list[Block]:
    """Neighbours of one kind, `size` at a time."""
    found: list[Block] = []
    for kind in dict.fromkeys(m.to for m in changes):
        same = [m for m in changes if m.to == kind]
        found += [tuple(same[i : i + size]) for i in range(0, len(same), size)]
    return found


def _share(gain: Gain, members: int) -> Gain:
    return Gain(gain.noise / members, gain.file / members, gain.arena)


def rank_by_worth(
    gains: Mapping[PrecisionChange, Gain], kinds: Iterable[Iterable[str]], memory: float
) -> list[PrecisionChange]:
    """The changes that bring anything, by what they bring for their bytes, one set of kinds after
    the other; a byte of arena counts `memory` bytes of file.

    An arena is as large as its largest moment: a step is charged for what it needs beyond those
    before it.
    """
    order: list[PrecisionChange] = []
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
