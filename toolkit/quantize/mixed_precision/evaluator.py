"""Size and accuracy of mixes of precisions: each file is packed and run once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np

from ...format.reader import read
from ...ir import Graph
from ...numerics import FLOAT32, PRECISIONS, W4A8, W8A8, W8A16, Precision
from ...progress import Progress
from ..budget import Point, Sizes
from ..quality import Quality
from ..ranges.candidate_evaluation import CandidateEvaluator, Score
from ..ranges.diagnostics import separate
from ..ranges.held_out import held_out_figures, parts_of
from ..ranges.samples_needed import FEW, samples_needed
from ..reconstruction.judged_by_halves import best_by_halves
from ..result import Quantized
from ..scheme.macs import macs_of, work_of
from ..scheme.plan import Plan
from .cross_validation import FoldWeights
from .noise_contributions import Noise, NoiseContributions
from .precision_change import Configuration, PrecisionAssignment, PrecisionChange, find_changes
from .sensitivity import Gain, measure_gains
from .tuning import FEWEST_FILES, FEWEST_SAMPLES, MAX_MEASURED, MEASURING, PACKING

FAR_BELOW = 4.0
"""Factor by which a share on one sample is too small to be measured on others."""

Pack = Callable[[Graph], bytes]
"""Returns the .edge file of a quantized graph, stripped as for budgets. It may modify the graph."""
Measure = Callable[[bytes], Sizes]
"""Returns the sizes of a file that the budget limits."""
Drop = Callable[[bytes], float]
"""Returns the drop of a file's metric relative to the float model, in the unit of the limit."""


def generic_sizes(data: bytes) -> Sizes:
    """Bytes of the generic file and of its arena."""
    return Sizes(len(data), read(data).memory.arena_bytes)


