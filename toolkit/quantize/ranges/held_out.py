"""Evaluation of ranges and weights on held-out samples.

Each part of the samples is evaluated with ranges from the other parts, and with weights rounded for
the other half if weights are fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..outputs.figures import Rows
from ..scheme.options import Range, Ranges
from ..scheme.plan import Plan
from ..scheme.qparams import widen
from .calibration import Calibration
from .candidate_evaluation import SIGNIFICANCE, CandidateEvaluator, Score
from .range_search import fixed_ranges

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
    seen, others = calibration.without(slice(0, 0)), calibration.without(places)
    found = dict(ranges)
    for name in ranges.keys() & seen.keys():
        ends = zip(
            ranges[name],
            calibration.bounded(name, seen[name]),
            calibration.bounded(name, others[name]),
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
    plans: Sequence[Plan], ranges: Ranges, calibration: Calibration, trials: CandidateEvaluator
) -> Score:
    """The score of `ranges` on held-out samples; other arguments as for held_out_by."""
    return held_out_by(plans, partial(ranges_without, calibration, ranges), trials)


def held_out_by(
    plans: Sequence[Plan], without: Callable[[slice], Ranges], trials: CandidateEvaluator
) -> Score:
    """The score of each part of the samples with the ranges `without` it. `plans` has one plan, or
    one for each fold."""
    noise = np.zeros((len(trials.points), len(trials.kept)))
    for at, part, _ in _judged_by_part(plans, without, trials, figures=False):
        noise[:, at] = part
    return Score(noise, trials.signal, trials.variation)


def held_out_figures(
    plans: Sequence[Plan], ranges: Ranges, calibration: Calibration, trials: CandidateEvaluator
) -> tuple[Score, Rows]:
    """As held_out, with the rows of the `figures` of `trials`, of all samples."""
    parts = list(_judged_by_part(plans, partial(ranges_without, calibration, ranges), trials))
    rows = np.zeros((len(trials.kept), max((part.shape[1] for _, _, part in parts), default=0)))
    noise = np.zeros((len(trials.points), len(trials.kept)))
    for at, part, of_part in parts:
        noise[:, at], rows[at] = part, of_part
    return Score(noise, trials.signal, trials.variation), rows


def _judged_by_part(
    plans: Sequence[Plan],
    without: Callable[[slice], Ranges],
    trials: CandidateEvaluator,
    figures: bool = True,
) -> Iterator[tuple[slice, NDArray[np.float64], Rows]]:
    """Places of each part of the samples, the noise and the rows of figures there, as for
    held_out_by. All parts together count as one trial: they run each sample once. Unless `figures`,
    rows may be empty."""
    trials.count += 1
    for fold, at in parts_of(len(trials.kept)):
        graph, _ = plans[fold % len(plans)].emit(without(at), trial=True)
        noise, rows = trials.judge(graph, at, figures)
        trials.count -= 1
        yield at, noise, rows


@dataclass(frozen=True)
class Candidate:
    """A quantization for `surpasses_held_out`: `plans` as for held_out_by."""

    plans: Sequence[Plan]
    ranges: Ranges
    calibration: Calibration

    def noise(self, trials: CandidateEvaluator) -> Iterator[NDArray[np.float64]]:
        """The noise of each part of the samples, with ranges from the others."""
        without = partial(ranges_without, self.calibration, self.ranges)
        parts = _judged_by_part(self.plans, without, trials, figures=False)
        return (noise for _, noise, _ in parts)


def _compared(
    found: Candidate, other: Candidate, trials: CandidateEvaluator
) -> Iterator[tuple[Score, Score, bool]]:
    """The scores of both on the first part of held-out samples, if it has ENOUGH, and on all of
    them, and which of these. What is not asked for does not run."""
    mine, others = list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    for a, b in zip(found.noise(trials), other.noise(trials), strict=True):
        mine.append(a)
        others.append(b)
        if len(mine) == 1 and a.shape[1] >= ENOUGH:
            yield Score(a, trials.signal), Score(b, trials.signal), False
    whole, rest = (Score(np.concatenate(n, axis=1), trials.signal) for n in (mine, others))
    yield whole, rest, True


def surpasses_held_out(found: Candidate, other: Candidate, trials: CandidateEvaluator) -> bool:
    """Whether `found` is better than `other` on held-out samples. If the first part of them shows
    a significant difference, the others are not run."""
    for mine, others, every in _compared(found, other, trials):
        better = mine.surpasses(others, 0.0, 0.0 if every else SIGNIFICANCE)
        if every or better or others.surpasses(mine, 0.0):
            return better
    raise AssertionError("all samples were compared")


def unclipped(
    plan: Plan, ranges: Ranges, calibration: Calibration, trials: CandidateEvaluator
) -> dict[str, Range] | None:
    """`ranges` widened to min-max; None if nothing is clipped, or if clipping gains at least
    CLIPPED_GAIN_DB: searched ranges are optimized for the samples that chose them. If the first
    part of the samples surely gains less, the others are not run."""
    seen = fixed_ranges(calibration, "minmax")
    wider = {n: widen(r, seen.get(n, r)) for n, r in ranges.items()}
    if wider == ranges or len(trials.kept) < 2:
        return None
    now, safe = (Candidate([plan], r, calibration) for r in (ranges, wider))
    for clipped, whole, every in _compared(now, safe, trials):
        if every and clipped.mean_db >= whole.mean_db + CLIPPED_GAIN_DB:
            return None
        if every or clipped.gains_less(whole, CLIPPED_GAIN_DB):
            break
    return wider
