"""The loss of a quantized file, attributed: what each layer costs, why, and what would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..decibels import EXACT_DB, ratio_db
from ..format.describe import op_dtype, op_type
from ..format.reader import read
from ..ir import Array, Graph
from ..progress import Progress
from ..quantize import Score
from ..quantize.ranges.candidate_evaluation import SIGNIFICANCE
from ..runtime import Session, return_freed
from .activation_statistics import ActivationStatistics
from .alone import scores_alone
from .causes import (
    DOUBT,
    MUCH,
    Cause,
    Layer,
    by_statistics,
    coarse_steps,
    coarse_weights,
    finer,
    harmless,
    inherited,
    remedies,
)
from .explanation import SHARE, WORST, Explanation, LayerCost
from .layer_statistics import LayerStatistics
from .layers import Layers
from .rounding_simulation import Rounding, simulated
from .shared_scale_groups import SumGroups
from .simulated_model import base_of, simulated_model_of
from .watched_samples import SAMPLES, work_of

ALONE = 16
"""Samples on which layers are run alone, at most: that finds those that remedies are tried on."""
ALONE_WORK, WORK = 1e11, 2e11
"""Multiply-accumulates that the runs of one layer at a time may take, and those of remedies."""
PRINTED = 0.25
"""The part of the former where only the costliest layers are shown."""
MOST_LAYERS = 400
TRIED = 4
"""Layers for which remedies are tried: those that cost most."""
RUNS = 8
"""Runs that a layer's remedies take, about."""
LEAST_GAIN_DB = 0.05
OUTWEIGHED = "changing this layer alone brings no measurable gain"
CUT_DB = 25.0
OWN = 0.25
"""A layer whose own error is less than this part of what is there has it from elsewhere."""


def explain(
    data: bytes,
    graph: Graph,
    inputs: Sequence[Mapping[str, Array]],
    extremes: Mapping[str, tuple[float, float]] | None = None,
    *,
    unseen: bool = True,
    alone: bool = True,
    every: bool = True,
    progress: Progress | None = None,
) -> Explanation:
    """Explain the file `data` made from the optimized float `graph`, on some samples as it takes
    them: batches, where it has a batch.

    `extremes` are the least and the largest value of tensors on more samples than these. `unseen`
    says that they are others than those of calibration. Unless `alone`, then with `every`,
    no layer is run alone and no remedy tried. Unless `every`, only the costliest have figures.
    Raises UserError for a file that is packed for a target.
    """
    assert alone or every
    simulated_model = simulated_model_of(read(data), graph)
    activations = ActivationStatistics(
        Session(data, max_memory=None, numbers=True), simulated_model, inputs, progress
    )
    for name, statistics in activations.statistics.items():
        if extremes and base_of(name) in extremes:
            statistics.widen(*extremes[base_of(name)])
    if every:
        activations.watch_all()
    explainer = _Explainer(activations, unseen, every, progress)
    return explainer.run(len(inputs)) if alone else explainer.facts(len(inputs))


@dataclass(frozen=True)
class _Found:
    cause: Cause
    gain_db: float | None


