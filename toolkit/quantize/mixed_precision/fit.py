"""Fits a quantization to a budget."""

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
    """Mix precisions until `done` meets `budget`; `mixed` of the result has the search results.

    Size limits come first: the least sensitive weights become 4-bit until the limits are met. Then
    tensors and nodes become int16 or float32 within these limits, until the outputs are good
    enough. `drop` is required for max_drop; it runs `judged` samples, which are `unseen` if they
    are not the calibration samples. `measure` returns the limited sizes. Unless `rounding` is
    "nearest", weights are rounded again for the mix. If the budget cannot be met, the result is the
    closest configuration.
    """
    data = pack(done.plan.emit(done.ranges)[0])
    shrinks = not budget.holds(measure(data))
    # If only the metric decides, no held-out samples are needed: it uses other samples.
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
    """Whether the mix `found` is so much larger than int8 that a search from a plain quantization
    should be tried, unless `start` was one. A mix that is mostly int16 does not need equalization,
    which makes weights uneven, and weights fitted for int8 compensate for errors that it does not
    have."""
    mixed, bits = found.mixed, {bits for _, bits in start.options.rounded}
    if mixed is None or not (start.exponents or (bits == {8} and start.by_halves)):
        return False
    if mixed.budget.max_drop is None and mixed.budget.min_sqnr is None:
        return False
    return not mixed.met or mixed.chosen.file_bytes > OVERSIZED * mixed.int8.file_bytes


def smaller_of(one: Quantized, other: Quantized) -> Quantized:
    """The better of two mixes for one budget: the one that meets it, or the smaller file; with the
    trials of both, and the int8 result of `one`."""
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
    """Sort key of mixes: whether the budget is met, then bytes and drop or noise (drop or noise
    first if the budget is missed)."""
    assert done.mixed is not None
    chosen = done.mixed.chosen
    lost = chosen.drop if chosen.drop is not None else -(chosen.sqnr_db or 0.0)
    if done.mixed.met:
        return False, chosen.file_bytes, lost
    return True, lost, chosen.file_bytes
