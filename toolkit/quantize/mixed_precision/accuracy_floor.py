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

from ...numerics import FLOAT32, W8A16
from ...progress import Progress
from ...runtime import return_freed
from ..quality import GOOD_KEPT, Quality
from ..result import Quantized
from ..scheme.macs import macs_of
from .activation_promotion import Left, lacks_precision, promote_activations
from .evaluator import Evaluator, Pack
from .exact_layers import all_wide, are_weights_too_coarse, exact_layers
from .floor_criteria import FloorCriteria, Growth
from .outcome import applied, precisions_of
from .output_promotion import output_changes, promote_outputs
from .precision_change import Configuration, PrecisionChange
from .promotion import Cost, Promotion
from .search import PrecisionSearch
from .tuning import EXPECTED_AFTER_ROUNDING

SMALL_WORK = 1_000_000
"""MACs up to which a model is searched until few answers change: that takes a second."""


FREE = Growth(0.02, 0.0, 0.02, 1 << 10, 512, 20_000)
MODERATE = Growth(0.2, 1.0, 0.5, 1 << 10, 4 << 10, 200_000)
REPAIR = Growth(0.5, 1.0, 1.0, 16 << 10, 4 << 10, 1_000_000)
"""Limits for any model that is not good, for a usable one that becomes good, for a broken one."""


Found = tuple[Quantized, Promotion | None, Quality]
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


def _evaluator(
    done: Quantized, pack: Pack, held_out: bool, progress: Progress, carried: float = 1.0
) -> Evaluator:
    """An evaluator with the score of `done`."""
    evaluator = Evaluator(done, pack, None, held_out, progress, carried=carried)
    evaluator.know(evaluator.base, done.score)
    return evaluator


def keep_floor(
    done: Quantized,
    pack: Pack,
    progress: Progress,
    *,
    rounding: str = "auto",
    fast: bool = False,
    carried: float = 1.0,
) -> Found:
    """`done` or a promoted version of it, the promotion, and its quality.

    If weights are not rounded yet (Quantized.finish), they are, for int8 or for promoted tensors.
    If no mix within the limits is good, the best one is returned, unless `done` is as good. Unless
    other ranges may help, the calibrations of `done` keep only extremes: no other one replaces it.
    `fast` leaves usable models as they are, and promotes the tensors of broken ones from the
    outputs back, without measuring each change. Errors are larger by the factor `carried` than
    those of single runs, where a state carries them on.
    """
    if done.finish is not None:
        found = _before_rounding(done, pack, progress)
        if found is not None:
            return found
        done = done.finished()
    evaluator = _evaluator(done, pack, done.held_out, progress, carried)
    start = Configuration(evaluator.base)
    before = evaluator.quality(start.assignment)
    if before.level != "broken":
        keep_extremes(done)
    elif rounding != "nearest" and not fast and not done.held_out:
        # Rounding that int8 did not gain from may be what a mix needs.
        evaluator = _evaluator(done, pack, True, progress, carried)
    promoted = _promote(evaluator, start, rounding != "nearest", fast)
    if not promoted.configuration.changes:
        return done, None, before
    return _finished(evaluator, promoted)


def keep_extremes(done: Quantized) -> None:
    """Let go of the histograms, which only another quantization of the model would need."""
    for calibration in (done.given, done.calibration):
        calibration.keep_extremes()
    return_freed()


def _finished(evaluator: Evaluator, promoted: _Promoted) -> Found:
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


def _before_rounding(done: Quantized, pack: Pack, progress: Progress) -> Found | None:
    """The result of keep_floor, if tensors are promoted before weights are rounded."""
    evaluator = _evaluator(done, pack, True, progress)
    promoted = _weights_first(evaluator) or _promoted_first(evaluator)
    return None if promoted is None else _finished(evaluator, promoted)


def _weights_first(evaluator: Evaluator) -> _Promoted | None:
    """What 8-bit weights that alone break the model need, and other weights rounded for that:
    fitted to int8 tensors they would also make up for errors that a mix does not have."""
    start = Configuration(evaluator.base)
    if evaluator.quality(start.assignment).level != "broken":
        return None
    found = _for_weights(evaluator, start, rounds=True)
    return None if found is None else replace(found, weights_alone=True)


def _for_weights(evaluator: Evaluator, start: Configuration, rounds: bool) -> _Promoted | None:
    """What a broken model needs of which 8-bit weights are too coarse: a few layers in float32, or
    all tensors on int16. `rounds`: other weights are still to be rounded, for that."""
    if not are_weights_too_coarse(evaluator, start):
        return None
    criteria = FloorCriteria(evaluator, REPAIR)
    exact = exact_layers(evaluator, criteria, start)
    found = None if exact is None else _beside_exact(evaluator, exact, rounds)
    if found is not None:
        return found
    wide = all_wide(evaluator, criteria, start)
    if wide is None:
        return None
    return _rounded(evaluator, _Promoted.of(wide, REPAIR, "closest to the float model"), rounds)