class _Explainer:
    def __init__(
        self,
        activations: ActivationStatistics,
        unseen: bool,
        every: bool,
        progress: Progress | None,
    ) -> None:
        self.all, self.apart = activations.all, activations.apart
        self.simulated_model, self.every = activations.simulated_model, every
        self.layers, self.progress = Layers(activations, unseen), progress
        self.activations, self.trials = activations, activations.trials
        self.types = {o.name: o for o in self.simulated_model.model.ops}
        self.sums = SumGroups(self.simulated_model)
        self.finer: dict[tuple[str, ...], float | None] = {}
        self.alone: dict[str, Score] = {}
        self.known: dict[str, Score] = {}  # of them, those on the samples of remedies
        self.better: Score

    def run(self, feeds: int) -> Explanation:
        names = self._names
        self.simulated_model.forget()
        chosen, count = self._affordable(names)
        everything = self.activations.trials
        self.trials = everything.on(count)
        return_freed()
        self._run_alone(chosen)
        return_freed()
        costs = {n: _cost(s) for n, s in self.alone.items()}
        total = sum(costs.values())
        if len(chosen) < len(names):  # of the loss of all layers, as far as that is known
            total = max(total, _cost(self._measure(self.all)))
        self.trials = everything.on(self._samples_for(TRIED * RUNS, WORK))
        self.known = self.alone if len(self.trials.kept) == count else {}
        base = self._measure(self.all)
        self.better = max(base, self._of_file(), key=lambda score: score.mean_db)
        shares = {n: c / total if total else 0.0 for n, c in costs.items()}
        ranked = sorted(names, key=lambda n: -shares.get(n, -1.0))
        costly = [n for n in ranked[:TRIED] if shares.get(n, 0) >= SHARE]
        if not self.every:
            costly = [n for i, n in enumerate(costly) if i < WORST or self._joins(n, costly[:i])]
            self.activations.watch(costly)
        tried = self._try(costly, base)
        causes = {n: self._advised(n, tried, base) for n in tried}
        layers = [self._layer(n, shares, causes) for n in (ranked if self.every else tried)]
        samples = feeds, count if chosen else 0, len(self.trials.kept)
        told = self._told(samples, layers)
        freed = self._measure(self.all.without({}, {c.name for c in told.worst_narrow()}))
        return replace(told, worst_int16_db=self._gain(freed, base))

    def facts(self, feeds: int) -> Explanation:
        """What the runs show that were made anyway: no shares of the loss, and no remedies."""
        return self._told((feeds, 0, 0), [self._layer(n, {}, {}) for n in self._names])

    @cached_property
    def _names(self) -> list[str]:
        """The tensors that the file rounds, or makes by rounded weights."""
        rounded = self.all.tensors | self.all.weights
        return [n for n in self.activations.statistics if n in rounded]

    def _told(self, samples: tuple[int, int, int], layers: list[LayerCost]) -> Explanation:
        known, own = self.activations.statistics, set(self._names)
        moved = [n for n in known if self.every and n not in own]
        scores = self.activations.scores
        watched, alone, tried = (n * self.activations.batch for n in samples)
        return Explanation(
            watched,
            alone,
            tried,
            scores["file"].mean_db,
            scores["weights"].mean_db,
            scores["activations"].mean_db,
            layers + [self._layer(n, {}, {}) for n in moved],
            sqnr={n: self._accumulated("file", n) for n in self.activations.noise.get("file", {})},
        )

    @cached_property
    def _work(self) -> int:
        return work_of(self.simulated_model.graph)

    def _samples_for(self, runs: int, work: float, most: int = SAMPLES) -> int:
        """On how many samples so many runs are to be made: the model's size decides."""
        kept = min(len(self.activations.trials.kept), most)
        return max(min(kept, 2), min(kept, int(work / (self._work * max(runs, 1)))))

    def _affordable(self, names: list[str]) -> tuple[list[str], int]:
        """Which layers to run alone, of too many the likeliest, and on how many samples."""
        work = ALONE_WORK if self.every else PRINTED * ALONE_WORK
        most = min(MOST_LAYERS, max(TRIED, int(work / self._work)))
        if len(names) > most:
            suspicion = self.activations.suspicions(names)
            names = sorted(names, key=lambda n: -suspicion[n])[:most]
        return names, self._samples_for(len(names), work, ALONE)

    def _measure(self, rounding: Rounding) -> Score:
        return self.trials.measure(simulated(self.simulated_model, rounding), lasting=True)

    def _of_file(self) -> Score:
        """The file's own score, on the samples that remedies are tried on."""
        places = {id(k): i for i, k in enumerate(self.activations.trials.kept)}
        at = [places[id(k)] for k in self.trials.kept]
        noise = self.activations.scores["file"].noise[:, at]
        return Score(noise, self.trials.signal, self.trials.variation)

    def _gain(self, score: Score, base: Score) -> float | None:
        """dB that the outputs gain by what was tried, None if that may be chance.

        It is tried on `base`, all roundings simulated. A file whose ranges were searched may be
        better: its own errors cancel in part, and every change ends that. So what is gained is what
        the outcome has more than either.
        """
        if not (score.beats(base, LEAST_GAIN_DB) and score.beats(self.better, LEAST_GAIN_DB)):
            return None
        return score.mean_db - self.better.mean_db

    def _run_alone(self, names: list[str]) -> None:
        def done(count: int) -> None:
            if self.progress:
                self.progress("one layer at a time", count, len(self.trials.kept))

        self.alone = scores_alone(self.simulated_model, self.apart, names, self.trials, done)

    def _try(self, names: list[str], base: Score) -> dict[str, _Found]:
        found: dict[str, _Found] = {}
        for name in names:
            if self.progress:
                self.progress("trying remedies", len(found), len(names))
            found[name] = self._tried(name, base)
        return found

    def _tried(self, name: str, base: Score) -> _Found:
        """The cause whose remedy helps most, and the outputs' gain by it.

        A remedy for one thing must be better than chance, and bring most of what float would.
        """
        layer = self.layers.layer(name)
        best, best_gain = None, 0.0
        gains: list[float | None] = []
        for cause, rounding in remedies(layer, self.all):
            score = self._measure(rounding)
            gain = _cost(base) - _cost(score)
            gains.append(self._gain(score, base))
            if gain > best_gain and score.beats(base, LEAST_GAIN_DB):
                best, best_gain = _Found(cause, gains[-1]), gain
        if best is not None:
            freed = self._measure(self.all.without({name}, {name}))
            if best_gain >= MUCH * (_cost(base) - _cost(freed)):
                return best
        return self._of_its_own(layer, gains) or self._weights_or_steps(layer, base)

    def _advised(self, name: str, tried: Mapping[str, _Found], base: Score) -> _Found:
        """What was found of a layer, with finer steps advised only where they gain.

        In a sum the errors of the terms may outweigh each other's: then finer steps of one alone
        are none, and all of the sum that want them are tried together.
        """
        found, wants = tried[name], self._wants_finer
        if found.gain_db is not None or not wants(name, tried):
            return found
        others = [n for n in tried if self.sums.joins(n, name) and wants(n, tried) and n != name]
        for more in ([], others):
            gain = self._gain_by_finer(name, *more, base=base)
            if gain is not None:
                advice = finer(self.activations.statistics[name], more)
                return _Found(replace(found.cause, advice=advice), gain)
        return replace(found, cause=replace(found.cause, advice=OUTWEIGHED))

    def _joins(self, name: str, others: Sequence[str]) -> bool:
        return any(self.sums.joins(name, n) for n in others)

    def _wants_finer(self, name: str, tried: Mapping[str, _Found]) -> bool:
        return finer(self.activations.statistics[name]) in tried[name].cause.advice

    def _gain_by_finer(self, *names: str, base: Score) -> float | None:
        """As `_gain`, by the float steps of these tensors."""
        key = tuple(sorted(names))
        if key not in self.finer:
            self.finer[key] = self._gain(self._measure(self.all.without({}, names)), base)
        return self.finer[key]

    def _of_its_own(self, layer: Layer, gains: Sequence[float | None]) -> _Found | None:
        """The cause whose remedy takes most of what the layer alone costs, if any does.

        A few samples beyond the range may make all of the loss here: mending that is no certain
        gain on other samples, and yet nothing else is the matter. Were they many, it would be
        certain: then the range ends where what reads the tensor tells little apart.
        """
        if not gains:
            return None
        statistics = layer.statistics
        share = statistics.clipping_samples / max(statistics.samples, 1)
        beyond = min(share * self.activations.batch, 1.0) * len(self.trials.kept)
        alone = self.apart.only({layer.name}, {layer.name})
        score = self.known.get(layer.name) or self._measure(alone)
        best, least = None, (1 - MUCH) * _cost(score)
        for (cause, rounding), gain in zip(remedies(layer, alone), gains, strict=True):
            if cause.of_range and beyond > SIGNIFICANCE**2:
                continue
            cost = _cost(self._measure(rounding))
            if cost <= least:
                best, least = _Found(cause, gain), cost
        return best

    def _weights_or_steps(self, layer: Layer, base: Score) -> _Found:
        """Whichever costs the outputs more when it alone is rounded, and the gain without it."""
        name, f = layer.name, layer.statistics
        if layer.constants and DOUBT * f.weights > f.rounding:
            weights = self._measure(self.apart.only({name}, {}))
            steps = self._measure(self.all.only({}, {name}))
            if _cost(weights) > _cost(steps):
                gain = self._gain(self._measure(self.all.without({name}, {})), base)
                cause = coarse_weights(layer.rounding)
                return _Found(cause if gain else replace(cause, advice=OUTWEIGHED), gain)
        return _Found(coarse_steps(f), self._gain_by_finer(name, base=base))

    def _layer(
        self,
        name: str,
        shares: Mapping[str, float],
        causes: Mapping[str, _Found],
    ) -> LayerCost:
        f, share = self.activations.statistics[name], shares.get(name)
        found = causes.get(name) or self._untried(name, shares)
        op = self.types.get(name)
        alone = self.alone.get(name)
        own = self._rounds(name)
        return LayerCost(
            name,
            "Input" if op is None else op_type(self.simulated_model.model, op),
            f.quant.dtype.name if op is None else op_dtype(self.simulated_model.model, op),
            self._accumulated("file", name),
            self._accumulated("weights", name),
            self._accumulated("activations", name),
            ratio_db(f.signal, f.both) if own else EXACT_DB,
            ratio_db(f.signal, f.weights) if name in self.all.weights else None,
            ratio_db(f.signal, f.rounding + f.clipping) if own else EXACT_DB,
            None if alone is None else alone.mean_db,
            share,
            *f.range,
            f.saturation,
            f.range_use,
            f.core_use,
            f.outlier_ratio,
            len(f.dead),
            len(f.lost),
            None if found is None else found.cause.name,
            "" if found is None else found.cause.seen,
            "" if found is None else found.cause.advice,
            None if found is None else found.gain_db,
        )

    def _untried(self, name: str, shares: Mapping[str, float]) -> _Found | None:
        """By the facts: its own cause, or whom it has its error from."""
        f, noise = self.activations.statistics[name], self.activations.noise["file"].get(name)
        if noise == 0.0:
            return None
        share = shares.get(name)
        own = f.both if self._rounds(name) else 0.0
        costs = share is not None and share >= SHARE
        if noise and own < OWN * noise and not costs:
            culprit = self._culprits.get(name)
            return None if culprit is None else _Found(inherited(culprit), None)
        if not own or (share is not None and not costs):
            return _Found(harmless(f), None) if own and _is_cut(f) else None
        # Of many things that the facts speak for few gain anything: only runs give advice.
        return _Found(replace(by_statistics(self.layers.layer(name)), advice=""), None)

    def _rounds(self, name: str) -> bool:
        return name in self.all.tensors or name in self.all.weights

    @cached_property
    def _culprits(self) -> dict[str, str]:
        """Of each tensor, the layer before it that costs the outputs most."""
        readers = self.simulated_model.graph.consumers()
        values = {v.name: v for v in self.simulated_model.graph.values()}
        found: dict[str, str] = {}
        for name in sorted(self.alone, key=lambda n: -_cost(self.alone[n])):
            todo = [values[name]] if name in values else []
            while todo:
                # What a costlier layer has reached, with all behind it, is that one's.
                behind = [v for node in readers.get(todo.pop(), []) for v in node.outputs]
                new = [v for v in behind if v.name not in found]
                found.update({v.name: name for v in new})
                todo += new
        return found

    def _accumulated(self, which: str, name: str) -> float | None:
        noise = self.activations.noise.get(which, {}).get(name)
        return None if noise is None else ratio_db(self.activations.signal[name], noise)


def _cost(score: Score) -> float:
    """Noise over signal, averaged over the evaluation points that have any: what adds up over
    layers."""
    heard = score.signal > 0
    if not heard.any():
        return float(score.noise.sum())
    return float(np.mean(score.noise[heard].sum(axis=1) / score.signal[heard]))


def _is_cut(f: LayerStatistics) -> bool:
    return f.clipping > MUCH * (f.rounding + f.clipping) and ratio_db(f.signal, f.both) < CUT_DB
