"""Weights as coarse as what is asked for allows, or as fine as fits.

One number, the noise that all layers' weights may make, chooses the rate of every layer
(database.py); it is bisected. Each trial rounds all weights for both halves of the samples, packs
the file and runs it on the half that the weights are not rounded for.
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
from ..ranges.calibration import KeptSample, two_folds
from ..ranges.candidate_evaluation import LEAST
from ..reconstruction.layer_rounding import round_weights
from ..result import Quantized
from ..scheme.plan import Plan
from .database import Entry, Layer, bytes_of, choose, finest, make_database, noise_of
from .guard import Loss

COARSEST = 0.03
"""Noise of weights at the outputs, as a part of the signal, that is tried at most."""
TRIES, SPREAD = 8, 4
"""How many, and how many of them before any bisection."""
AIM, NEAR = 0.998, 0.995
"""Of a limit of bytes, what is aimed for, and what is near enough."""


@dataclass(frozen=True)
class Rates:
    """What coarser weights brought: files before and after, and those between that no other beats.
    `layers` are those that are coarser; `layer_sqnr_db` is that of the outputs if only the weights
    of one were, estimated, by what it makes."""

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
    """Weights at rates, judged on halves."""

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
    """For `done`, whose files `pack` makes: within `budget` or, without one, guard.py.

    A budget of size alone asks for the finest weights that fit, one of accuracy for the coarsest
    that keep it; one of the arena alone leaves it to guard.py. Weights of nodes that are `wanted`
    are coarser. `drop` and `measure` as for fit_budget.
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
        """The best that was found, and what it brought; as it was where nothing serves."""
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
        """Trials at even distances between the finest and the coarsest, for few samples may call
        one of them worse than coarser ones; then by bisection from the coarsest good one on."""
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
        """Trials of the finest weights that fit the limit of bytes, with what the last one took
        beside them."""
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
        """Weights that are rounded for all samples take other bytes than those for half of them."""
        return self._judged(done, {}).fits

    def _final(self, best: _Trial) -> Quantized:
        """With weights rounded for all samples."""
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
        """What was said of the quantization before, and is not again."""
        known = set(decisions)
        return [d for d in self.done.decisions if d not in known]
