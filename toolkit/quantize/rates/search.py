"""Finds the coarsest weights within an accuracy limit, or the finest that fit a size limit.

One number, the total noise of all weights, determines the rate of every layer (database.py); it is
found by bisection. Each trial rounds all weights on each half of the samples, packs the file, and
evaluates it on the other half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ...decibels import ratio_db
from ...ir import Node
from ...progress import Progress
from ..budget import Budget, Point, pareto
from ..mixed_precision.criteria import Criteria
from ..mixed_precision.evaluator import Drop, Evaluator, Measure, Pack, generic_sizes
from ..mixed_precision.precision_change import Configuration
from ..outputs.kept_samples import KeptSample, two_folds
from ..ranges.candidate_evaluation import LEAST
from ..reconstruction.layer_rounding import round_weights
from ..result import Quantized
from ..scheme.plan import Plan
from .database import Entry, Layer, bytes_of, choose, finest, make_database, noise_of
from .guard import Loss

COARSEST = 0.03
"""The largest noise of weights at the outputs, relative to the signal, that is tried."""
TRIES, SPREAD = 8, 4
"""Number of trials, and how many of them are evenly spaced before bisection starts."""
AIM, NEAR = 0.998, 0.995
"""Fractions of a size limit: the target, and the size at which the search stops."""


@dataclass(frozen=True)
class Rates:
    """The result of weight compression: the files before and after, and the Pareto-optimal ones
    between. `layers` counts the layers with coarser weights. `layer_sqnr_db` is the estimated SQNR
    of the outputs if only that layer's weights were coarser, by its output name."""

    before: Point
    after: Point
    pareto: list[Point]
    layers: int
    layer_sqnr_db: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As documented for --json."""
        return asdict(self)


@dataclass(frozen=True)
class _Trial:
    """Weights at chosen rates, evaluated by halves."""

    done: Quantized
    evaluator: Evaluator
    good: bool
    fits: bool
    layers: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.evaluator.size(self.evaluator.base).storage

    def point(self, what: str) -> Point:
        self.evaluator.score(self.evaluator.base)
        return replace(self.evaluator.point(self.evaluator.base), what=what)


class RateSearch:
    """Compresses the weights of `done` within `budget` or, without one, the limits of guard.py.

    With a size limit only, the result has the finest weights that fit; with an accuracy limit, the
    coarsest that meet it; with an arena limit only, guard.py applies. Only the weights of `wanted`
    nodes change. `pack` builds a file; `drop` and `measure` as in fit_budget.
    """

    def __init__(
        self,
        done: Quantized,
        pack: Pack,
        wanted: Callable[[Node], bool],
        progress: Progress,
        budget: Budget | None = None,
        drop: Drop | None = None,
        measure: Measure = generic_sizes,
    ) -> None:
        self.done, self.pack, self.wanted, self.progress = done, pack, wanted, progress
        self.budget, self.drop, self.measure = budget, drop, measure
        accurate = budget is not None and (budget.max_drop, budget.min_sqnr) != (None, None)
        limit = None if budget is None else budget.size_limits[0]
        self.most_bytes = None if accurate else limit
        self.guarded = not accurate and limit is None
        self.before: Loss | None = None

    def run(self) -> tuple[Quantized, Rates | None]:
        """The best result and its figures; `done` and None if no trial qualifies."""
        done = self.done
        if len(done.calibration.kept) < 2:
            return done, None
        start = self._judged(done, {})
        by_size = self.most_bytes is not None
        if by_size and start.fits:
            return done, None
        database = make_database(start.evaluator, self.wanted, self.progress)
        tried = list((self._by_size if by_size else self._by_noise)(database)) if database else []
        served = [t for t in tried if t.size < start.size and (t.fits if by_size else t.good)]
        if not served:
            return done, None
        served.sort(key=lambda t: t.size, reverse=by_size)
        finals = ((t, self._final(t)) for t in served)
        best, final = next((f for f in finals if not by_size or self._fits(f[1])), (None, done))
        if best is None:
            return done, None
        points = [t.point(f"{len(t.layers)} layers of coarser weights") for t in tried]
        before, after = start.point("8-bit weights"), points[tried.index(best)]
        known = pareto(points, [before, after])
        alone = {n: round(ratio_db(1.0, max(e.noise, LEAST)), 2) for n, e in best.layers.items()}
        return final, Rates(before, after, known, len(alone), alone)

    def _by_noise(self, database: Mapping[str, Layer]) -> Iterator[_Trial]:
        """Evenly spaced trials between the finest and the coarsest (with few samples, a trial may
        score worse than a coarser one), then bisection from the coarsest good one."""
        low = math.log(max(noise_of(finest(database)), LEAST))
        part = max(math.log(COARSEST) - low, 0.0) / (SPREAD + 1)
        at = low
        for i in range(TRIES):
            self.progress("trying rates", i, TRIES)
            middle = low + (i + 1) * part if i < SPREAD else at + part
            trial = self._trial(choose(database, noise=math.exp(middle)))
            yield trial
            at = middle if trial.good else at
            part = part if i < SPREAD - 1 else part / 2
        self.progress("trying rates", TRIES, TRIES)

    def _by_size(self, database: Mapping[str, Layer]) -> Iterator[_Trial]:
        """Trials of the finest weights that fit the size limit, given the size of the rest of the
        file in the last trial."""
        assert self.most_bytes is not None
        beside, known = 0.0, list[dict[str, Entry]]()
        for i in range(TRIES):
            self.progress("trying rates", i, TRIES)
            layers = choose(database, size=AIM * self.most_bytes - beside)
            if layers in known:
                break
            known.append(layers)
            trial = self._trial(layers)
            yield trial
            if NEAR * self.most_bytes <= trial.size <= self.most_bytes:
                break
            beside = trial.size - bytes_of(layers)
        self.progress("trying rates", TRIES, TRIES)

    def _trial(self, layers: Mapping[str, Entry]) -> _Trial:
        rates = {name: entry.rate for name, entry in layers.items()}
        plan = self.done.plan.mixed(replace(self.done.options, rates=rates))
        folds = two_folds(self.done.calibration.kept)
        halves = [self._rounded(plan, half).options.rounded for half, _ in folds]
        plan = plan.with_rounded(halves[0])
        done = replace(self.done, plan=plan, options=plan.options, by_halves=halves, held_out=True)
        return self._judged(done, layers)

    def _rounded(self, plan: Plan, samples: Sequence[KeptSample]) -> Plan:
        inputs, method = [s.inputs for s in samples], self.done.rounding
        return plan.with_rounded(round_weights(plan, self.done.ranges, inputs, None, method))

    def _judged(self, done: Quantized, layers: Mapping[str, Entry]) -> _Trial:
        evaluator = Evaluator(
            done, self.pack, self.drop, done.held_out, self.progress, self.measure
        )
        if not layers:
            evaluator.know(evaluator.base, done.score)
        most = None if self.budget is None else self.budget.max_instructions
        quick = most is None or evaluator.size(evaluator.base).instructions <= most
        if self.guarded or self.budget is None:
            loss = Loss.of(evaluator)
            self.before = self.before or loss
            return _Trial(done, evaluator, loss.within(self.before) and quick, True, layers)
        criteria, base = Criteria(self.budget, evaluator), Configuration(evaluator.base)
        good = criteria.is_good(base) and quick
        return _Trial(done, evaluator, good, criteria.fits(base), layers)

    def _fits(self, done: Quantized) -> bool:
        """Whether the file still fits with weights rounded on all samples; its size may differ."""
        return self._judged(done, {}).fits

    def _final(self, best: _Trial) -> Quantized:
        """The trial with weights rounded on all samples."""
        plan = self._rounded(best.done.plan, self.done.calibration.kept)
        graph, decisions = plan.emit(self.done.ranges)
        score = best.evaluator.score(best.evaluator.base)
        return replace(
            best.done,
            plan=plan,
            options=plan.options,
            graph=graph,
            decisions=[*decisions, *self._reported(decisions)],
            score=score,
        )

    def _reported(self, decisions: Sequence[Any]) -> list[Any]:
        """Decisions of the quantization before that are not among `decisions`."""
        known = set(decisions)
        return [d for d in self.done.decisions if d not in known]
