"""What ranges and weights are worth on samples that did not make them.

Each part of the samples is judged by ranges of the others, and by weights that are rounded for the
other half where weights are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..scheme.options import Range, Ranges
from ..scheme.plan import Plan
from ..scheme.qparams import widen
from .calibration import Calibration
from .candidate_evaluation import CandidateEvaluator, Score, See
from .evaluation_points import EvaluationPoint
from .range_search import above, fixed_ranges

PARTS = 4
ENOUGH = 2 * PARTS
"""Of fewer samples each is a part: ranges by half of the samples say little of those by all."""
CLIPPED_GAIN_DB = 1.0
"""What outputs must gain on samples held out for ranges to clip any value that samples show."""


def parts_of(count: int) -> Iterator[tuple[int, slice]]:
    """(the fold that judges it, the places) of each part; folds as `two_folds` has them."""
    parts = PARTS if count >= ENOUGH else count
    for part in range(parts):
        yield 1 - part % 2, slice(part, None, parts)


def ranges_without(calibration: Calibration, ranges: Ranges, places: slice) -> dict[str, Range]:
    """`ranges` as they would be without the kept samples at `places`: those that reach beyond what
    samples show reach as many times as far beyond what the others show, and no range is wider than
    it was."""
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
    """The score of `ranges` by samples that did not make them; more as held_out_by."""

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
    """The score of each part of the samples by the ranges `without` it. `plans` has one, or one for
    each of the two folds. `see` is given each sample's place, and what it has at the points of
    `trials` and `also`."""
    count, before = len(trials.kept), trials.count
    noise = np.zeros((len(trials.points), count))
    for fold, at in parts_of(count):
        graph, _ = plans[fold % len(plans)].emit(without(at), trial=True)
        noise[:, at] = trials.noise(graph, at, also, see, lasting=True)
    trials.count = before + 1  # all of them run each sample once
    return Score(noise, trials.signal, trials.variation)


def unclipped(
    plan: Plan, ranges: Ranges, calibration: Calibration, trials: CandidateEvaluator
) -> dict[str, Range] | None:
    """`ranges` widened to what samples show; None where they are already, or where what is clipped
    gains much: ranges that were searched for suit the samples that chose them."""
    seen = fixed_ranges(calibration, "minmax")
    wider = {n: widen(r, seen.get(n, r)) for n, r in ranges.items()}
    if wider == ranges or len(trials.kept) < 2:
        return None
    now, safe = (held_out([plan], r, calibration, trials) for r in (ranges, wider))
    return wider if now.mean_db < safe.mean_db + CLIPPED_GAIN_DB else None
