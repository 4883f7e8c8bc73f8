"""Promotes the tensors closest to the outputs to int16, or float32, where that is cheap and helps:
answers that are in doubt, outputs behind int16 tensors, outputs that follow an input, and outputs
of a few values."""

from __future__ import annotations

from ...numerics import FLOAT, FLOAT32, INT16, W8A16, Precision
from ..quality import Quality
from ..ranges.followed import follows_an_input
from .evaluator import Evaluator
from .floor_criteria import FloorCriteria
from .precision_change import Configuration, PrecisionChange

MOST_OUTPUT_STEPS = 5
"""Number of changes from the outputs back that are tried without a search."""
LEAST_DOUBT = 0.01
"""Reduction of the share of doubtful answers that justifies int16 outputs."""
TAIL_GAIN_DB = 3.0
"""SQNR gain that justifies int16 outputs behind int16 tensors: half of the noise."""
MOST_VALUES = 16
"""Of outputs that int16 has room for: with one value a sample, few samples say little of how far
others reach, and int8 cuts those off. A regressor calibrated on 39 samples lost 6 % of its R2 so,
at 38 dB."""
VALUES_LOSS = 0.3
"""Loss (Quality.loss) from which that is so on more samples: 30 dB."""
FEW_IN_DOUBT = 2.5
"""With fewer doubtful samples than this their share is estimated (AnswerLoss.chance)."""


def promote_outputs(
    evaluator: Evaluator, criteria: FloorCriteria, start: Configuration
) -> Configuration:
    """`start` with tensors promoted to int16 from the outputs back, as long as this reduces
    doubtful answers within the limits of `criteria`. If the result is not good, float32 is tried
    too: int8 weights can produce tied classes."""
    start = _without_int8_tail(evaluator, criteria, start)
    before = _doubt_of(evaluator, start)
    if before < LEAST_DOUBT:
        return start
    best, least = start, before
    for kind in (W8A16, FLOAT32):
        row = _output_row(evaluator, start, kind)
        # The most changes show how much there is to gain: that takes one measurement.
        aim = _doubt_of(evaluator, row[-1]) if row and criteria.fits(row[0]) else least
        for tried in row:
            if least - aim < LEAST_DOUBT or not criteria.fits(tried):
                break
            now = _doubt_of(evaluator, tried)
            if now <= least - LEAST_DOUBT:
                best, least = tried, now
        if evaluator.quality(best.assignment).measured == "good":
            break
    return best


def _without_int8_tail(
    evaluator: Evaluator, criteria: FloorCriteria, start: Configuration
) -> Configuration:
    """`start` with int16 outputs behind int16 tensors, where the int8 tensors between them cause
    most of the error. Also for outputs that follow an input, such as forecasts: int8 leaves few
    steps for the difference, and clips other samples; and, only the outputs, for a few values."""
    trials = evaluator.trials
    wide = any(group.dtype == INT16 for group in evaluator.plan(start.assignment).groups)
    several = wide or follows_an_input(trials.points, trials.kept)
    if not several and not _are_unsure_values(evaluator, start):
        return start
    row = _output_row(evaluator, start)[: None if several else 1]
    # The most changes show whether any of them help: files are made only then.
    if not row or not _halves_noise(evaluator, row[-1], start):
        return start
    best = start
    for tried in filter(criteria.fits, row):
        if _halves_noise(evaluator, tried, best):
            best = tried
    return best


def _are_unsure_values(evaluator: Evaluator, start: Configuration) -> bool:
    """Whether all outputs are a few numbers, and no answers, good as they are, but samples are few,
    the noise is considerable, or a decision reads them, as of an anomaly detector."""
    quality, plan = evaluator.quality(start.assignment), evaluator.done.plan
    unsure = plan.options.spare or any(v.dtype != FLOAT for v in plan.outputs)
    if quality.measured != "good" or not (unsure or quality.loss() > VALUES_LOSS):
        return False
    points, kept = evaluator.trials.points, evaluator.trials.kept
    if evaluator.figures.answers.compared or any(p.yes_no or p.axis is not None for p in points):
        return False
    return all(kept[0].at_points[p.tensor].size <= MOST_VALUES for p in points)


def _output_row(
    evaluator: Evaluator, start: Configuration, to: Precision = W8A16
) -> list[Configuration]:
    """`start` with the change nearest to the outputs, with the two nearest, and so on."""
    changes = output_changes(evaluator, to)[:MOST_OUTPUT_STEPS]
    return [start.plus(changes[:count]) for count in range(1, len(changes) + 1)]


def _halves_noise(evaluator: Evaluator, tried: Configuration, best: Configuration) -> bool:
    """Whether `tried` is better than `best` by TAIL_GAIN_DB."""
    score, before = (evaluator.score(c.assignment) for c in (tried, best))
    gains = score.surpasses(before, TAIL_GAIN_DB)
    return gains and score.mean_db > before.mean_db + TAIL_GAIN_DB


def _doubt_of(evaluator: Evaluator, configuration: Configuration) -> float:
    return _doubt(evaluator.quality(configuration.assignment))


def _doubt(quality: Quality) -> float:
    """The share of doubtful answers; the estimate for other samples if only few are doubtful."""
    a = quality.answers
    if a is None:
        return 0.0
    return a.chance if a.in_doubt * quality.samples < FEW_IN_DOUBT else max(a.in_doubt, a.chance)


def output_changes(evaluator: Evaluator, to: Precision = W8A16) -> list[PrecisionChange]:
    """The changes to precision `to`, in order of distance from the outputs."""
    graph = evaluator.done.plan.graph
    made_by, waiting = graph.producers(), [p.value for p in graph.outputs]
    place: dict[str, int] = {}
    while waiting:
        v = waiting.pop(0)
        if v.name not in place:
            place[v.name] = len(place)
            waiting += made_by[v].dynamic_inputs if v in made_by else []
    changes = evaluator.changes_to(to)
    first = {c: min((place[t] for t in c.tensors if t in place), default=None) for c in changes}
    known = [(at, i) for i, c in enumerate(changes) if (at := first[c]) is not None]
    return [changes[i] for _, i in sorted(known)]
