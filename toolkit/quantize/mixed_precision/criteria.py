"""What a configuration must keep, and which of several is best by that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..budget import Budget
from .evaluator import Evaluator
from .precision_change import Configuration, PrecisionAssignment
from .tuning import ARENA_WEIGHT, METRIC_TOLERANCE, MOST_DB


class Criteria:
    """The limits of `budget` on what `evaluator` measures; remembers what was asked about."""

    def __init__(self, budget: Budget, evaluator: Evaluator) -> None:
        self.budget, self.evaluator = budget, evaluator
        self.max_drop = budget.drop_limit * (1 + METRIC_TOLERANCE)
        self._tried: dict[PrecisionAssignment, Configuration] = {}

    def fits(self, configuration: Configuration) -> bool:
        """Whether it keeps the limits of size."""
        return self._fits(configuration.assignment)

    def _fits(self, assignment: PrecisionAssignment) -> bool:
        if not self.budget.limits_size:
            return True
        return self.budget.holds(self.evaluator.size(assignment))

    def remember(self, configuration: Configuration) -> None:
        """Let it be one of those that `closest` looks at."""
        self._tried.setdefault(configuration.assignment, configuration)

    def is_good(self, configuration: Configuration) -> bool:
        """Whether the outputs lose no more than they may."""
        return self.loss(configuration) <= 1.0

    def loss(self, configuration: Configuration) -> float:
        """What the outputs lose, as a part of what they may: in amplitude of noise, or where that
        is good, of the metric if it is more."""
        assignment, wanted = configuration.assignment, self.budget
        self.remember(configuration)
        loss = 0.0
        if wanted.min_sqnr is not None:
            lack = wanted.min_sqnr - self.evaluator.score(assignment).mean_db
            loss = 10 ** (min(lack, MOST_DB) / 20)
        if wanted.max_drop is None or loss > 1.0:
            return loss
        drop = self.evaluator.drop(assignment)
        if drop <= self.max_drop:  # both may be 0
            return max(loss, min(drop / self.max_drop, 1.0) if drop > 0 else 0.0)
        return drop / self.max_drop if self.max_drop else math.inf

    def cheapest(self, configurations: Sequence[Configuration]) -> Configuration:
        """The one that takes the least file and arena."""
        sizes = [self.evaluator.size(c.assignment) for c in configurations]
        costs = [size.storage + ARENA_WEIGHT * size.memory for size in sizes]
        return configurations[costs.index(min(costs))]

    def closest(self, configurations: Iterable[Configuration]) -> Configuration:
        """The best that fits of these and of what was tried, none of it good."""
        for configuration in configurations:
            self.remember(configuration)
        return self._tried[min(filter(self._fits, self._tried), key=self._distance)]

    def _distance(self, assignment: PrecisionAssignment) -> tuple[float, float]:
        """How bad a choice is: what the metric loses if that counts, then noise."""
        if self.budget.max_drop is not None and assignment not in self.evaluator.scores:
            return self.evaluator.drop(assignment), 0.0
        drop = 0.0 if self.budget.max_drop is None else self.evaluator.drop(assignment)
        return drop, -self.evaluator.score(assignment).mean_db
