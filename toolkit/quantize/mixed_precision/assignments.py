"""Mixes of precisions under a budget: what each loses of what it may, and the closest of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ...progress import Progress
from ..budget import Budget
from ..result import Quantized
from ..scheme.precision import Precision
from .evaluator import Bench
from .precision_change import Move, Setting
from .sensitivity import Gain, measured

ROUNDING = 1e-9
"""Part of a limit that differences of metrics may be beyond it, as floats are."""
MOST_DB = 600.0
"""More than two ratios of decibels.py differ by."""
MEMORY = 1 / 16
"""What a byte of arena counts, in bytes of file: every layer uses it again, and max_arena is there
for those who lack it."""


class Mixes:
    """What moves make of `base`: the setting that they start from, with its weights.

    `why` a move may be taken, in words.
    """

    def __init__(self, done: Quantized, budget: Budget, bench: Bench, progress: Progress) -> None:
        self.done, self.budget, self.bench, self.progress = done, budget, bench, progress
        self.base = bench.base
        self.most_lost = budget.drop_limit * (1 + ROUNDING)
        self.why: dict[Move, str] = {}
        self._tried: dict[Setting, list[Move]] = {}
        self._rounded: set[tuple[Setting, bool]] = set()

    def setting(self, moves: list[Move]) -> Setting:
        return self.base.with_moves(moves)

    def of(self, *kinds: Precision) -> list[Move]:
        """The moves to these."""
        return [m for m in self.bench.moves if m.to in kinds]

    def holds(self, moves: list[Move]) -> bool:
        """Whether they keep the limits of size."""
        return self._fits(self.setting(moves))

    def _fits(self, setting: Setting) -> bool:
        if self.budget.max_bytes is None and self.budget.max_arena is None:
            return True
        return self.budget.holds(*self.bench.size(setting))

    def good(self, moves: list[Move]) -> bool:
        """Whether the outputs lose no more than they may."""
        return self.lost(moves) <= 1.0

    def lost(self, moves: list[Move]) -> float:
        """What the outputs lose, as a part of what they may: in amplitude of noise, or where that
        is good, of the metric if it is more."""
        setting, wanted = self.setting(moves), self.budget
        self._tried.setdefault(setting, moves)
        lost = 0.0
        if wanted.min_sqnr is not None:
            lack = wanted.min_sqnr - self.bench.score(setting).mean_db
            lost = 10 ** (min(lack, MOST_DB) / 20)
        if wanted.max_drop is None or lost > 1.0:
            return lost
        drop = self.bench.drop(setting)
        if drop <= self.most_lost:  # both may be 0
            return max(lost, min(drop / self.most_lost, 1.0) if drop > 0 else 0.0)
        return drop / self.most_lost if self.most_lost else math.inf

    def round(self, moves: list[Move], anew: bool = False) -> None:
        """Round weights for the mix that these moves make, if that gains: those for others make up
        for errors that it may not have. `anew`: those that are the nearest as well."""
        before = self.setting(moves)
        if (moves or anew) and (before, anew) not in self._rounded:
            at = self.bench.rounded_for(before, anew)
            self._rounded |= {(before, anew), (at, False), (at, anew)}
            self.base = replace(self.base, weights=at.weights)

    def gains(
        self, moves: list[Move], taken: list[Move], gain: Callable[[Move, float], Gain]
    ) -> dict[Move, Gain]:
        """Of each move, `gain` of it and of the noise that it takes out, as a part of what the mix
        by those `taken` makes: the mean over the outputs, of which mean_db is the logarithm."""
        start = self.setting(taken)
        whole = self.bench.few.score(self.bench.plan(start), self.done.ranges)

        def alone(move: Move) -> Gain:
            before, after = self.bench.alone(move, start)
            return gain(move, whole.part(before - after))

        return measured(moves, self.bench.measurable, alone, self.progress)

    def least(self, offers: list[tuple[Setting, list[Move]]]) -> list[Move]:
        """The moves of the offer, (base, moves), that costs least; its base is taken."""
        sizes = [self.bench.size(base.with_moves(moves)) for base, moves in offers]
        costs = [file + MEMORY * arena for file, arena in sizes]
        self.base, moves = offers[costs.index(min(costs))]
        return moves

    def closest(self, *offers: list[Move]) -> list[Move]:
        """The best of these and of what was tried, none of it good; its base is taken."""
        for moves in offers:
            self._tried.setdefault(self.setting(moves), moves)
        best = min(filter(self._fits, self._tried), key=self._distance)
        self.base = replace(self.base, group=best.group, weights=best.weights)
        return self._tried[best]

    def _distance(self, setting: Setting) -> tuple[float, float]:
        """How bad a choice is: what the metric loses if that counts, then noise."""
        if self.budget.max_drop is not None and setting not in self.bench.scores:
            return self.bench.drop(setting), 0.0
        lost = 0.0 if self.budget.max_drop is None else self.bench.drop(setting)
        return lost, -self.bench.score(setting).mean_db