def _beside_exact(evaluator: Evaluator, exact: Configuration, rounds: bool) -> _Promoted | None:
    """A broken model with a few layers in float32 (`exact`), and int16 tensors where these make it
    good; None if it stays broken."""
    found = _Promoted.of(exact, REPAIR, "8-bit weights break the model")
    quality = evaluator.quality(exact.assignment)
    broken, better = quality.measured == "broken", None
    if broken or lacks_precision(quality):
        growth = REPAIR if broken else MODERATE
        if rounds:
            wide = evaluator.quality(exact.plus(evaluator.changes_to(W8A16)).assignment)
            better = _activations_first(evaluator, found, wide, growth)
        else:
            better = _with_activations(evaluator, found, growth)
            better = better and replace(better, as_done=True)
    if better is not None or broken:
        return better
    return _rounded(evaluator, found, rounds)


def _rounded(evaluator: Evaluator, found: _Promoted, rounds: bool) -> _Promoted:
    """With weights rounded for it, or with those of int8."""
    if not rounds:
        return replace(found, as_done=True)
    keep_extremes(evaluator.done)
    return replace(found, configuration=evaluator.rounded_first(found.configuration))


def _promoted_first(evaluator: Evaluator) -> _Promoted | None:
    """Tensors promoted before weights are rounded, and weights rounded for them: where masks or
    detections differ too much, and would with rounded weights. None if that is not so, or if
    promotion does not make it good."""
    figures = evaluator.figures
    if not figures.masks.tensors and not figures.detections.tensors:
        return None
    start = Configuration(evaluator.base)
    quality = evaluator.quality(start.assignment)
    if quality.measured != "usable" or quality.least_kept >= GOOD_KEPT:
        return None
    wide = evaluator.quality(start.plus(evaluator.changes_to(W8A16)).assignment)
    if quality.level_with(_after_rounding(quality, wide)) == "good":
        return None
    return _activations_first(evaluator, _with_outputs(evaluator, start), wide, MODERATE)


def _activations_first(
    evaluator: Evaluator, found: _Promoted, wide: Quality, growth: Growth
) -> _Promoted | None:
    """`found` with int16 tensors, and weights rounded for them; None if that does not make it good.
    `wide` is the quality with all tensors on int16."""
    promoted = _with_activations(evaluator, found, growth)
    if promoted is not None:
        keep_extremes(evaluator.done)
        rounded = evaluator.rounded_first(promoted.configuration)
        is_good = evaluator.quality(rounded.assignment).measured == "good"
        return replace(promoted, configuration=rounded) if is_good else promoted
    # A mix that only rounding makes good; if it does not, int8 needs the histograms.
    promoted = _with_activations(evaluator, found, growth, lambda q: _after_rounding(q, wide))
    if promoted is None:
        return None
    rounded = evaluator.rounded_first(promoted.configuration)
    if evaluator.quality(rounded.assignment).measured != "good":
        return None
    keep_extremes(evaluator.done)
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
        good = _with_activations(evaluator, found, MODERATE)
        if good is not None:
            found, quality = good, evaluator.quality(good.configuration.assignment)
    if quality.measured == "good" or quality.loss(small) <= 1.0:
        return found
    growth = REPAIR if quality.level == "broken" else found.growth
    criteria = FloorCriteria(evaluator, growth, strict=small)
    if growth == REPAIR and not fast:
        of_weights = _for_weights(evaluator, start, rounds=False)
        if of_weights is not None:
            return of_weights
    criteria.remember(found.configuration)
    search = PrecisionSearch(evaluator, criteria, 0, rounds_nearest, evaluator.progress)
    orders = [output_changes(evaluator, kind) for kind in (W8A16, FLOAT32)] if fast else []
    best = search.first_look(orders) if fast else search.run()
    return _Promoted(best, growth, {**found.reasons, **search.reasons}, as_done=False)


def _with_outputs(evaluator: Evaluator, start: Configuration) -> _Promoted:
    found = promote_outputs(evaluator, FloorCriteria(evaluator, FREE), start)
    return _Promoted.of(found, FREE, "improves accuracy at little cost")


def _with_activations(
    evaluator: Evaluator, found: _Promoted, growth: Growth, left: Left = lambda _: 1.0
) -> _Promoted | None:
    criteria = FloorCriteria(evaluator, growth)
    good = promote_activations(evaluator, criteria, found.configuration, left)
    if good is None:
        return None
    configuration, chosen = good
    promoted = _Promoted.of(configuration, growth, "int8 alone is not good", found)
    return replace(promoted, by_answers=chosen or bool(found.configuration.changes))


def _free_float(evaluator: Evaluator, start: Configuration) -> Configuration | None:
    """The whole network in float32, if it is good and within FREE limits: small tabular models need
    no search."""
    whole = start.plus(evaluator.changes_to(FLOAT32))
    if not FloorCriteria(evaluator, FREE).within(whole.assignment):
        return None
    return whole if evaluator.quality(whole.assignment).measured == "good" else None


def _cost(evaluator: Evaluator, configuration: Configuration) -> Cost:
    assignment = configuration.assignment
    size = evaluator.size(assignment)
    return Cost(size.storage, size.memory, evaluator.work(assignment))
