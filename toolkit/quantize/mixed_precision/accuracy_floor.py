"""The accuracy floor: promotes parts of a model to int16 or float32 where int8 is not good enough.

A good quantization (quality.py) stays as it is. First the tensors closest to the outputs are tried
on int16, within FREE limits. A usable model with too noisy outputs, too many changed answers, or
masks or detections that differ too much, gets as few int16 tensors as make it good, within MODERATE
limits, or none: for masks and detections before weights are rounded, if rounding would not be
enough. A broken model gets the cheapest mix that is good within REPAIR limits, or the closest one;
without a search if the 8-bit weights alone break it, then before weights are rounded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...numerics import FLOAT32, INT16, W8A16, Precision
from ...progress import Progress
from ...runtime import return_freed
from ..quality import GOOD_KEPT, Quality
from ..ranges.followed import follows_an_input
from ..result import Quantized
from ..scheme.macs import macs_of, work_by_tensor
from .activation_promotion import Left, lacks_precision, promote_activations
from .evaluator import Evaluator, Pack
from .floor_criteria import FloorCriteria, Growth
from .outcome import applied, precisions_of
from .precision_change import Configuration, PrecisionChange
from .promotion import Cost, Promotion
from .search import PrecisionSearch
from .tuning import EXPECTED_AFTER_ROUNDING

MOST_OUTPUT_STEPS = 5
"""Number of changes from the outputs back that are tried without a search."""
LEAST_DOUBT = 0.01
"""Reduction of the share of doubtful answers that justifies int16 outputs."""
TAIL_GAIN_DB = 3.0
"""SQNR gain that justifies int16 outputs behind int16 tensors: half of the noise."""
FEW_IN_DOUBT = 2.5
"""With fewer doubtful samples than this their share is estimated (AnswerLoss.chance)."""
SMALL_WORK = 1_000_000
"""MACs up to which a model is searched until few answers change: that takes a second."""


FREE = Growth(0.02, 0.0, 0.02, 1 << 10, 512, 20_000)
MODERATE = Growth(0.2, 1.0, 0.5, 1 << 10, 4 << 10, 20_000)
REPAIR = Growth(0.5, 1.0, 1.0, 4 << 10, 4 << 10, 1_000_000)
"""Limits for any model that is not good, for a usable one that becomes good, for a broken one."""


_Found = tuple[Quantized, Promotion | None, Quality]
"""The result of `keep_floor`."""


def other_ranges_may_help(promotion: Promotion | None, quality: Quality) -> bool:
    """Whether the result of `keep_floor` is broken and was before, and other ranges may help. Only
    then are the histograms left that another quantization needs."""
    if promotion is None:
        return quality.level == "broken"
    return promotion.before.level == quality.level == "broken" and not promotion.weights_alone


def quality_of(done: Quantized, pack: Pack, progress: Progress) -> Quality:
    """The quality of a quantization as it is."""
    evaluator = _evaluator(done, pack, done.held_out, progress)
    return evaluator.quality(evaluator.base)


def _evaluator(done: Quantized, pack: Pack, held_out: bool, progress: Progress) -> Evaluator:
    """An evaluator with the score of `done`."""
    evaluator = Evaluator(done, pack, None, held_out, progress)
    evaluator.know(evaluator.base, done.score)
    return evaluator


def keep_floor(
    done: Quantized,
    pack: Pack,
    progress: Progress,
    *,
    rounding: str = "auto",
    fast: bool = False,
) -> _Found:
    """`done` or a promoted version of it, the promotion, and its quality.

    If weights are not rounded yet (Quantized.finish), they are, for int8 or for promoted tensors.
    If no mix within the limits is good, the best one is returned, unless `done` is as good. Unless
    other ranges may help, the calibrations of `done` keep only extremes: no other one replaces it.
    `fast` leaves usable models as they are, and promotes the tensors of broken ones from the
    outputs back, without measuring each change.
    """
    if done.finish is not None:
        found = _before_rounding(done, pack, progress)
        if found is not None:
            return found
        done = done.finished()
    evaluator = _evaluator(done, pack, done.held_out, progress)
    start = Configuration(evaluator.base)
    before = evaluator.quality(start.assignment)
    if before.level != "broken":
        _keep_extremes(done)
    elif rounding != "nearest" and not fast and not done.held_out:
        # Rounding that int8 did not gain from may be what a mix needs.
        evaluator = _evaluator(done, pack, True, progress)
    promoted = _promote(evaluator, start, rounding != "nearest", fast)
    if not promoted.configuration.changes:
        return done, None, before
    return _finished(evaluator, promoted)


def _keep_extremes(done: Quantized) -> None:
    for calibration in (done.given, done.calibration):
        calibration.keep_extremes()
    return_freed()


def _finished(evaluator: Evaluator, promoted: _Promoted) -> _Found:
    """The result of keep_floor."""
    done, found = evaluator.done, promoted.configuration
    start = Configuration(evaluator.base)
    before = evaluator.quality(start.assignment)
    criteria = FloorCriteria(evaluator, promoted.growth)
    done.plan.forget_trials()
    return_freed()
    whole = applied(evaluator, criteria, found, promoted.reasons, as_done=promoted.as_done)
    after = evaluator.quality(found.assignment)
    too_many = before.measured == "usable" and before.changes_too_many
    after = replace(after, chosen=promoted.by_answers and too_many)
    # No Counter is kept: `asdict` would count its items.
    nodes = dict[str, int](Counter(precisions_of(whole.plan).values()))
    promotion = Promotion(
        before,
        after,
        _cost(evaluator, start),
        _cost(evaluator, found),
        nodes,
        promoted.growth.in_words(),
        promoted.weights_alone,
    )
    return replace(whole, finish=None), promotion, after


@dataclass(frozen=True)
class _Promoted:
    """A configuration, the limits that it keeps, and the reason of each change. With `as_done`
    weights stay rounded as for int8. `by_answers`: changed answers have a part in the choice;
    `weights_alone` is as in Promotion."""

    configuration: Configuration
    growth: Growth
    reasons: Mapping[PrecisionChange, str]
    as_done: bool
    by_answers: bool = True
    weights_alone: bool = False

    @staticmethod
    def of(
        found: Configuration,
        growth: Growth,
        reason: str,
        before: _Promoted | None = None,
        *,
        as_done: bool = False,
    ) -> _Promoted:
        known = {} if before is None else before.reasons
        reasons = dict.fromkeys(found.changes, reason) | dict(known)
        return _Promoted(found, growth, reasons, as_done or growth == FREE)


def _before_rounding(done: Quantized, pack: Pack, progress: Progress) -> _Found | None:
    """The result of keep_floor, if tensors are promoted before weights are rounded."""
    evaluator = _evaluator(done, pack, True, progress)
    promoted = _wide_first(evaluator) or _promoted_first(evaluator)
    return None if promoted is None else _finished(evaluator, promoted)


def _wide_first(evaluator: Evaluator) -> _Promoted | None:
    """All tensors on int16, and weights rounded for them, if weights of 8 bits alone break the
    model: fitted to int8 tensors they would also make up for errors that int16 does not have."""
    start = Configuration(evaluator.base)
    if evaluator.quality(start.assignment).level != "broken":
        return None
    wide = _limited_by_weights(evaluator, FloorCriteria(evaluator, REPAIR), start)
    if wide is None:
        return None
    _keep_extremes(evaluator.done)
    rounded = evaluator.rounded_first(wide)
    promoted = _Promoted.of(rounded, REPAIR, "closest to the float model")
    return replace(promoted, weights_alone=True)


def _promoted_first(evaluator: Evaluator) -> _Promoted | None:
    """Tensors promoted before weights are rounded, and weights rounded for them: where masks or
    detections differ too much, and would with rounded weights. None if that is not so, or if
    promotion does not make it good."""
    if not evaluator.masks.tensors and not evaluator.detections.tensors:
        return None
    start = Configuration(evaluator.base)
    quality = evaluator.quality(start.assignment)
    if quality.measured != "usable" or quality.least_kept >= GOOD_KEPT:
        return None
    wide = evaluator.quality(start.plus(evaluator.changes_to(W8A16)).assignment)
    if quality.level_with(_after_rounding(quality, wide)) == "good":
        return None
    outputs = _with_outputs(evaluator, start)
    promoted = _with_activations(evaluator, outputs)
    if promoted is not None:
        _keep_extremes(evaluator.done)
        rounded = evaluator.rounded_first(promoted.configuration)
        is_good = evaluator.quality(rounded.assignment).measured == "good"
        return replace(promoted, configuration=rounded) if is_good else promoted
    # A mix that only rounding makes good; if it does not, int8 needs the histograms.
    promoted = _with_activations(evaluator, outputs, lambda q: _after_rounding(q, wide))
    if promoted is None:
        return None
    rounded = evaluator.rounded_first(promoted.configuration)
    if evaluator.quality(rounded.assignment).measured != "good":
        return None
    _keep_extremes(evaluator.done)
    return replace(promoted, configuration=rounded)


def _after_rounding(found: Quality, wide: Quality) -> float:
    """The part of the error of int8 or a mix that rounding weights is expected to leave, given the
    error of int8 weights alone (`wide`)."""
    if found.worst is None or wide.worst is None:
        return EXPECTED_AFTER_ROUNDING
    of_weights = min(10 ** ((found.worst[1] - wide.worst[1]) / 10), 1.0)
    return math.sqrt(1 - (1 - EXPECTED_AFTER_ROUNDING**2) * of_weights)


def _promote(
    evaluator: Evaluator, start: Configuration, rounds_nearest: bool, fast: bool
) -> _Promoted:
    """`start` with the changes that the floor asks for; none if it is good as it is."""
    found = _with_outputs(evaluator, start)
    quality = evaluator.quality(found.configuration.assignment)
    if quality.measured == "good" or (fast and quality.measured == "usable"):
        return found
    small = macs_of(evaluator.done.floats) <= SMALL_WORK
    if quality.loss(small) > 1.0 or lacks_precision(quality):
        floats = _free_float(evaluator, start)
        if floats is not None:
            return _Promoted.of(floats, FREE, "float32 costs little more than int8")
    if lacks_precision(quality):
        good = _with_activations(evaluator, found)
        if good is not None:
            found, quality = good, evaluator.quality(good.configuration.assignment)
    if quality.measured == "good" or quality.loss(small) <= 1.0:
        return found
    growth = REPAIR if quality.level == "broken" else found.growth
    criteria = FloorCriteria(evaluator, growth, strict=small)
    if growth == REPAIR and not fast:
        wide = _limited_by_weights(evaluator, criteria, start)
        if wide is not None:
            return _Promoted.of(wide, growth, "closest to the float model", as_done=True)
    criteria.remember(found.configuration)
    search = PrecisionSearch(evaluator, criteria, 0, rounds_nearest, evaluator.progress)
    orders = [output_changes(evaluator, kind) for kind in (W8A16, FLOAT32)] if fast else []
    best = search.first_look(orders) if fast else search.run()
    return _Promoted(best, growth, {**found.reasons, **search.reasons}, as_done=False)


def _with_outputs(evaluator: Evaluator, start: Configuration) -> _Promoted:
    found = _wide_outputs(evaluator, start)
    return _Promoted.of(found, FREE, "improves accuracy at little cost")


def _with_activations(
    evaluator: Evaluator, found: _Promoted, left: Left = lambda _: 1.0
) -> _Promoted | None:
    criteria = FloorCriteria(evaluator, MODERATE)
    good = promote_activations(evaluator, criteria, found.configuration, left)
    if good is None:
        return None
    configuration, chosen = good
    promoted = _Promoted.of(configuration, MODERATE, "int8 alone is not good", found)
    return replace(promoted, by_answers=chosen or bool(found.configuration.changes))


def _free_float(evaluator: Evaluator, start: Configuration) -> Configuration | None:
    """The whole network in float32, if it is good and within FREE limits: small tabular models need
    no search."""
    whole = start.plus(evaluator.changes_to(FLOAT32))
    if not FloorCriteria(evaluator, FREE).within(whole.assignment):
        return None
    return whole if evaluator.quality(whole.assignment).measured == "good" else None


def _limited_by_weights(
    evaluator: Evaluator, criteria: FloorCriteria, start: Configuration
) -> Configuration | None:
    """All tensors on int16, if weights of 8 bits alone break the model, also if rounded for that,
    and the limits leave no room for float32. A search of many minutes would find little more."""
    wide = start.plus(evaluator.changes_to(W8A16))
    if not criteria.fits(wide):
        return None
    if evaluator.quality(wide.assignment).level_with(EXPECTED_AFTER_ROUNDING) != "broken":
        return None
    graph, _ = evaluator.plan(start.assignment).emit(evaluator.done.ranges, trial=True)
    work = work_by_tensor(graph)
    floats = evaluator.changes_to(FLOAT32)
    floats.sort(key=lambda c: sum(work.get(name, 0) for name in c.tensors))
    mixes = wide.plus(floats[:1]), start.plus(floats)
    return None if floats and any(criteria.fits(mix) for mix in mixes) else wide


def _cost(evaluator: Evaluator, configuration: Configuration) -> Cost:
    assignment = configuration.assignment
    size = evaluator.size(assignment)
    return Cost(size.storage, size.memory, evaluator.work(assignment))


def _wide_outputs(evaluator: Evaluator, start: Configuration) -> Configuration:
    """`start` with tensors promoted to int16 from the outputs back, as long as this reduces
    doubtful answers within FREE limits. If the result is not good, float32 is tried too: int8
    weights can produce tied classes."""
    start = _without_int8_tail(evaluator, start)
    before = _doubt_of(evaluator, start)
    if before < LEAST_DOUBT:
        return start
    criteria, best, least = FloorCriteria(evaluator, FREE), start, before
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


def _without_int8_tail(evaluator: Evaluator, start: Configuration) -> Configuration:
    """`start` with int16 outputs behind int16 tensors, where the int8 tensors between them cause
    most of the error. Also for outputs that follow an input, such as forecasts: int8 leaves few
    steps for the difference, and clips other samples."""
    trials = evaluator.trials
    wide = any(group.dtype == INT16 for group in evaluator.plan(start.assignment).groups)
    if not wide and not follows_an_input(trials.points, trials.kept):
        return start
    row = _output_row(evaluator, start)
    # The most changes show whether any of them help: files are made only then.
    if not row or not _halves_noise(evaluator, row[-1], start):
        return start
    criteria, best = FloorCriteria(evaluator, FREE), start
    for tried in filter(criteria.fits, row):
        if _halves_noise(evaluator, tried, best):
            best = tried
    return best


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
