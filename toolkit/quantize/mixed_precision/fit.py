"""A quantization brought within a budget, and the better of two that were."""

from __future__ import annotations

from dataclasses import replace

from ...progress import Progress, silent
from ..budget import Budget, pareto
from ..result import Quantized
from .criteria import Criteria
from .evaluator import Drop, Evaluator, Measure, Pack, generic_sizes
from .outcome import outcome
from .search import PrecisionSearch
from .tuning import OVERSIZED


def fit_budget(
    done: Quantized,
    budget: Budget,
    pack: Pack,
    drop: Drop | None = None,
    progress: Progress = silent,
    *,
    rounding: str = "auto",
    judged: int = 0,
    unseen: bool = True,
    measure: Measure = generic_sizes,
) -> Quantized:
    """`done` with as much off int8 as `budget` asks for; its `mixed` says what that took.

    Limits of size come first: weights of 4 bits, the least harmful, until they hold. Then changes
    to int16 and float32 within them, until the outputs are good enough. `drop` is needed for
    max_drop, and runs `judged` samples, which are `unseen` if they are not those of calibration.
    `measure` counts as the limits of size do. Unless `rounding` is "nearest", weights are rounded
    anew for the mix. Where the budget cannot be met, the best that was found.
    """
    data = pack(done.plan.emit(done.ranges)[0])
    shrinks = not budget.holds(measure(data))
    # What only a drop decides needs no samples held out: other ones judge it.
    judges = budget.max_drop is not None and budget.min_sqnr is None
    rounds = rounding != "nearest"
    known = budget.max_drop is None and done.held_out
    held_out = rounds and (shrinks or known or budget.min_sqnr is not None)
    evaluator = Evaluator(done, pack, drop, held_out, progress, measure)
    anew = rounds and (held_out or judges) and (budget.max_drop is None or unseen)
    criteria = Criteria(budget, evaluator)
    search = PrecisionSearch(evaluator, criteria, judged, anew, progress)
    found = search.run()
    return outcome(evaluator, criteria, found, search.reasons)


def is_oversized(start: Quantized, found: Quantized) -> bool:
    """Whether the mix `found` is so much larger than int8 that one from a plain start should be
    tried, if `start` was none: one mostly on int16 does not need scaled channels, whose readers'
    weights are uneven, and weights rounded for int8 make up for errors that it does not have."""
    mixed, bits = found.mixed, {bits for _, bits in start.options.rounded}
    if mixed is None or not (start.exponents or (bits == {8} and start.by_halves)):
        return False
    if mixed.budget.max_drop is None and mixed.budget.min_sqnr is None:
        return False
    return not mixed.met or mixed.chosen.file_bytes > OVERSIZED * mixed.int8.file_bytes


def smaller_of(one: Quantized, other: Quantized) -> Quantized:
    """Of two mixes for one budget that which meets it, or is the smaller file; with all that was
    tried for both, and the int8 of `one`."""
    assert one.mixed is not None and other.mixed is not None
    best = min(one, other, key=_cost)
    assert best.mixed is not None
    points = [*one.mixed.pareto, *other.mixed.pareto]
    trials = one.mixed.trials + other.mixed.trials
    known = pareto(points, [best.mixed.chosen, one.mixed.int8])
    return replace(
        best, mixed=replace(best.mixed, int8=one.mixed.int8, pareto=known, trials=trials)
    )


def _cost(done: Quantized) -> tuple[bool, float, float]:
    """By which mixes are compared: bytes, then the drop or noise; first of those that miss the
    budget."""
    assert done.mixed is not None
    chosen = done.mixed.chosen
    lost = chosen.drop if chosen.drop is not None else -(chosen.sqnr_db or 0.0)
    if done.mixed.met:
        return False, chosen.file_bytes, lost
    return True, lost, chosen.file_bytes
