"""Reduces bits until the size limits are met: the changes with the least loss per saved byte."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from ...numerics import W4A8, W8A8
from .criteria import Criteria
from .evaluator import Evaluator
from .precision_change import Configuration, PrecisionChange, without
from .sensitivity import Gain
from .subset_selection import select_subset
from .tuning import MAX_FITTED, NARROW_GROUP_SIZES

Reasons = dict[PrecisionChange, str]
"""The reason for a change, as text."""


class Shrinking:
    """Changes to 4-bit weights, or from int16 and float32 back to int8, to meet `criteria`."""

    def __init__(self, evaluator: Evaluator, criteria: Criteria) -> None:
        self.evaluator, self.criteria = evaluator, criteria

    def run(self, start: Configuration) -> tuple[Configuration, Reasons]:
        """The changes with the best group size of 4-bit weights; `start` if none save bytes."""
        evaluator, base = self.evaluator, start.base
        found: list[tuple[bool, float, Configuration, Reasons]] = []
        for size in (base.weight_group,) if base.has_narrow else NARROW_GROUP_SIZES:
            empty = Configuration(replace(base, weight_group=size))
            saved = {c: self._saving(empty, c) for c in evaluator.changes_to(W4A8, W8A8)}
            saved = {c: some for c, some in saved.items() if some > 0}
            if not saved:
                continue
            to_narrow = evaluator.changes_to(W4A8)
            if evaluator.held_out and to_narrow:
                evaluator.round_narrow(size)
            evaluator.score(empty.plus(to_narrow).assignment)
            shrunk, reasons = self._shrunk(empty, saved)
            shrunk = evaluator.with_own_weights(shrunk)
            db = evaluator.least_db(shrunk.assignment)
            found.append((self.criteria.fits(shrunk), db, shrunk, reasons))
        if not found:
            return start, {}
        _, _, best, reasons = max(found, key=lambda f: f[:2])
        return best, reasons

    def _shrunk(
        self, empty: Configuration, saved: dict[PrecisionChange, int]
    ) -> tuple[Configuration, Reasons]:
        """The fewest changes, by loss per saved byte, that fit."""
        fits = self.criteria.fits
        gains = self.evaluator.gains(
            list(saved), empty.assignment, lambda _, removed: Gain(removed)
        )
        loss = {c: -gain.noise for c, gain in gains.items()}
        order = sorted(saved, key=lambda c: loss[c] / saved[c])
        fewest = bisect_left(range(len(order)), True, key=lambda n: fits(empty.plus(order[:n])))
        taken = order[:fewest]
        reasons: Reasons = {}
        for change in taken:
            # The loss is measured on the file, with weights rounded for it.
            reasons[change] = f"saves {saved[change]:,} bytes"
        worst = sorted(taken, key=lambda c: -loss[c])
        spared = select_subset(
            worst, lambda gone: fits(empty.plus(without(taken, gone))), 1, MAX_FITTED
        )
        return empty.plus(without(taken, spared)), reasons

    def _saving(self, empty: Configuration, change: PrecisionChange) -> int:
        """Bytes saved by the change, of sizes that exceed their limit."""
        some = empty, empty.plus([change])
        before, after = (self.evaluator.size(c.assignment) for c in some)
        limits = self.criteria.budget.size_limits
        return sum(
            b - a
            for b, a, limit in zip(before, after, limits, strict=True)
            if limit is not None and b > limit
        )