class Evaluator:
    """Measures precision assignments of one quantization. `changes` are the single changes from it.

    Fitted weights look better on the samples that they are fitted to. With `held_out`, therefore,
    each half of the samples evaluates weights rounded for the other half (cross_validation.py);
    files use the weights of the first fold, and `final` rounds for all samples. Without it, scores
    are optimistic, and the benefit of rounding is measured by the metric only.
    """

    def __init__(
        self,
        done: Quantized,
        pack: Pack,
        drop: Drop | None,
        held_out: bool,
        progress: Progress,
        measure: Measure = generic_sizes,
        carried: float = 1.0,
    ) -> None:
        self._carried = carried
        self.done, self._pack, self._drop = done, pack, drop
        self._measure = measure
        self.progress = progress
        self.weights = FoldWeights(done, held_out, progress)
        self.held_out = len(self.weights.folds) > 1
        self.trials = CandidateEvaluator(done.given, done.plan.graph)
        self.figures = self.trials.figures
        self.several_outputs = len({p.tensor for p in self.trials.points}) > 1
        self.base = PrecisionAssignment.of(done.options)
        self.changes = find_changes(done.plan)
        self._afford(max(macs_of(done.floats), 1))
        self.sizes: dict[PrecisionAssignment, Sizes] = {}
        self.words: dict[PrecisionAssignment, str] = {}
        self.scores: dict[PrecisionAssignment, Score] = {}
        self.drops: dict[PrecisionAssignment, float] = {}
        self.separate = separate([k.inputs for k in self.trials.kept], FEW)
        self._qualities: dict[PrecisionAssignment, Quality] = {}
        self._works: dict[PrecisionAssignment, int] = {}
        self._known: dict[bytes, float] = {}
        self._rounded: set[tuple[PrecisionAssignment, bool]] = set()
        self._contributions: dict[int, NoiseContributions] = {}

    def _afford(self, macs: int) -> None:
        """Set the number of measurements of single changes, and their samples."""
        self.files = max(PACKING // max(len(self.done.plan.graph.nodes), 1), FEWEST_FILES)
        most = min(MAX_MEASURED, self.files, int(MEASURING / (macs * FEWEST_SAMPLES)))
        self.measurable = max(most, 1)
        steps = max(min(len(self.changes), self.measurable), 1)
        samples = max(int(MEASURING / (macs * steps)), FEWEST_SAMPLES)
        _, judging = self.weights.folds[0]
        kept = self.done.given.kept[judging]
        judges = CandidateEvaluator(replace(self.done.given, kept=kept))
        self.few = judges.on(min(samples, len(kept)))

    def changes_to(self, *kinds: Precision) -> list[PrecisionChange]:
        return [c for c in self.changes if c.to in kinds]

    def plan(self, assignment: PrecisionAssignment) -> Plan:
        return self.weights.plan(assignment)

    def round_narrow(self, group: int) -> None:
        """Fit 4-bit weights of this group size to the layers' outputs, if that gains."""
        assignment = self._all(W4A8, group)
        before = self.score(assignment)
        self.weights.keep_narrow(assignment)
        after = self._measured(assignment)
        if after.mean_db > before.mean_db:
            self.scores[assignment] = after
        else:
            self.weights.forget_narrow(group)

    def rounded_for(self, assignment: PrecisionAssignment, anew: bool) -> PrecisionAssignment:
        """The assignment with weights rounded for itself, if it gains; otherwise, or if there are
        neither held-out samples nor a metric to measure the gain, the assignment itself.

        Fitted weights are rounded again, with `anew` all weights.
        """
        judged = self.held_out or self._drop is not None
        if not judged or not (anew or self.plan(assignment).options.rounded):
            return assignment
        other = self.weights.add(assignment, anew)
        if self.held_out:
            gains = self.score(other).mean_db > self.score(assignment).mean_db
        else:
            gains = self.drop(other) < self.drop(assignment)
        return other if gains else assignment

    def with_own_weights(self, found: Configuration, anew: bool = False) -> Configuration:
        """The configuration with weights rounded for it, if that gains: weights fitted for another
        configuration compensate for errors that this one may not have. `anew`: including weights
        that were rounded to nearest."""
        before = found.assignment
        if not (found.changes or anew) or (before, anew) in self._rounded:
            return found
        at = self.rounded_for(before, anew)
        self._rounded |= {(before, anew), (at, False), (at, anew)}
        return found.with_weights_of(at)

    def rounded_first(self, found: Configuration) -> Configuration:
        """The configuration with weights rounded for it as for int8 (best_by_halves), where those
        of int8 were not."""
        assignment, done = found.assignment, self.done
        nearest = self.trials, self.score(assignment)
        how = self.plan(assignment), done.ranges, done.calibration, nearest, [done.rounding]
        best = best_by_halves(*how, self.progress)
        if best is None:
            return found
        at = self.weights.keep(assignment, best)
        self.know(at, best.score)
        return found.with_weights_of(at)

    def final(self, assignment: PrecisionAssignment, as_done: bool = False) -> Plan:
        """The plan of an assignment with weights rounded for all samples; `as_done`: those of
        int8."""
        if assignment == self.base:
            return self.done.plan
        if as_done:
            return self.plan(assignment).with_rounded(self.done.options.rounded)
        return self.weights.final(assignment)

    def _all(self, to: Precision, group: int) -> PrecisionAssignment:
        """The base after all changes to narrow weights, or from them."""
        base = replace(self.base, weight_group=group)
        if to == W4A8:
            return base.with_changes(m for m in self.changes if m.to == W4A8)
        return replace(base, precision=frozenset(p for p in base.precision if p[1] != W4A8))

    def file(self, plan: Plan) -> bytes:
        graph, _ = plan.emit(self.done.ranges, trial=True)
        return self._pack(graph.unshared())

    def size(self, assignment: PrecisionAssignment) -> Sizes:
        """The sizes returned by `measure`."""
        if assignment not in self.sizes:
            plan = self.plan(assignment)
            self._note(assignment, plan, self.file(plan))
        return self.sizes[assignment]

    def work(self, assignment: PrecisionAssignment) -> int:
        """Instructions, in units of an int8 multiply-accumulate (scheme/macs.py)."""
        if assignment not in self._works:
            graph, _ = self.plan(assignment).emit(self.done.ranges, trial=True)
            self._works[assignment] = work_of(graph)
        return self._works[assignment]

    def is_float(self, assignment: PrecisionAssignment) -> bool:
        """Whether nothing is quantized."""
        return all(u.precision in (None, FLOAT32) for u in self.plan(assignment).groups)

    def _note(self, assignment: PrecisionAssignment, plan: Plan, data: bytes) -> None:
        """Record sizes and plan of the file `data`; packing may have changed the plan."""
        self.sizes[assignment] = self._measure(data)
        self.words[assignment] = _in_words(plan)

    def alone(self, change: PrecisionChange, start: PrecisionAssignment) -> tuple[Noise, Noise]:
        """The noise of the tensors or weights in `change`, before and after it, with all else
        exact."""
        zero = np.zeros(len(self.few.points))
        noise = self._contributions_of(start.weight_group)
        if change.to == W8A16:
            return noise.of_tensors(change.tensors), zero
        four = start.has_narrow_weights(change)
        if change.to == W8A8 and not four:
            after = self.few.score(self.plan(start.with_changes([change])), self.done.ranges)
            return zero, after.noise.sum(axis=1)
        before = noise.of_weights(change.tensors, W4A8 if four else W8A8)
        if change.to == FLOAT32:
            return before + noise.of_tensors(change.side_tensors), zero
        return before, noise.of_weights(change.tensors, change.to)

    def gains(
        self,
        changes: list[PrecisionChange],
        start: PrecisionAssignment,
        gain: Callable[[PrecisionChange, float], Gain],
        most: int | None = None,
        by_worst: bool = False,
    ) -> dict[PrecisionChange, Gain]:
        """The `gain` of each change, given the noise that it removes relative to the noise of
        `start` (Score.part: the mean over the outputs, whose logarithm is mean_db, or `by_worst`),
        from about `most` measurements; None: as many as the model's size allows."""
        whole = self.few.score(self.plan(start), self.done.ranges)

        def prepare(some: Sequence[PrecisionChange]) -> None:
            sets = [c.tensors if c.to == W8A16 else c.side_tensors for c in some]
            self._contributions_of(start.weight_group).measure_tensors(sets)

        def alone(change: PrecisionChange) -> Gain:
            before, after = self.alone(change, start)
            return gain(change, whole.part(before - after, by_worst))

        most = min(most or self.measurable, self.measurable)
        return measure_gains(changes, most, alone, self.progress, prepare)

    def weight_shares(
        self, start: PrecisionAssignment, samples: int, least: float
    ) -> Iterator[tuple[PrecisionChange, float]]:
        """Each change of a layer with weights to float32, and the share of the noise of `start`
        that its 8-bit weights cause (Score.part, by_worst) on so many samples: measured when it is
        asked for, and on one sample only if it is far below `least` there."""
        weights = {W8A8: self.plan(self._all(W8A8, start.weight_group))}
        measured = []
        for count in (1, min(samples, len(self.few.kept))):
            few = self.few.on(count)
            noise = NoiseContributions(self.done.plan, weights, self.done.ranges, few)
            measured.append((few.score(self.plan(start), self.done.ranges), noise))
        for change in self.changes_to(FLOAT32):
            if change.side_tensors:
                continue
            share = 0.0
            for whole, noise in measured:
                share = whole.part(noise.of_weights(change.tensors, W8A8), by_worst=True)
                if share < least / FAR_BELOW:
                    break
            yield change, share

    def _contributions_of(self, group: int) -> NoiseContributions:
        """The contributions with this group size for 4-bit weights."""
        if group not in self._contributions:
            weights = {p: self.plan(self._all(p, group)) for p in (W8A8, W4A8)}
            made = NoiseContributions(self.done.plan, weights, self.done.ranges, self.few)
            self._contributions[group] = made
        return self._contributions[group]

    def score(self, assignment: PrecisionAssignment) -> Score:
        if assignment not in self.scores:
            self.scores[assignment] = self._measured(assignment)
        return self.scores[assignment]

    def least_db(self, assignment: PrecisionAssignment) -> float:
        """SQNR of the worst output."""
        return self.score(assignment).least_db(self.trials.points)

    def know(self, assignment: PrecisionAssignment, score: Score) -> None:
        """Record `score` as the score of the assignment, without measuring it."""
        self.scores[assignment] = score

    def _measured(self, assignment: PrecisionAssignment) -> Score:
        """The score; with `held_out` each sample uses weights that were not rounded for it."""
        plan, ranges = self.plan(assignment), self.done.ranges
        if not self.weights.differ(plan):
            return self.trials.score(plan, ranges)
        trials = self.trials
        none = np.zeros((len(trials.points), len(trials.kept)))
        score = Score(none, trials.signal, trials.variation)
        for i, (_, judging) in enumerate(self.weights.folds):
            graph, _ = self.weights.plan(assignment, i).emit(ranges, trial=True)
            score.noise[:, judging] = self.trials.noise(graph, judging, lasting=True)
        return score

    def quality(self, assignment: PrecisionAssignment) -> Quality:
        """The quality, with each sample evaluated with ranges and weights from other samples."""
        if assignment not in self._qualities:
            plans, known = self.weights.plans(assignment), self.done.calibration
            score, rows = held_out_figures(plans, self.done.ranges, known, self.trials)
            parts = [at for _, at in parts_of(len(self.trials.kept))]
            fitted = plans[0].has_rounded and len(plans) == 1
            unseen = self.separate > 1 and not fitted
            told = self.figures.told(rows, parts)
            found = Quality.of(score, self.trials.points, held_out=unseen, **told)
            if not self.is_float(assignment):  # exact, whatever other inputs contain
                found = replace(
                    found,
                    calibration=known.samples,
                    one_sided=tuple(known.one_sided),
                    needed=samples_needed(self.done.floats, found.rebuilt),
                )
            found = replace(found, samples=self.separate)
            larger = self._carried != 1.0
            self._qualities[assignment] = found.with_errors(self._carried) if larger else found
        return self._qualities[assignment]

    def drop(self, assignment: PrecisionAssignment) -> float:
        if assignment not in self.drops:
            self.drops[assignment] = self._judged(self.file(self.plan(assignment)))
        return self.drops[assignment]

    def _judged(self, data: bytes) -> float:
        """The drop of a file's metric, cached: assignments may give the same file."""
        assert self._drop is not None
        key = sha256(data).digest()
        if key not in self._known:
            self._known[key] = self._drop(data)
        return self._known[key]

    def settle(self, assignment: PrecisionAssignment, plan: Plan) -> None:
        """Measure the file of `plan` and record it for an assignment."""
        data = self.file(plan)
        self._note(assignment, plan, data)
        if self._drop is not None:
            self.drops[assignment] = self._judged(data)

    def point(self, assignment: PrecisionAssignment) -> Point:
        """The measurements of an assignment."""
        drop = self.drops.get(assignment)
        db = round(self.least_db(assignment), 2) if assignment in self.scores else None
        size, words = self.size(assignment), self.words[assignment]
        return Point(size.storage, size.memory, db, drop, words, size.instructions or None)


def _in_words(plan: Plan) -> str:
    groups = [u for u in plan.groups if u.precision is not None]
    counts = {p: sum(u.precision == p for u in groups) for p in PRECISIONS.values()}
    parts = [
        f"{'all' if counts[p] == len(groups) else counts[p]} {p.after_count}"
        for p in PRECISIONS.values()
        if counts[p] and p != W8A8
    ]
    return ", ".join(parts) or "all int8"
