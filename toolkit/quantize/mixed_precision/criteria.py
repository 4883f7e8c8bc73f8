"""The limits on a configuration, and the comparison of configurations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..budget import Budget
from .evaluator import Evaluator
from .precision_change import Configuration, PrecisionAssignment
from .tuning import ARENA_WEIGHT, METRIC_TOLERANCE, MOST_DB


class Criteria:
    """The limits of `budget`, measured by `evaluator`; remembers the configurations asked about.
    `by_worst`: the worst output decides, not the mean over all."""

    def __init__(self, budget: Budget, evaluator: Evaluator) -> None:
        self.budget, self.evaluator = budget, evaluator
        self.by_worst = budget.min_sqnr is not None and evaluator.several_outputs
        self.max_drop = budget.drop_limit * (1 + METRIC_TOLERANCE)
        self._tried: dict[PrecisionAssignment, Configuration] = {}

    def fits(self, configuration: Configuration) -> bool:
        """Whether it meets the size limits."""
        return self._fits(configuration.assignment)

    def _fits(self, assignment: PrecisionAssignment) -> bool:
        if not self.budget.limits_size:
            return True
        return self.budget.holds(self.evaluator.size(assignment))

    def remember(self, configuration: Configuration) -> None:
        """Add it to the candidates of `closest`."""
        self._tried.setdefault(configuration.assignment, configuration)

    def is_good(self, configuration: Configuration) -> bool:
        """Whether the loss at the outputs is within the limits."""
        return self.loss(configuration) <= 1.0

    def loss(self, configuration: Configuration) -> float:
        """The loss relative to the limit: the amplitude of the noise or, if that is within its
        limit, the drop of the metric if it is larger."""
        assignment, wanted = configuration.assignment, self.budget
        self.remember(configuration)
        loss = 0.0
        if wanted.min_sqnr is not None:
            lack = wanted.min_sqnr - self.evaluator.least_db(assignment)
            loss = 10 ** (min(lack, MOST_DB) / 20)
        if wanted.max_drop is None or loss > 1.0:
            return loss
        drop = self.evaluator.drop(assignment)
        if drop <= self.max_drop:  # both may be 0
            return max(loss, min(drop / self.max_drop, 1.0) if drop > 0 else 0.0)
        return drop / self.max_drop if self.max_drop else math.inf

    def cheapest(self, configurations: Sequence[Configuration]) -> Configuration:
        """The one with the smallest file and arena."""
        sizes = [self.evaluator.size(c.assignment) for c in configurations]
        costs = [size.storage + ARENA_WEIGHT * size.memory for size in sizes]
        return configurations[costs.index(min(costs))]

    def closest(self, configurations: Iterable[Configuration]) -> Configuration:
        """The best of these and of all tried configurations that fits, if none is good."""
        for configuration in configurations:
            self.remember(configuration)
        return self._tried[min(filter(self._fits, self._tried), key=self._distance)]

    def _distance(self, assignment: PrecisionAssignment) -> tuple[float, float]:
        """Sort key: the drop of the metric, if there is one, then noise."""
        if self.budget.max_drop is not None and assignment not in self.evaluator.scores:
            return self.evaluator.drop(assignment), 0.0
        drop = 0.0 if self.budget.max_drop is None else self.evaluator.drop(assignment)
        return drop, -self.evaluator.least_db(assignment)
