"""Mixed precision under a budget: which tensors are int16, which nodes float32 or of 4-bit weights.

The noise that single changes (precision_change.py) take out of the outputs is measured alone
(noise_contributions.py, sensitivity.py); that ranks the changes by what they bring for their bytes.
Then only whole files count, packed and run: the fewest changes in that order that meet the budget,
less those that turn out not to be needed. Where that takes float32 for weights, fewer may do with
weights rounded for them. How much is tried depends on the model and the samples alone, so that they
give the same file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...numerics import FLOAT32, W8A8, W8A16
from ...progress import Progress
from ..reconstruction.second_moments import SAMPLES
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
    """Changes in several orders, each without those that break a limit of size where they come.

    `place` of every change in the first order, whether or not it fits.
    """

    orders: list[list[PrecisionChange]]
    place: dict[PrecisionChange, int]


class PrecisionSearch:
    """The configuration with the fewest bytes within the budget of `criteria`, else the closest.

    Limits of size come first (shrinking.py). Where the outputs are not good then, changes to more
    bits are the candidates: rank, promote, prune. `judged` samples serve max_drop. `rounds_nearest`
    says that weights that are the nearest may be rounded for a configuration, too. `reasons` say of
    every change why it may be made.
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
        """The fewest first changes of the first of `orders` that are good, else the closest of what
        was tried."""
        start = Configuration(self.evaluator.base)
        self.reasons = {change: FIRST_LOOK for order in orders for change in order}
        for order in orders:
            row = self._shortest(start, order)
            if row is not None and self.criteria.fits(row):
                return row
        return self.criteria.closest([start])

    def candidates(self, start: Configuration) -> list[PrecisionChange]:
        """The changes to more bits."""
        evaluator = self.evaluator
        finer = [c for c in evaluator.changes_to(W8A8) if start.base.has_narrow_weights(c)]
        return [*evaluator.changes_to(W8A16, FLOAT32), *finer]

    def rank(self, start: Configuration, candidates: list[PrecisionChange]) -> Ranking:
        """The candidates by what they bring for their bytes: once as a byte of arena counts as much
        as one of the file, once as it counts less."""
        assignment = start.assignment
        size = self.evaluator.size(assignment)

        def gain(change: PrecisionChange, removed: float) -> Gain:
            then = self.evaluator.size(start.plus([change]).assignment)
            file, arena, _ = (max(b - a, 0) for a, b in zip(size, then, strict=True))
            return Gain(removed, file, arena)

        gains = self.evaluator.gains(candidates, assignment, gain)
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
        """With the fewest changes that make the outputs good, if any do; else the closest."""
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
            every = [*ranking.orders, self.evaluator.changes_to(W8A16)]
            return criteria.closest([start, *map(start.plus, every)])
        return self.prune(criteria.cheapest(offers), start, ranking)

    def prune(self, found: Configuration, start: Configuration, ranking: Ranking) -> Configuration:
        """Without the changes from `start`, tried kind by kind from the least worth on, that the
        others can do without."""
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

        return select_subset(order, fit, len(order), MAX_FITTED)

    def _shortest_rows(
        self, start: Configuration, order: list[PrecisionChange]
    ) -> Iterator[Configuration]:
        """The fewest first changes, and those of one precision alone, where they do."""
        some = [[c for c in order if c.to == kind] for kind in (W8A8, W8A16)]
        for alike in order, *(some if all(some) else ()):
            row = self._shortest(start, alike)
            if row is not None:
                yield row

    def _shortest(
        self, start: Configuration, order: Sequence[PrecisionChange]
    ) -> Configuration | None:
        """The fewest first changes that are good; None if all of them are not."""
        if not self.criteria.is_good(start.plus(order)):
            return None
        return start.plus(order[: self._fewest(start, order, 0, len(order))])

    def _of_all(self, start: Configuration, ranking: Ranking) -> Configuration | None:
        """The first changes to int16, or to float32 as well, if all of them fit and are good."""
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
        """How many first changes within the limits of size lose no more than `most` of what they
        may, by bisection: more than `low`, which lose more, and `high` if no fewer do."""
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
        """Rows that are good with weights rounded for them, each shorter than the one before.

        Rounding leaves about the same part of what different rows lose: each is tried that should
        be good by the part that the last one left.
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
        """How many configurations may have weights of their own, by what rounding them takes."""
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
        """`steps`, made after `kept`, without those of `some` that can be spared."""
        at = iter(tries)

        def spare(gone: list[PrecisionChange]) -> bool:
            self.progress("removing unnecessary changes", next(at) + 1, total)
            rest = kept.plus(without(steps, gone))
            return self.criteria.fits(rest) and self.criteria.is_good(rest)

        gone = select_subset(some, spare, max(len(some) // 4, 1), len(tries))
        return without(steps, gone)

    def _refinements(self) -> int:
        """How many configurations may be tried, by what judging one takes."""
        if self.judged == 0:
            return MAX_REFINEMENTS
        affordable = int(JUDGING / (self.judged * self.macs))
        return min(max(affordable, FEWEST_REFINEMENTS), MAX_REFINEMENTS)


def _reason(of_4_bits: bool, noise: float) -> str:
    """The noise of the rounding that a change takes out, as a part of all."""
    part = f"{noise:.1%} of" if noise < 1 else f"{noise:.1f} times"
    return f"{'rounding to 4 bits' if of_4_bits else 'rounding to int8'} causes {part} the noise"
