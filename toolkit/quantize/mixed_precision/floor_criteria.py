"""The accuracy floor as limits on a configuration: how good it must be, and what it may add."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from ..budget import Budget
from ..quality import Quality
from .criteria import Criteria
from .evaluator import Evaluator
from .precision_change import Configuration, PrecisionAssignment

ALIKE = 10 ** (0.5 / 20)
"""Losses up to this factor apart are alike, if none is good: bytes decide. Half a decibel."""


@dataclass(frozen=True)
class Growth:
    """Limits on what promotion may add to int8: shares of its bytes, arena and work, and amounts
    that are always allowed."""

    file: float
    arena: float
    work: float
    least_bytes: int
    least_arena: int
    least_work: int

    def limits(self, file: int, arena: int, work: int) -> tuple[int, int, int]:
        return (
            file + max(int(self.file * file), self.least_bytes),
            arena + max(int(self.arena * arena), self.least_arena),
            work + max(int(self.work * work), self.least_work),
        )

    def in_words(self) -> str:
        return (
            f"file +{self.file:.0%} or {self.least_bytes:,} bytes, "
            f"arena +{self.arena:.0%} or {self.least_arena:,} bytes, "
            f"instructions +{self.work:.0%} or {self.least_work:,}"
        )


class FloorCriteria(Criteria):
    """Good by quality.py, within `growth` of what the base of `evaluator` takes; `strict`: with few
    answers that differ, too.

    A whole float file that is no larger than int8's may take the arena and time that it does: it is
    exact. A larger one may where it keeps the limits, as other mixes do.
    """

    def __init__(self, evaluator: Evaluator, growth: Growth, strict: bool = False) -> None:
        self.strict, self._growth = strict, growth
        super().__init__(Budget(), evaluator)
        self.by_worst = True

    @cached_property
    def _limits(self) -> tuple[int, int, int]:
        """Bytes of the file and the arena, and work; known once asked: that takes a file."""
        base = self.evaluator.base
        size = self.evaluator.size(base)
        return self._growth.limits(size.storage, size.memory, self.evaluator.work(base))

    def _fits(self, assignment: PrecisionAssignment) -> bool:
        if not self.evaluator.is_float(assignment):
            return self.within(assignment)
        whole, base = (self.evaluator.size(a).storage for a in (assignment, self.evaluator.base))
        return whole <= base or self.within(assignment)

    def affords(self, configuration: Configuration) -> bool:
        """Whether it keeps the limit on instructions, which takes no file to measure."""
        return self._affords(configuration.assignment)

    def _affords(self, assignment: PrecisionAssignment) -> bool:
        return self.evaluator.work(assignment) <= self._limits[2]

    def within(self, assignment: PrecisionAssignment) -> bool:
        """Whether it keeps every limit."""
        if not self._affords(assignment):  # before a file is made
            return False
        file, arena, _ = self.evaluator.size(assignment)
        return file <= self._limits[0] and arena <= self._limits[1]

    def loss(self, configuration: Configuration) -> float:
        self.remember(configuration)
        return self._quality(configuration).loss(self.strict)

    def closest(self, configurations: Iterable[Configuration]) -> Configuration:
        """The cheapest of those that are about as close to good as the best one."""
        best = super().closest(configurations)
        closest = self._quality(best)
        limit = ALIKE * closest.loss()
        if not math.isfinite(limit):
            return best
        fit = [(c, self._quality(c)) for c in self._tried.values() if self.fits(c)]
        return self.cheapest([c for c, q in fit if q.level == closest.level and q.loss() <= limit])

    def _quality(self, configuration: Configuration) -> Quality:
        return self.evaluator.quality(configuration.assignment)

    def _distance(self, assignment: PrecisionAssignment) -> tuple[float, float]:
        quality = self.evaluator.quality(assignment)
        return quality.loss(self.strict), -self.evaluator.score(assignment).mean_db
