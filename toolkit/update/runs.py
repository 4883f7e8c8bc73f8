"""Which runs make up a new file: differences to the old file, copies within, literal bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..runtime.updates import COPY, DIFFERENCE, LITERAL, Run

_KEY = 8
"""Bytes that must be equal to propose an alignment of both files."""
_ALIGNMENTS = 8
_BLOCK = 32
"""Bytes that one decision between alignments is about, and the price in bits of another one."""
_SWITCH = 48.0
_WORD = 4
_CHAIN = 12
"""Bytes of the shortest copy, and earlier places of the same bytes that are compared."""
_COPY_BITS = 12.0
"""What a copy costs beside the digits of its length and distance."""
_FURTHEST = 4096
"""Bytes that are compared at once, at most."""

Bytes = NDArray[np.uint8]


def runs(new: bytes, old: bytes) -> list[Run]:
    """Runs that make up `new` in order, short when coded after `old`, which may be empty."""
    after, before = np.frombuffer(new, np.uint8), np.frombuffer(old, np.uint8)
    costs = _bits(after)
    found: list[Run] = []
    for begin, end, shift in _aligned(after, before, costs):
        if shift is None:
            found += _copies(new, begin, end, costs)
        else:
            found.append((DIFFERENCE, end - begin, begin + shift))
    return found


def _bits(values: Bytes) -> NDArray[np.float64]:
    """What each value of a byte costs, by how often it occurs."""
    count = np.bincount(values, minlength=256) + 0.5
    return np.asarray(np.log2(count.sum() / count))


def _aligned(
    new: Bytes, old: Bytes, literal: NDArray[np.float64]
) -> list[tuple[int, int, int | None]]:
    """Parts [begin, end) of the new file: the shift to the old bytes to take differences to, or
    None. The cheapest path through blocks, by the cost of differences as they are distributed."""
    if not len(old):
        return [(0, len(new), None)]
    shifts = _shifts(new, old)
    starts = np.arange(0, len(new), _BLOCK)
    costs = [np.add.reduceat(literal[new], starts)]
    for shift in shifts:
        at = np.arange(len(new)) + shift
        inside = (at >= 0) & (at < len(old))
        differences = new - old[np.clip(at, 0, len(old) - 1)]
        near = np.add.reduceat((~inside).astype(float), starts) == 0
        likely = np.repeat(_near(differences, starts), _BLOCK)[: len(new)] & inside
        bits = _bits(differences[likely]) if likely.any() else np.full(256, 8.0)
        costs.append(np.where(near, np.add.reduceat(bits[differences], starts), np.inf))
    return _path(np.stack(costs, 1), [None, *shifts], len(new))


def _near(differences: Bytes, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Blocks whose differences are small, half of them or more."""
    small = np.abs(differences.view(np.int8).astype(np.int16)) <= 8
    count = np.add.reduceat(np.ones(len(small)), starts)
    return np.asarray(np.add.reduceat(small.astype(float), starts) * 2 >= count)


def _shifts(new: Bytes, old: Bytes) -> list[int]:
    """Distances between the files at which most bytes agree, the same place and end among them."""
    counts: dict[int, int] = {}
    if min(len(new), len(old)) >= _KEY:
        theirs, where = np.unique(_keys(old), return_index=True)
        mine = _keys(new)
        index = np.minimum(np.searchsorted(theirs, mine), len(theirs) - 1)
        equal = theirs[index] == mine
        values, many = np.unique((where[index] - np.arange(len(mine)))[equal], return_counts=True)
        best = np.argsort(-many, kind="stable")[:_ALIGNMENTS]
        counts = {int(values[i]): int(many[i]) for i in best}
    return list(dict.fromkeys([0, len(old) - len(new), *counts]))


def _keys(values: Bytes) -> NDArray[np.uint64]:
    windows = np.lib.stride_tricks.sliding_window_view(values, _KEY)
    return np.ascontiguousarray(windows).view(np.uint64)[:, 0]


def _path(
    costs: NDArray[np.float64], shifts: list[int | None], size: int
) -> list[tuple[int, int, int | None]]:
    """The cheapest choice of one of `shifts` for each block, costs [blocks, shifts]."""
    total, came = costs[0], []
    for block in costs[1:]:
        best = int(np.argmin(total))
        stay = total <= total[best] + _SWITCH
        came.append(np.where(stay, np.arange(len(total)), best))
        total = np.where(stay, total, total[best] + _SWITCH) + block
    state = int(np.argmin(total))
    states = [state]
    for back in reversed(came):
        state = int(back[state])
        states.append(state)
    parts: list[tuple[int, int, int | None]] = []
    for i, state in enumerate(reversed(states)):
        begin, end, shift = i * _BLOCK, min((i + 1) * _BLOCK, size), shifts[state]
        if parts and parts[-1][2] == shift:
            begin = parts.pop()[0]
        parts.append((begin, end, shift))
    return parts


def _copies(new: bytes, begin: int, end: int, costs: NDArray[np.float64]) -> list[Run]:
    """Literals and copies that make up [begin, end) of the new file."""
    saved = np.concatenate([[0.0], np.cumsum(costs[np.frombuffer(new, np.uint8)[begin:end]])])
    last: dict[bytes, int] = {}
    earlier: dict[int, int] = {}
    found: list[Run] = []
    at = literal = begin
    while at < end:
        gain, length, source = 0.0, 1, at
        place = last.get(new[at : at + _WORD]) if at + _WORD <= end else None
        for _ in range(_CHAIN):
            if place is None:
                break
            same = _common(new, place, at, end)
            won = saved[at + same - begin] - saved[at - begin]
            won -= _COPY_BITS + 1.5 * np.log2(at - place) + 2 * np.log2(same)
            if won > gain:
                gain, length, source = won, same, place
            place = earlier.get(place)
        if gain > 0:
            if literal < at:
                found.append((LITERAL, at - literal, 0))
            found.append((COPY, length, source))
        for i in range(at, min(at + length, end - _WORD + 1)):
            key = new[i : i + _WORD]
            if key in last:
                earlier[i] = last[key]
            last[key] = i
        at += length
        literal = at if gain > 0 else literal
    return [*found, (LITERAL, end - literal, 0)] if literal < end else found


def _common(new: bytes, place: int, at: int, end: int) -> int:
    """How many bytes from `place` on are those from `at` on, before `end`."""
    same, step, growing = 0, 16, True
    while step:
        many = min(step, end - at - same)
        begin = place + same
        if many and new[begin : begin + many] == new[at + same : at + same + many]:
            same += many
            step = min(2 * step, _FURTHEST) if growing else step // 2
        else:
            growing, step = False, step // 2
    return same
