"""Evaluation of candidates: runs the quantized file on calibration samples and compares outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ....calibration import FiledArrays
from ...build import open_once
from ...decibels import EXACT_DB, ratio_db
from ...ir import Array, Graph
from ...runtime import Session
from ...runtime.many_runs import run_many
from ..outputs.evaluation_points import EvaluationPoint, with_evaluation_points
from ..outputs.figures import Figures, Rows
from ..outputs.levels import level_weights
from ..outputs.signals import energies, variations
from ..scheme.options import Ranges
from ..scheme.plan import Plan
from .calibration import Calibration, Judged

K = TypeVar("K")
V = TypeVar("V")

SIGNIFICANCE = 2.0
"""A gain counts if it exceeds this many standard errors."""
HINT = 0.5
"""The same for the first few samples."""
HELD_OUT = 1.0
"""The same on samples that were not used to find the candidate."""
FLOOR = 0.1
"""Minimum noise of a sample, relative to the mean noise: ratios of smaller noise are random."""
CHANCE = 19.0
"""Numbers of an evaluation point whose gain on a sample varies as much by chance as samples do."""
FEW = slice(0, None, 4)
"""The samples that a trial runs on first."""
FIRST = 4
"""How many of those it runs on at first."""
LEAST_SIGNAL = 0.25
"""Of a few evenly spread samples, relative to that of all, at any evaluation point."""
ENOUGH_DB, WORST_LOSS_DB = 20.0, 0.25
"""Below this SQNR the worst output may lose at most so much for gains at other outputs: the verdict
is by the worst one."""
NOTHING_DB = 1.0
"""SQNR of a useless output: all zeros have 0 dB."""
MOST_KNOWN = 32
"""Files whose noise is kept, and files and samples of which `judge` keeps what it found."""
LEAST, MOST = 1e-30, 1e60
"""Minimum noise (sum of squares), to avoid division by 0; float32 rounding makes more. Noise of
outputs that are not finite, such as the logarithm of values rounded to 0."""


@dataclass(frozen=True)
class Score:
    """Noise by evaluation point and sample [evaluation points, samples], and the signal
    [evaluation points]. `variation` is the part of the signal that varies over the samples, for
    outputs that are measured by it."""

    noise: NDArray[np.float64]
    signal: NDArray[np.float64]
    variation: NDArray[np.float64] | None = None

    @property
    def mean_db(self) -> float:
        """Mean SQNR over the evaluation points; 0 if there are none."""
        return float(np.mean(self._each_db)) if len(self.signal) else 0.0

    @property
    def _each_db(self) -> list[float]:
        pairs = zip(self.signal, self.noise.sum(axis=1), strict=True)
        return [ratio_db(float(s), float(n)) for s, n in pairs]

    def least_db(self, points: Sequence[EvaluationPoint]) -> float:
        """SQNR of the worst output: the least mean over the points of one tensor; 0 without any."""
        found: dict[str, list[float]] = {}
        for point, db in zip(points, self._each_db, strict=True):
            found.setdefault(point.tensor, []).append(db)
        return min((float(np.mean(each)) for each in found.values()), default=0.0)

    def part(self, noise: NDArray[np.float64], by_worst: bool = False) -> float:
        """`noise` [evaluation points] relative to this score's noise, averaged over the evaluation
        points; `by_worst`: weighted by their noise-to-signal ratios, so that the worst count most.
        """
        whole = np.maximum(self.noise.sum(axis=1), LEAST)
        signal = self._judged_signal
        weights = np.where(signal > 0, whole / np.maximum(signal, LEAST), 0.0)
        if not by_worst or not weights.any():
            return float(np.mean(noise / whole)) if len(whole) else 0.0
        return float(np.average(noise / whole, weights=weights))

    def gains(
        self, other: Score, weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Gain of each sample over `other` in dB, averaged over the evaluation points, with these
        `weights` if given.

        Ratios are computed per sample: in a sum of noises, the few samples with a low softmax
        confidence would dominate.
        """
        floor = np.maximum(FLOOR * other.noise.mean(axis=1, keepdims=True), LEAST)
        ratios = (other.noise + floor) / (self.noise + floor)
        found: NDArray[np.float64] = 10 * np.average(np.log10(ratios), axis=0, weights=weights)
        return found

    def gain_db(self, other: Score) -> float:
        """The mean of `gains`; 0 without samples or evaluation points."""
        return float(self.gains(other).mean()) if self.noise.size else 0.0

    def surpasses(
        self,
        other: Score,
        margin_db: float,
        errors: float = SIGNIFICANCE,
        at: slice = slice(None),
        weights: NDArray[np.float64] | None = None,
    ) -> bool:
        """Whether the mean gain exceeds `margin_db` and `errors` of its standard errors.

        With few samples some candidates gain by chance, so the gain must be large relative to its
        spread over the samples. On samples that were not used to find the candidate, one standard
        error (HELD_OUT) is enough. `at` selects the samples, `weights` is as for `gains`.
        """
        if not other.noise[:, at].size:
            return False
        mean, error = _mean(self.gains(other, weights)[at])
        return mean > max(margin_db, errors * error)

    def gains_less(self, other: Score, than_db: float) -> bool:
        """Whether the mean gain is significantly less than this; False without any."""
        if not other.noise.size:
            return False
        mean, error = _mean(self.gains(other))
        return mean + SIGNIFICANCE * error < than_db

    def beats(self, other: Score, margin_db: float, errors: float = SIGNIFICANCE) -> bool:
        """Whether it is better by `margin_db` in total, and significantly; False without samples or
        evaluation points. A result worse than all zeros is not improved by clipping everything, and
        no gain makes up for a loss at an output that is too noisy already."""
        least = max(other.mean_db + margin_db, NOTHING_DB)
        if not self.surpasses(other, 0.0, errors) or self.mean_db <= least:
            return False
        return self._worst_db >= min(other._worst_db - WORST_LOSS_DB, ENOUGH_DB)

    @property
    def _judged_signal(self) -> NDArray[np.float64]:
        """The variation, for points that are measured by it, else the signal."""
        return self.signal if self.variation is None else self.variation

    @property
    def _worst_db(self) -> float:
        """The SQNR of the worst evaluation point."""
        pairs = zip(self._judged_signal, self.noise.sum(axis=1), strict=True)
        return min((ratio_db(float(s), float(n)) for s, n in pairs if s > 0), default=EXACT_DB)


