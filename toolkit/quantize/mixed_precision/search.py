"""Mixed precision under a budget: which tensors are int16, which nodes float32 or of 4-bit weights.

The noise that each single change (precision_change.py) removes is measured separately
(noise_contributions.py, sensitivity.py), and changes are ranked by noise removed per byte. After
that only complete files are measured: the fewest changes in this order that meet the budget,
without those that turn out to be unnecessary. If the mix contains float32 weights, fewer changes
may suffice with weights rounded for them. The number of trials depends only on the model and the
samples, so the result is reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...numerics import FLOAT32, W8A8, W8A16
from ...progress import Progress
from ..reconstruction.observed_inputs import SAMPLES
from ..scheme.macs import macs_of
from .criteria import Criteria
from .evaluator import Evaluator
from .precision_change import Configuration, PrecisionChange, without
from .sensitivity import Gain, rank_by_worth
from .shrinking import Reasons, Shrinking
from .subset_selection import select_subset
from .tuning import (
    ARENA_WEIGHT,
    EXPECTED_AFTER_ROUNDING,
    FEWEST_REFINEMENTS,
    JUDGING,
    MAX_FITTED,
    MAX_REFINEMENTS,
    MAX_ROUNDINGS,
    PROMOTED_FIRST,
    ROUNDING,
)

FIRST_LOOK = "int8 alone is not good; --effort default promotes fewer"


@dataclass(frozen=True)
class Ranking:
    """Changes in several orders, each without the changes that would exceed a size limit.

    `place` is the position of every change in the first order, even if it does not fit.
    """

    orders: list[list[PrecisionChange]]
    place: dict[PrecisionChange, int]


class PrecisionSearch:
    """Finds the configuration with the fewest bytes within `criteria`, or else the closest.

    Size limits come first (shrinking.py). If the outputs are then not good, changes to more bits
    are ranked, applied (promote) and reduced (prune). `judged` is the number of samples for
    max_drop. `rounds_nearest`: weights rounded to nearest may be fitted for a configuration, too.
    `reasons` has the reason for every change.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        criteria: Criteria,
        judged: int,
        rounds_nearest: bool,
        progress: Progress,
    ) -> None:
        self.evaluator, self.criteria = evaluator, criteria
        self.judged, self.rounds_nearest, self.progress = judged, rounds_nearest, progress
        self.macs = max(macs_of(evaluator.done.floats), 1)
        self.reasons: Reasons = {}

    def run(self) -> Configuration:
        criteria, evaluator = self.criteria, self.evaluator
        start = Configuration(evaluator.base)
        for end in start, start.plus(evaluator.changes_to(W8A16)):
            evaluator.score(end.assignment)
        if not criteria.fits(start):
            start, self.reasons = Shrinking(evaluator, criteria).run(start)
        found, ranking = start, None
        if not criteria.is_good(start) and criteria.fits(start):
            ranking = self.rank(start, self.candidates(start))
            found = self.promote(start, ranking)
        if not evaluator.held_out and criteria.is_good(found):
            return found
        before = found
        nearest = not evaluator.done.options.rounded and found.base.weights == 0
        anew = self.rounds_nearest and nearest and bool(found.changes)
        found = evaluator.with_own_weights(found, anew=anew)
        if ranking and found != before and criteria.is_good(found):
            found = self.prune(found, start, ranking)
        return found

    def first_look(self, orders: Sequence[Sequence[PrecisionChange]]) -> Configuration:
        """The shortest prefix of the first possible order in `orders` that is good, else the
        closest configuration tried."""
        start = Configuration(self.evaluator.base)
        self.reasons = {change: FIRST_LOOK for order in orders for change in order}
        for order in orders:
            row = self._shortest(start, order)
            if row is not None and self.criteria.fits(row):
                return row
        return self.criteria.closest([start])

    def candidates(self, start: Configuration) -> list[PrecisionChange]:
        """Changes to more bits; to float32, which come last and are slow to measure, only if int16
        everywhere is not good within the limits."""
        evaluator, criteria = self.evaluator, self.criteria
        finer = [c for c in evaluator.changes_to(W8A8) if start.base.has_narrow_weights(c)]
        wide = start.plus(evaluator.changes_to(W8A16))
        enough = criteria.fits(wide) and criteria.is_good(wide)
        kinds = (W8A16,) if enough else (W8A16, FLOAT32)
        return [*evaluator.changes_to(*kinds), *finer]

    def rank(self, start: Configuration, candidates: list[PrecisionChange]) -> Ranking:
        """The candidates by noise removed per byte, in two orders: a byte of arena counts like a
        byte of the file, or less."""
        assignment = start.assignment
        size = self.evaluator.size(assignment)

        def gain(change: PrecisionChange, removed: float) -> Gain:
            then = self.evaluator.size(start.plus([change]).assignment)
            file, arena, _ = (max(b - a, 0) for a, b in zip(size, then, strict=True))
            return Gain(removed, file, arena)

        gains = self.evaluator.gains(candidates, assignment, gain, by_worst=self.criteria.by_worst)
        self.reasons |= {
            c: _reason(assignment.has_narrow_weights(c), g.noise) for c, g in gains.items()
        }
        room = (self.criteria.budget.size_limits[0] or math.inf) - size[0]
        fit = {c: g for c, g in gains.items() if g.file <= room}
        orders = [rank_by_worth(fit, PROMOTED_FIRST, weight) for weight in (1.0, ARENA_WEIGHT)]
        return Ranking(
            [self._that_fit(start, order) for order in orders],
            {c: i for i, c in enumerate(orders[0])},
        )

    def promote(self, start: Configuration, ranking: Ranking) -> Configuration:
        """Apply the fewest changes that make the outputs good, if possible; else the closest."""
        criteria = self.criteria
        offers = [c for order in ranking.orders for c in self._shortest_rows(start, order)]
        if not offers and (row := self._of_all(start, ranking)) is not None:
            offers = [row]
        floats = start.plus(self.evaluator.changes_to(FLOAT32))
        if not offers and criteria.fits(floats) and criteria.is_good(floats):
            return floats
        if self.rounds_nearest and (not offers or criteria.cheapest(offers).has_float32):
            offers += self._shorter_with_own_weights(start, ranking.orders[-1])
        if not offers:
            wide = start.plus(self.evaluator.changes_to(W8A16))
            if self.rounds_nearest and criteria.fits(wide):
                criteria.remember(self.evaluator.with_own_weights(wide, anew=True))
            return criteria.closest([start, wide, *map(start.plus, ranking.orders)])
        return self.prune(criteria.cheapest(offers), start, ranking)

    def prune(self, found: Configuration, start: Configuration, ranking: Ranking) -> Configuration:
        """Remove unnecessary changes from `start`, tried kind by kind, the least valuable first."""
        steps = [c for c in found.changes if c not in start.changes]
        kinds = [k for k in (FLOAT32, W8A8, W8A16) if any(c.to == k for c in steps)]
        tries, last = self._refinements(), len(ranking.place)
        kept = replace(found, changes=start.changes)
        for i, kind in enumerate(kinds):
            some = [c for c in steps if c.to == kind]
            some.sort(key=lambda c: -ranking.place.get(c, last))
            first, end = (tries * k // len(kinds) for k in (i, i + 1))
            steps = self._spared(kept, steps, some, range(first, end), tries)
        return kept.plus(steps)

    def _that_fit(
        self, start: Configuration, order: list[PrecisionChange]
    ) -> list[PrecisionChange]:
        def fit(changes: list[PrecisionChange]) -> bool:
            return self.criteria.fits(start.plus(changes))

        return select_subset(order, fit, len(order), min(MAX_FITTED, self.evaluator.files))

    def _shortest_rows(
        self, start: Configuration, order: list[PrecisionChange]
    ) -> Iterator[Configuration]:
        """Shortest sufficient prefixes: of all changes, and of those of one precision."""
        some = [[c for c in order if c.to == kind] for kind in (W8A8, W8A16)]
        for alike in order, *(some if all(some) else ()):
            row = self._shortest(start, alike)
            if row is not None:
                yield row

    def _shortest(
        self, start: Configuration, order: Sequence[PrecisionChange]
    ) -> Configuration | None:
        """The shortest prefix that is good; None if all changes together are not."""
        if not self.criteria.is_good(start.plus(order)):
            return None
        return start.plus(order[: self._fewest(start, order, 0, len(order))])

    def _of_all(self, start: Configuration, ranking: Ranking) -> Configuration | None:
        """All changes to int16, or also to float32, if they fit and are good."""
        of, last = self.evaluator.changes_to, len(ranking.place)
        for changes in of(W8A16), of(W8A16, FLOAT32):
            if self.criteria.fits(start.plus(changes)):
                order = sorted(changes, key=lambda c: ranking.place.get(c, last))
                row = self._shortest(start, order)
                if row is not None:
                    return row
        return None

    def _fewest(
        self,
        start: Configuration,
        order: Sequence[PrecisionChange],
        low: int,
        high: int,
        most: float = 1.0,
    ) -> int:
        """The length of the shortest prefix within the size limits with a loss of at most `most`,
        by bisection between `low` (exclusive, not sufficient) and `high`."""
        criteria, done = self.criteria, 0
        tries = math.ceil(math.log2(max(high - low, 1)))
        while high - low > 1:
            middle = (low + high) // 2
            some = start.plus(order[:middle])
            if criteria.fits(some) and criteria.loss(some) <= most:
                high = middle
            else:
                low = middle
            done += 1
            self.progress("minimizing the number of changes", done, max(tries, done))
        return high

    def _shorter_with_own_weights(
        self, start: Configuration, order: list[PrecisionChange]
    ) -> Iterator[Configuration]:
        """Prefixes that are good with weights rounded for them, each shorter than the previous.

        Rounding reduces the loss of different prefixes by about the same factor: the next prefix to
        try is the one that should be good by the last factor.
        """
        criteria, left = self.criteria, EXPECTED_AFTER_ROUNDING
        low, high = 0 if order else -1, len(order) + 1  # `low` is not good
        for _ in range(self._roundings()):
            length = self._fewest(start, order, low, min(high, len(order)), 1 / left)
            if not low < length < high:
                return
            row = start.plus(order[:length])
            before = criteria.loss(row)
            rounded = self.evaluator.with_own_weights(row, anew=True)
            after = criteria.loss(rounded)
            if criteria.fits(rounded) and after <= 1.0:
                yield rounded
                high = length
            else:
                low = length
            if after > 0 and before < math.inf:
                left = after / before

    def _roundings(self) -> int:
        """Maximum number of configurations with their own rounding, by its cost."""
        folds, plan = self.evaluator.weights.folds, self.evaluator.done.plan
        samples = sum(min(len(some), SAMPLES) for some, _ in folds)
        work = self.macs * len(plan.linear) * samples
        return min(max(int(ROUNDING / max(work, 1)), 1), MAX_ROUNDINGS)

    def _spared(
        self,
        kept: Configuration,
        steps: list[PrecisionChange],
        some: list[PrecisionChange],
        tries: range,
        total: int,
    ) -> list[PrecisionChange]:
        """`steps`, applied after `kept`, without unnecessary ones among `some`. One stays if the
        weights of int8 were rounded: those of a mix are good for int8 by chance."""
        at, fitted = iter(tries), bool(self.evaluator.done.options.rounded)

        def spare(gone: list[PrecisionChange]) -> bool:
            self.progress("removing unnecessary changes", next(at) + 1, total)
            left = without(steps, gone)
            if fitted and not left:
                return False
            rest = kept.plus(left)
            return self.criteria.fits(rest) and self.criteria.is_good(rest)

        gone = select_subset(some, spare, max(len(some) // 4, 1), len(tries))
        return without(steps, gone)

    def _refinements(self) -> int:
        """Maximum number of configurations to try, by the cost of evaluating one."""
        if self.judged == 0:
            return MAX_REFINEMENTS
        affordable = int(JUDGING / (self.judged * self.macs))
        return min(max(affordable, FEWEST_REFINEMENTS), MAX_REFINEMENTS)


MUCH = 1000
"""Noise beyond which a number says no more: that of what is not finite, say."""


def _reason(of_4_bits: bool, noise: float) -> str:
    """The reason for a change: the share of the noise that it removes."""
    if noise < 1:
        part = f"{noise:.1%} of"
    else:
        part = f"{noise:.1f} times" if noise < MUCH else f"more than {MUCH:,} times"
    return f"{'rounding to 4 bits' if of_4_bits else 'rounding to int8'} causes {part} the noise"
