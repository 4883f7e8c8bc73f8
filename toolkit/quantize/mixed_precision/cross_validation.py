"""Cross-validation: weights rounded for one half of the samples, evaluated on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...progress import Progress
from ..outputs.kept_samples import KeptSample, two_folds
from ..reconstruction.judged_by_halves import JudgedByHalves
from ..reconstruction.layer_rounding import round_weights
from ..result import Quantized
from ..scheme.options import RoundedWeights
from ..scheme.plan import Plan
from .precision_change import PrecisionAssignment


class FoldWeights:
    """The rounded weights of assignments, in a list by fold: two halves that evaluate each other,
    or a single fold of all samples.

    4-bit weights are rounded to nearest until `keep_narrow`.
    """

    def __init__(self, done: Quantized, held_out: bool, progress: Progress) -> None:
        self.done, self.progress = done, progress
        kept = done.calibration.kept
        self.folds = two_folds(kept) if held_out and len(kept) > 1 else [(kept, slice(None))]
        self.narrow: dict[int, list[RoundedWeights]] = {}
        self.mixes: list[list[RoundedWeights]] = [[{} for _ in self.folds]]
        self.wholes: dict[int, RoundedWeights] = {}
        self.as_done: list[RoundedWeights] = [done.options.rounded for _ in self.folds]
        self._last: tuple[tuple[PrecisionAssignment, int], Plan] | None = None
        if len(self.folds) > 1 and done.options.rounded:
            known = done.by_halves or (self._again(done.plan, half) for half, _ in self.folds)
            self.as_done = list(known)

    def plan(self, assignment: PrecisionAssignment, fold: int = 0) -> Plan:
        """The plan of an assignment with weights rounded for this fold."""
        if self._last is None or self._last[0] != (assignment, fold):
            group = assignment.weight_group
            some = self.narrow[group][fold] if group in self.narrow else {}
            rounded = {**self.as_done[fold], **some, **self.mixes[assignment.weights][fold]}
            options = replace(assignment.apply(self.done.options), rounded=rounded)
            self._last = (assignment, fold), self.done.plan.mixed(options)
        return self._last[1]

    def plans(self, assignment: PrecisionAssignment) -> list[Plan]:
        """The plan of each fold; one if their weights do not differ."""
        first = self.plan(assignment)
        others = range(1, len(self.folds)) if self.differ(first) else ()
        return [first, *(self.plan(assignment, fold) for fold in others)]

    def keep_narrow(self, assignment: PrecisionAssignment) -> None:
        """Use the 4-bit weights rounded for this assignment in all assignments with its
        `weight_group`."""
        found = self._anew(assignment, False)
        self.narrow[assignment.weight_group] = [
            {k: r for k, r in f.items() if k[1] == 4} for f in found
        ]
        self._last = None

    def forget_narrow(self, group: int) -> None:
        """Round 4-bit weights of this group size to nearest again."""
        del self.narrow[group]
        self._last = None

    def add(self, assignment: PrecisionAssignment, anew: bool) -> PrecisionAssignment:
        """The assignment with weights rounded for itself: those that are fitted, or with `anew` all
        of them."""
        return self._added(assignment, self._anew(assignment, anew))

    def keep(self, assignment: PrecisionAssignment, found: JudgedByHalves) -> PrecisionAssignment:
        """The assignment with the weights `found` for it."""
        at = self._added(assignment, found.halves)
        self.wholes[at.weights] = found.whole
        return at

    def _added(
        self, assignment: PrecisionAssignment, found: list[RoundedWeights]
    ) -> PrecisionAssignment:
        self.mixes.append(found)
        return replace(assignment, weights=len(self.mixes) - 1)

    def final(self, assignment: PrecisionAssignment) -> Plan:
        """The plan of an assignment with weights rounded for all samples."""
        plan = self.plan(assignment)
        if assignment.weights in self.wholes:
            return plan.with_rounded(self.wholes[assignment.weights])
        if len(self.folds) > 1 and plan.options.rounded:
            plan = plan.with_rounded(self._again(plan, self.done.calibration.kept))
        return plan

    def by_halves(self, assignment: PrecisionAssignment) -> list[RoundedWeights]:
        """The weights with which each half is evaluated; none if they do not differ."""
        plans = self.plans(assignment)
        return [plan.options.rounded for plan in plans] if len(plans) > 1 else []

    def differ(self, plan: Plan) -> bool:
        """Whether `plan`, of an assignment, has weights that differ between folds."""
        return len(self.folds) > 1 and plan.has_rounded

    def _anew(self, assignment: PrecisionAssignment, anew: bool) -> list[RoundedWeights]:
        """For each fold the fitted and the 4-bit weights, or with `anew` all."""
        made: list[RoundedWeights] = []
        for i, (samples, _) in enumerate(self.folds):
            plan = self.plan(assignment, i)
            known, found = plan.options.rounded, self._round(plan, samples)
            made.append({k: r for k, r in found.items() if anew or k in known or k[1] == 4})
        return made

    def _again(self, plan: Plan, samples: Sequence[KeptSample]) -> RoundedWeights:
        """The weights that `plan` has rounded, rounded for these samples."""
        known = plan.options.rounded
        return {k: r for k, r in self._round(plan, samples).items() if k in known}

    def _round(self, plan: Plan, samples: Sequence[KeptSample]) -> RoundedWeights:
        inputs = [s.inputs for s in samples]
        return round_weights(plan, self.done.ranges, inputs, self.progress, self.done.rounding)