class CandidateEvaluator:
    """Runs trials on the kept samples and counts them. `figures` are those of `graph`, a float
    graph as a Plan prepares it; without one there are none."""

    def __init__(self, calibration: Calibration, graph: Graph | None = None) -> None:
        self.kept, self.points = calibration.kept, calibration.points
        points = self.points if graph else []
        self.figures = Figures(graph or Graph([], [], []), points, self.kept)
        self.count, self._judged, self._noises = 0, calibration.judged, calibration.noises
        self._files = WeakKeyDictionary[Session, bytes]()  # digests of files of lasting nodes
        self.truth = [self._views(p) for p in self.points]
        self.weights = level_weights(self.points, self.kept)
        self._measure_truth()

    def _views(self, point: EvaluationPoint) -> FiledArrays[int]:
        found = FiledArrays[int]()
        for i, sample in enumerate(self.kept):
            found[i] = point.view(sample.at_points[point.tensor])
        return found

    def _measure_truth(self) -> None:
        views = [truth.values() for truth in self.truth]
        self.signal = energies(views, self.weights)
        self.variation = variations(self.points, views, self.weights)
        self._raw: tuple[object, FiledArrays[tuple[int, int]]] = (None, FiledArrays())
        self._energy: NDArray[np.float64] | None = None

    @property
    def certainty(self) -> NDArray[np.float64]:
        """Weights of the evaluation points for `Score.gains`: the ratio of two errors of few
        numbers is mostly chance. Its variance is 75 / n dB^2 for n numbers (twice that of the
        logarithm of a chi-square variable), beside 4 dB^2 between samples."""
        sizes = np.array([views[0].size for views in self.truth], np.float64)
        found: NDArray[np.float64] = sizes / (sizes + CHANCE)
        return found

    def on(self, count: int) -> CandidateEvaluator:
        """The same on `count` evenly spread samples."""
        fewer, at = copy(self), self.spread(count)
        fewer.kept = [self.kept[i] for i in at]
        fewer.truth = [views.numbered(at.tolist()) for views in self.truth]
        fewer.weights, fewer._judged, fewer._noises = self.weights[:, at], {}, {}
        fewer._measure_truth()
        return fewer

    def spread(self, count: int) -> NDArray[np.int64]:
        """The places of `count` evenly spread samples, or of others if these have too little of the
        signal: few of a detector's may show anything."""
        even = np.linspace(0, len(self.kept) - 1, count).round().astype(np.int64)
        if count >= len(self.kept):
            return even
        if self._energy is None:
            each = [[np.sum(v * v) for v in views.values()] for views in self.truth]
            self._energy = self.weights * np.array(each)
        energy = self._energy[self._energy.any(axis=1)]
        ratios = energy[:, even].mean(axis=1) / energy.mean(axis=1)
        if ratios.min(initial=1.0) >= LEAST_SIGNAL:
            return even
        energy = energy[np.argmin(ratios)]
        steps = np.searchsorted(np.cumsum(energy) / energy.sum(), (np.arange(count) + 0.5) / count)
        found = list(dict.fromkeys([*steps.tolist(), *np.argsort(-energy, kind="stable").tolist()]))
        return np.array(sorted(found[:count]), np.int64)

    def score(self, plan: Plan, ranges: Ranges) -> Score:
        """The score of the graph that `plan` makes of `ranges`."""
        self.count += 1
        graph, _ = plan.emit(ranges, trial=True)
        return Score(self._run(self._open(graph, lasting=True)), self.signal, self.variation)

    def measure(self, graph: Graph, lasting: bool = False) -> Score:
        """The score of a graph with the evaluated tensors by name; `lasting` as for open_once."""
        return Score(self.noise(graph, lasting=lasting), self.signal, self.variation)

    def noise_on(self, i: int) -> Callable[[Mapping[str, Array]], NDArray[np.float64]]:
        """A function that computes the noise [evaluation points] of a graph's tensors on sample
        `i`."""
        truth, weights = [views[i] for views in self.truth], self.weights[:, i]

        def noise(outputs: Mapping[str, Array]) -> NDArray[np.float64]:
            found = np.zeros(len(truth))
            for p, point in enumerate(self.points):
                if point.tensor in outputs:
                    error = point.view(outputs[point.tensor]) - truth[p]
                    found[p] = weights[p] * np.sum(error * error)
            return found

        return noise

    def noise(
        self, graph: Graph, at: slice = slice(None), lasting: bool = False
    ) -> NDArray[np.float64]:
        """The noise of such a graph [evaluation points, samples]; `lasting` as for open_once."""
        self.count += 1
        return self._run(self._open(graph, lasting), at)

    def judge(self, graph: Graph, at: slice, figures: bool = True) -> Judged:
        """The noise of such a graph, of lasting nodes, and the rows of `figures`, on the samples at
        `at`: those of the same file are known. Unless `figures`, rows may be empty."""
        self.count += 1
        session = self._open(graph, lasting=True, also=self.figures.points)
        key = self._files[session], at.start, at.step, self.figures.key
        found = self._judged.pop(key, None)
        if found is None:
            if not figures and (known := self._noise_known(session, at)) is not None:
                return known, np.empty((known.shape[1], 0))
            rows: list[Rows] = []
            noise = self._run(session, at, rows)
            found = noise, np.concatenate(rows)
        _keep(self._judged, key, found)
        return found

    def _open(
        self, graph: Graph, lasting: bool = False, also: Sequence[EvaluationPoint] = ()
    ) -> Session:
        session = open_once(with_evaluation_points(graph, [*self.points, *also]), lasting)
        if lasting:
            self._files[session] = key = sha256(session.model.data.data).digest()
            none = np.full((len(self.points), len(self.kept)), np.nan)
            _keep(self._noises, key, self._noises.pop(key, none))
        return session

    def _noise_known(self, session: Session, at: slice) -> NDArray[np.float64] | None:
        """The noise on the samples at `at` of a file that has run on them."""
        known = self._noises.get(self._files.get(session, b""))
        return None if known is None or np.isnan(known[:, at]).any() else known[:, at].copy()

    def contend(self, plan: Plan, ranges: Ranges, champion: Score) -> Score | None:
        """The score of the graph that `plan` makes of `ranges`; None if it is significantly worse
        than the `champion` on every fourth sample: then it does not run on the others."""
        session, score = self._begun(plan, ranges, champion)
        score.noise[:, FEW] = self._run(session, FEW)
        if not score.surpasses(champion, -np.inf, -1.0, FEW):
            return None
        for first in (1, 2, 3):
            at = slice(first, None, 4)
            score.noise[:, at] = self._run(session, at)
        return score

    def _begun(self, plan: Plan, ranges: Ranges, champion: Score) -> tuple[Session, Score]:
        """The file of `ranges`, and a score initialized with the champion's."""
        self.count += 1
        session = self._open(plan.emit(ranges, trial=True)[0], lasting=True)
        return session, Score(champion.noise.copy(), self.signal, self.variation)

    def challenge(
        self, plan: Plan, ranges: Ranges, champion: Score, margin_db: float
    ) -> tuple[Score | None, bool]:
        """The score of the graph that `plan` makes of `ranges` if it beats the `champion`, also on
        held-out samples, else None; and whether it is significantly worse.

        It must gain on every fourth sample, then on every second one, before it runs on the others
        for confirmation: the best of many candidates on some samples is partly luck.
        """
        session, score = self._begun(plan, ranges, champion)
        seen = self._first_seen(session, score, champion)
        if seen != FEW or not score.surpasses(champion, margin_db, HINT, seen):
            return None, champion.surpasses(score, 0.0, 1.0, seen)
        noise = score.noise
        noise[:, 2::4] = self._run(session, slice(2, None, 4))
        if not score.surpasses(champion, margin_db, at=slice(0, None, 2)):
            return None, False
        held_out = slice(1, None, 2)
        noise[:, held_out] = self._run(session, held_out)
        confirmed = score.surpasses(champion, margin_db, HELD_OUT, held_out)
        return score if confirmed and score.beats(champion, margin_db) else None, False

    def _first_seen(self, session: Session, score: Score, champion: Score) -> slice:
        """Run a file on every fourth sample, and return where it ran. It runs on FIRST of them,
        then on twice as many, as long as it is not significantly worse: most candidates lose, and a
        few samples suffice to see it."""
        step = FEW.step
        while len(self.kept) > 2 * step * (FIRST - 1):
            step *= 2
        at = seen = slice(0, None, step)
        score.noise[:, at] = self._run(session, at)
        while seen != FEW and score.surpasses(champion, -np.inf, -1.0, seen):
            step //= 2
            at, seen = slice(step, None, 2 * step), slice(0, None, step)
            score.noise[:, at] = self._run(session, at)
        return seen

    def _run(
        self, session: Session, at: slice = slice(None), rows: list[Rows] | None = None
    ) -> NDArray[np.float64]:
        """The noise on the samples at `at`; those of `figures` are added to `rows`. A file runs
        on a sample once, unless its rows are asked for."""
        if rows is None and (known := self._noise_known(session, at)) is not None:
            return known
        samples = range(len(self.kept))[at]
        noise = np.zeros((len(self.points), len(samples)))
        first = 0
        for got in run_many(session, (self._feed(session, i) for i in samples)):
            places = slice(first, first := first + len(next(iter(got.values()))))
            self._add(noise, places, samples[places], got)
            if rows is not None:
                truth = [self.kept[i].at_points for i in samples[places]]
                rows.append(self.figures.rows(truth, got))
        if (key := self._files.get(session)) in self._noises:
            self._noises[key][:, at] = noise
        return noise

    def _add(
        self,
        noise: NDArray[np.float64],
        places: slice,
        samples: Sequence[int],
        got: Mapping[str, Array],
    ) -> None:
        """Compute these samples, stored at these `places`."""
        for p, point in enumerate(self.points):
            if point.tensor in got:
                found = point.view(got[point.tensor], of_many=True)
                error = found - np.stack([self.truth[p][i] for i in samples])
                square = (error * error).reshape(len(error), -1).sum(axis=1)
                square *= self.weights[p, samples]
                noise[p, places] = np.nan_to_num(square, nan=MOST, posinf=MOST)

    def _feed(self, session: Session, i: int) -> list[Array]:
        """Quantized inputs of sample `i`; most trials quantize them in the same way."""
        if self._raw[0] != session.inputs:
            self._raw = (session.inputs, FiledArrays())
        known = self._raw[1]
        if (i, 0) not in known:
            for k, array in enumerate(session.to_raw(self.kept[i].inputs)):
                known[i, k] = array
        return [known[i, k] for k in range(len(session.inputs))]


def _mean(gains: NDArray[np.float64]) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(gains.mean()), float(gains.std() / np.sqrt(max(len(gains) - 1, 1)))


def _keep(known: dict[K, V], key: K, found: V) -> None:
    """Keep what was found as the newest."""
    known[key] = found
    while len(known) > MOST_KNOWN:
        del known[next(iter(known))]
