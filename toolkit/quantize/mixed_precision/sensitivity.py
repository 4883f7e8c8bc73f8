"""Noise removed per byte by single changes, from few measurements, and their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...progress import Progress
from .precision_change import PrecisionChange, merged
from .tuning import BLOCK_PARTS, NODE_BYTES

Block = tuple[PrecisionChange, ...]
"""Adjacent changes of one kind, measured together."""


@dataclass(frozen=True)
class Gain:
    """The noise removed by a single change, and its additional bytes of file and arena."""

    noise: float
    file: float = 0.0
    arena: float = 0.0


def measure_gains(
    changes: Sequence[PrecisionChange],
    most: int,
    gain: Callable[[PrecisionChange], Gain],
    progress: Progress,
    prepare: Callable[[Sequence[PrecisionChange]], None] = lambda _: None,
) -> dict[PrecisionChange, Gain]:
    """The gain of each change, from about `most` measurements by `gain`; `prepare` gets several
    changes that are measured next.

    If there are more changes, adjacent ones are measured together, then the most valuable blocks in
    smaller parts. Changes that remain in one block share its gain equally, except for the arena,
    whose peak each of them may cause.
    """
    size = 1 if len(changes) <= most else -(-2 * len(changes) // max(most, 1))
    found: dict[Block, Gain] = {}
    waiting, expected = _blocks(changes, size), min(len(changes), most)
    spent = 0
    while waiting:
        prepare([merged(block) for block in waiting])
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
    """Adjacent changes of one kind, `size` at a time."""
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
    """The changes with a gain, by gain per byte, one set of kinds after another; a byte of arena
    counts as `memory` bytes of file.

    The arena is determined by its peak, so a change costs only what it needs beyond the changes
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
