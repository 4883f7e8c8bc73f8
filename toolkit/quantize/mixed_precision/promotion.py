"""Steps to more bits: the fewest bytes that make the outputs good enough.

A row of steps is the first so many of an order. The shortest that is good is found by bisection.
Where it takes float32, a shorter one may do with weights rounded for it. In the end goes what is
not needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..reconstruction.second_moments import SAMPLES
from ..scheme.macs import macs_of
from .assignments import MEMORY, Mixes
from .precision_change import Move, Setting, without
from .sensitivity import Gain, by_worth
from .subset_selection import picked

KINDS = ("int8", "int16"), ("float32",)
"""Steps to float32 come last: an order of all by what they bring for their bytes may reach for the
dearest too early."""
MAX_FITTED = 128
"""How often steps are tried against limits of size, for each order."""
MAX_REFINEMENTS, FEWEST_REFINEMENTS = 32, 4
JUDGING = 1.5e12
"""Multiply-accumulates that refinements may take by judging."""
LEFT = 0.6
"""What rounding weights for a mix leaves of its loss, as a first guess: 0.62 of text detection's,
all of whose activations are int16."""
MAX_ROUNDINGS = 4
ROUNDED = 3e12
"""Multiply-accumulates that rounding for mixes may take."""

Offer = tuple[Setting, list[Move]]
"""The base of `mixes`, and moves from it."""


class Raising:
    """From a mix that the moves `taken` make and that keeps the limits of size.

    `judged` samples serve max_drop. `anew`: weights that are the nearest may be rounded.
    """

    def __init__(self, mixes: Mixes, taken: list[Move], judged: int, anew: bool) -> None:
        self.mixes, self.taken, self.judged, self.anew = mixes, taken, judged, anew
        self.macs = max(macs_of(mixes.done.floats), 1)
        start = mixes.setting(taken)
        finer = [m for m in mixes.of("int8") if mixes.base.has_4_bits(m)]
        self.size = mixes.bench.size(start)
        gains = mixes.gains([*mixes.of("int16", "float32"), *finer], taken, self._gain)
        mixes.why |= {m: _why(start.has_4_bits(m), g.noise) for m, g in gains.items()}
        room = (mixes.budget.max_bytes or math.inf) - self.size[0]
        fit = {m: g for m, g in gains.items() if g.file <= room}
        orders = [by_worth(fit, KINDS, memory) for memory in (1.0, MEMORY)]
        self.orders = [self._that_hold(order) for order in orders]
        self.place = {m: i for i, m in enumerate(orders[0])}

    def run(self) -> list[Move]:
        """With the fewest steps that make the outputs good, if any do; else the closest."""
        mixes = self.mixes
        rows = [row for order in self.orders for row in self._rows(order)]
        if not rows and (row := self._good_end()) is not None:
            rows = [row]
        offers: list[Offer] = [(mixes.base, self._with(row)) for row in rows]
        if self.anew and (not offers or any(m.to == "float32" for m in mixes.least(offers))):
            offers += self._rounded(self.orders[-1])
        if not offers:
            every = [*self.orders, mixes.of("int16")]
            return mixes.closest(self.taken, *map(self._with, every))
        return self.without_needless(mixes.least(offers))

    def _with(self, steps: list[Move]) -> list[Move]:
        return [*self.taken, *steps]

    def _gain(self, move: Move, removed: float) -> Gain:
        then = self.mixes.bench.size(self.mixes.setting(self._with([move])))
        file, arena = (max(b - a, 0) for a, b in zip(self.size, then, strict=True))
        return Gain(removed, file, arena)

    def _that_hold(self, order: list[Move]) -> list[Move]:
        """The moves in this order, but those that break a limit of size where they come."""

        def hold(steps: list[Move]) -> bool:
            return self.mixes.holds(self._with(steps))

        return picked(order, hold, len(order), MAX_FITTED)

    def _rows(self, steps: list[Move]) -> Iterator[list[Move]]:
        """The fewest first steps, and those of one precision alone, where they do."""
        some = [[m for m in steps if m.to == kind] for kind in ("int8", "int16")]
        for alike in steps, *(some if all(some) else ()):
            row = self._shortest(alike)
            if row is not None:
                yield row

    def _shortest(self, steps: list[Move]) -> list[Move] | None:
        """The fewest first steps that are good; None if all of them are not."""
        if not self.mixes.good(self._with(steps)):
            return None
        return steps[: self._fewest(steps, 0, len(steps))]

    def _good_end(self) -> list[Move] | None:
        """The first steps to int16, or to float32 as well, if all of them hold and are good."""
        of, last = self.mixes.of, len(self.place)
        for steps in of("int16"), of("int16", "float32"):
            if self.mixes.holds(self._with(steps)):
                row = self._shortest(sorted(steps, key=lambda m: self.place.get(m, last)))
                if row is not None:
                    return row
        return None

    def _fewest(self, steps: list[Move], low: int, high: int, most: float = 1.0) -> int:
        """How many first steps within the limits of size lose no more than `most` of what they may,
        by bisection: more than `low`, which lose more, and `high` if no fewer do."""
        tries = math.ceil(math.log2(max(high - low, 1)))
        done = 0
        while high - low > 1:
            middle = (low + high) // 2
            some = self._with(steps[:middle])
            if self.mixes.holds(some) and self.mixes.lost(some) <= most:
                high = middle
            else:
                low = middle
            done += 1
            self.mixes.progress("looking for the fewest steps", done, max(tries, done))
        return high

    def _rounded(self, steps: list[Move]) -> Iterator[Offer]:
        """Rows that are good with weights rounded for them, each shorter than the one before.

        Rounding leaves about the same part of what different rows lose: each is tried that should
        be good by the part that the last one left.
        """
        mixes, base, left = self.mixes, self.mixes.base, LEFT
        low, high = 0 if steps else -1, len(steps) + 1  # `low` is not good
        for _ in range(self._roundings()):
            length = self._fewest(steps, low, min(high, len(steps)), 1 / left)
            if not low < length < high:
                return
            row = self._with(steps[:length])
            before = mixes.lost(row)
            mixes.round(row, anew=True)
            after, holds, offer = mixes.lost(row), mixes.holds(row), (mixes.base, row)
            mixes.base = base
            if after <= 1.0 and holds:
                yield offer
                high = length
            else:
                low = length
            if after > 0 and before < math.inf:
                left = after / before

    def _roundings(self) -> int:
        """How many mixes may have weights of their own, by what rounding them takes."""
        bench, done = self.mixes.bench, self.mixes.done
        samples = sum(min(len(some), SAMPLES) for some, _ in bench.weights.parts)
        work = self.macs * len(done.plan.linear) * samples
        return min(max(int(ROUNDED / max(work, 1)), 1), MAX_ROUNDINGS)

    def without_needless(self, moves: list[Move]) -> list[Move]:
        """Without the steps, tried kind by kind from the least worth on, that the others can do
        without."""
        steps = [m for m in moves if m not in self.taken]
        kinds = [k for k in ("float32", "int8", "int16") if any(m.to == k for m in steps)]
        tries = self._refinements()
        for i, kind in enumerate(kinds):
            some = [m for m in steps if m.to == kind]
            some.sort(key=lambda m: -self.place.get(m, len(self.place)))
            first, end = (tries * k // len(kinds) for k in (i, i + 1))
            steps = self._spared(steps, some, range(first, end), tries)
        return self._with(steps)

    def _spared(self, steps: list[Move], some: list[Move], tries: range, total: int) -> list[Move]:
        """`steps` without those of `some` that can be spared."""
        at = iter(tries)

        def spare(gone: list[Move]) -> bool:
            self.mixes.progress("removing what is not needed", next(at) + 1, total)
            rest = self._with(without(steps, gone))
            return self.mixes.holds(rest) and self.mixes.good(rest)

        gone = picked(some, spare, max(len(some) // 4, 1), len(tries))
        return without(steps, gone)

    def _refinements(self) -> int:
        """How many mixes may be tried, by what judging one takes."""
        if self.judged == 0:
            return MAX_REFINEMENTS
        affordable = int(JUDGING / (self.judged * self.macs))
        return min(max(affordable, FEWEST_REFINEMENTS), MAX_REFINEMENTS)


def _why(of_4_bits: bool, noise: float) -> str:
    """Why a step is taken: the noise of the rounding that it takes out, as a part of all."""
    part = f"{noise:.1%} of" if noise < 1 else f"{noise:.1f} times"
    return f"{'4-bit weights alone make' if of_4_bits else 'int8 alone makes'} {part} the noise"
