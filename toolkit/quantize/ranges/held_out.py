"""Evaluation of ranges and weights on held-out samples.

Each part of the samples is evaluated with ranges from the other parts, and with weights rounded for
the other half if weights are fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..scheme.options import Range, Ranges
from ..scheme.plan import Plan
from ..scheme.qparams import widen
from .calibration import Calibration
from .candidate_evaluation import CandidateEvaluator, Score, See
from .evaluation_points import EvaluationPoint
from .range_search import above, fixed_ranges

PARTS = 4
ENOUGH = 2 * PARTS
"""With fewer samples each sample is a part: ranges of half of the samples differ too much."""
CLIPPED_GAIN_DB = 1.0
"""Gain on held-out samples for which ranges may clip calibration values."""


def parts_of(count: int) -> Iterator[tuple[int, slice]]:
    """(fold that evaluates it, places) of each part; folds as in `two_folds`."""
    parts = PARTS if count >= ENOUGH else count
    for part in range(parts):
        yield 1 - part % 2, slice(part, None, parts)


def ranges_without(calibration: Calibration, ranges: Ranges, places: slice) -> dict[str, Range]:
    """`ranges` without the kept samples at `places`: ends beyond min-max are scaled by the same
    factor from the min-max of the other samples; other ends are limited to that min-max."""
    lowest = calibration.lowest()
    seen, others = calibration.without(slice(0, 0)), calibration.without(places)
    found = dict(ranges)
    for name in ranges.keys() & seen.keys():
        ends = zip(
            ranges[name],
            above(seen[name], lowest.get(name)),
            above(others[name], lowest.get(name)),
            strict=True,
        )
        low, high = (_without(*end) for end in ends)
        found[name] = low, high
    return found


def _without(end: float, seen: float, others: float) -> float:
    if abs(end) < abs(seen):
        return end if abs(end) < abs(others) else others
    return others * (end / seen) if seen else end


def held_out(
    plans: Sequence[Plan],
    ranges: Ranges,
    calibration: Calibration,
    trials: CandidateEvaluator,
    also: Sequence[EvaluationPoint] = (),
    see: See | None = None,
) -> Score:
    """The score of `ranges` on held-out samples; other arguments as for held_out_by."""

    def without(places: slice) -> Ranges:
        return ranges_without(calibration, ranges, places)

    return held_out_by(plans, without, trials, also, see)


def held_out_by(
    plans: Sequence[Plan],
    without: Callable[[slice], Ranges],
    trials: CandidateEvaluator,
    also: Sequence[EvaluationPoint] = (),
    see: See | None = None,
) -> Score:
    """The score of each part of the samples with the ranges `without` it. `plans` has one plan, or
    one for each fold. `see` is called with each sample's place and its values at the points of
    `trials` and `also`."""
    count, before = len(trials.kept), trials.count
    noise = np.zeros((len(trials.points), count))
    for fold, at in parts_of(count):
        graph, _ = plans[fold % len(plans)].emit(without(at), trial=True)
        noise[:, at] = trials.noise(graph, at, also, see, lasting=True)
    trials.count = before + 1  # together they run each sample once
    return Score(noise, trials.signal, trials.variation)


@dataclass(frozen=True)
class Candidate:
    """A quantization for `surpasses_held_out`: `plans` as for held_out_by."""

    plans: Sequence[Plan]
    ranges: Ranges
    calibration: Calibration

    def noise(self, trials: CandidateEvaluator, fold: int, at: slice) -> NDArray[np.float64]:
        """The noise on the samples at `at`, with ranges from the others."""
        ranges = ranges_without(self.calibration, self.ranges, at)
        graph, _ = self.plans[fold % len(self.plans)].emit(ranges, trial=True)
        return trials.noise(graph, at, lasting=True)


def surpasses_held_out(found: Candidate, other: Candidate, trials: CandidateEvaluator) -> bool:
    """Whether `found` is better than `other` on held-out samples. If the first part of them shows
    a significant difference, the others are not run."""
    mine, others = list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    before = trials.count
    for fold, at in parts_of(len(trials.kept)):
        mine.append(found.noise(trials, fold, at))
        others.append(other.noise(trials, fold, at))
        trials.count = before + 2  # together they run each sample once
        if len(mine) == 1 and mine[0].shape[1] >= ENOUGH:
            a, b = Score(mine[0], trials.signal), Score(others[0], trials.signal)
            if a.surpasses(b, 0.0) or b.surpasses(a, 0.0):
                return a.surpasses(b, 0.0)
    a, b = (Score(np.concatenate(noise, axis=1), trials.signal) for noise in (mine, others))
    return a.surpasses(b, 0.0, 0.0)


def unclipped(
    plan: Plan, ranges: Ranges, calibration: Calibration, trials: CandidateEvaluator
) -> dict[str, Range] | None:
    """`ranges` widened to min-max; None if nothing is clipped, or if clipping gains at least
    CLIPPED_GAIN_DB: searched ranges are optimized for the samples that chose them."""
    seen = fixed_ranges(calibration, "minmax")
    wider = {n: widen(r, seen.get(n, r)) for n, r in ranges.items()}
    if wider == ranges or len(trials.kept) < 2:
        return None
    now, safe = (held_out([plan], r, calibration, trials) for r in (ranges, wider))
    return wider if now.mean_db < safe.mean_db + CLIPPED_GAIN_DB else None
