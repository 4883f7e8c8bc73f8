"""The order of a quantization: calibrate, choose ranges, weights, biases, and what stays float."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import UserError
from ..ir import Array, Graph
from ..progress import Progress
from .equalization.bias_absorption import Shifts, absorbed, find_shifts
from .equalization.cross_layer import Exponents, equalized, find_exponents
from .ranges.calibration import Calibration, KeptSample, Sample, calibrate, two_folds
from .ranges.candidate_evaluation import HELD_OUT, CandidateEvaluator, Score
from .ranges.range_search import RangeSearch, fixed_ranges, trials_for
from .reconstruction.layer_rounding import round_weights
from .result import Quantized
from .scheme.detection_head import detection_head
from .scheme.int4_layers import choose_int4_layers
from .scheme.macs import macs_of
from .scheme.options import (
    METHODS,
    OBSERVERS,
    ROUNDINGS,
    WEIGHTS,
    Options,
    Range,
    RoundedWeights,
)
from .scheme.plan import Plan
from .scheme.precision import Precision
from .weights.weight_quantizer import WeightFormat

SCALES_GAIN_DB = 0.1
EQUALIZE_GAIN_DB = 0.25
ABSORB_GAIN_DB = 0.5
NO_CORRECTION_GAIN_DB = 0.5
INT16_TAIL_GAIN_DB = 1.0
FLOAT_TAIL_GAIN_DB = 3.0
"""What the outputs must gain for a step to be taken, or for bias correction not to be."""
FEW_SAMPLES = 4
"""To see which of the sites of an equalization matter."""


def quantize_model(
    graph: Graph,
    samples: Iterable[Sample],
    observer: str = "auto",
    progress: Progress | None = None,
    *,
    weights: str = "int8",
    rounding: str = "auto",
) -> Quantized:
    """`graph` on int8, its ranges from `samples` by `observer` (one of OBSERVERS).

    `weights` is one of WEIGHTS, `rounding` one of ROUNDINGS. The same graph and samples give the
    same result. Raises UserError for an unknown name or samples that do not fit, CalibrationError
    for values that are not finite.
    """
    _known("observer", observer, OBSERVERS)
    _known("weights", weights, WEIGHTS)
    _known("rounding", rounding, ROUNDINGS)
    calibration = calibrate(graph, samples, progress)
    return optimize(graph, calibration, observer, progress, weights=weights, rounding=rounding)


def _known(what: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise UserError(f"no {what} '{name}'; there are: {', '.join(names)}")


def optimize(
    graph: Graph,
    calibration: Calibration,
    observer: str,
    progress: Progress | None = None,
    *,
    weights: str = "int8",
    rounding: str = "auto",
    plain: bool = False,
) -> Quantized:
    """As quantize_model, from statistics that are already there.

    `plain`: for a mix that is mostly int16. Channels are not scaled, which int16 does not need, and
    `auto` keeps the nearest weights of 8 bits, for those that are rounded make up for errors of
    int8 too. With weights of 4 bits all are rounded.
    """
    job = _Job(graph, calibration, progress, WEIGHTS[weights], equalize=not plain)
    if observer == "auto":
        job.search()
    else:
        job.fix(observer)
    job.hold_weights()
    if not (plain and rounding == "auto" and job.form.bits == 8):
        job.round(rounding)
    return job.result(observer)


@dataclass(frozen=True)
class _Source:
    """A float graph to quantize, and what samples show of it."""

    floats: Graph
    calibration: Calibration
    exponents: Exponents
    shifts: Shifts
    wide: dict[str, Range]

    @staticmethod
    def of(
        floats: Graph, calibration: Calibration, exponents: Exponents, shifts: Shifts
    ) -> _Source:
        wide = fixed_ranges(calibration, "minmax")
        return _Source(floats, calibration, exponents, shifts, wide)

    def plan(self, options: Options) -> Plan:
        """The plan by these options, with this source's means if any are wanted."""
        means = self.calibration.means() if options.means else {}
        seen = {n: (s.minimum, s.maximum) for n, s in self.calibration.stats.items() if s.count}
        return Plan(self.floats, self.wide, replace(options, means=means), seen)


class _Job:
    """The best found so far; each step but `round` keeps what it tries only if the outputs gain."""

    def __init__(
        self,
        graph: Graph,
        calibration: Calibration,
        progress: Progress | None = None,
        form: WeightFormat | None = None,
        equalize: bool = True,
    ) -> None:
        self.form, self.equalize = form or WeightFormat(), equalize
        self.given, self.progress = calibration, progress
        self.source = _Source.of(graph, calibration, {}, {})
        self.ranges = self.source.wide
        self.options = Options(means=calibration.means())
        self.plan = self.source.plan(self.options)
        self.trials = CandidateEvaluator(calibration)
        self.score = self.trials.score(self.plan, self.ranges)
        self.rounding: str = METHODS[0]
        self.by_halves: list[RoundedWeights] = []

    def fix(self, observer: str) -> None:
        """One observer for all, and the steps that need no search."""
        self.ranges = fixed_ranges(self.source.calibration, observer)
        self.score = self.trials.score(self.plan, self.ranges)
        self._choose_tensors(observer)
        self._consider(replace(self.options, search_scales=True), SCALES_GAIN_DB)
        self.choose_options()

    def search(self) -> None:
        """The best observer to start from, then tensor by tensor."""
        self._choose_tensors("minmax")
        calibration = self.source.calibration
        budget = trials_for(macs_of(self.source.floats), len(self.trials.kept))
        search = RangeSearch(
            self.plan, calibration, self.trials, budget, self.score, progress=self.progress
        )
        scaled = replace(self.options, search_scales=True)
        search.choose_start([self.plan, self.source.plan(scaled)])
        self._adopt(search)
        self.choose_options()
        search.plan, search.score = self.plan, self.score
        search.descend()
        self._adopt(search)

    def _choose_tensors(self, observer: str) -> None:
        """Channels scaled, then lowered, where the outputs gain; not by one sample, which does not
        tell what others have in them.

        Compared at the ranges of one observer, before others are tried: those that clip make up for
        uneven channels on the samples that chose them, and less on others.
        """
        if len(self.trials.kept) < 2:
            return
        for other, margin in (
            (self._equalized, EQUALIZE_GAIN_DB),
            (self._absorbed, ABSORB_GAIN_DB),
        ):
            source = other()
            if source is not None:
                self._prefer(source, observer, margin)

    def _adopt(self, search: RangeSearch) -> None:
        self.plan, self.options = search.plan, search.plan.options
        self.ranges, self.score = search.ranges, search.score

    def _equalized(self) -> _Source | None:
        """The source with its channels made alike, by the kept samples; None if they are, or may
        not be."""
        if not self.equalize:
            return None
        floats, inputs = self.source.floats, self._inputs()
        count = min(FEW_SAMPLES, len(self.trials.kept))
        few = self.trials.on(count)
        whole = Score(self.score.noise[:, self.trials.spread(count)], few.signal)

        def part(rounding: Graph) -> float:
            return whole.part(few.noise(rounding).sum(axis=1))

        exponents = find_exponents(floats, inputs, part, self._forms())
        if not exponents:
            return None
        alike = equalized(floats, exponents)
        return _Source.of(alike, calibrate(alike, inputs, self.progress), exponents, {})

    def _forms(self) -> dict[str, WeightFormat]:
        """Of the weights that will have 4 bits, by what they make."""
        if self.form.bits == 8:
            return {}
        nodes, ungrouped = choose_int4_layers(self.plan, self.ranges)
        return {n: WeightFormat(4, 0 if n in ungrouped else self.form.group_size) for n in nodes}

    def _absorbed(self) -> _Source | None:
        """The source with biases moved behind ReLUs; None if no range gets narrower by that."""
        floats, inputs = self.source.floats, self._inputs()
        shifts = find_shifts(floats, inputs)
        if not shifts:
            return None
        lower = absorbed(floats, shifts)
        known = calibrate(lower, inputs, self.progress)
        return _Source.of(lower, known, self.source.exponents, shifts)

    def _inputs(self) -> list[dict[str, Array]]:
        return [s.inputs for s in self.source.calibration.kept]

    def choose_options(self) -> None:
        """The steps that change more than ranges, each measured."""
        tail, before = detection_head(self.plan.graph), self.options
        if tail:
            self._consider(replace(before, int16=before.int16 | tail), INT16_TAIL_GAIN_DB)
            real: dict[str, Precision] = dict.fromkeys(sorted(tail), "float32")
            kept = replace(before, precision={**before.precision, **real})
            self._consider(kept, FLOAT_TAIL_GAIN_DB)
        self._consider(replace(self.options, means={}), NO_CORRECTION_GAIN_DB)

    def _prefer(self, source: _Source, observer: str, margin: float) -> None:
        """Another float graph if the outputs gain by it, sample by sample and in all.

        It is one try: a standard error is certain enough.
        """
        ranges, plan = fixed_ranges(source.calibration, observer), source.plan(self.options)
        score = self.trials.score(plan, ranges)
        in_all = score.mean_db > self.score.mean_db
        if in_all and score.surpasses(self.score, margin, HELD_OUT):
            self.source, self.ranges = source, ranges
            self.plan, self.options, self.score = plan, plan.options, score

    def _consider(self, options: Options, margin: float) -> None:
        """Other options if the outputs gain by them for certain."""
        plan = self.source.plan(options)
        score = self.trials.score(plan, self.ranges)
        if score.beats(self.score, margin):
            self.plan, self.options, self.score = plan, plan.options, score

    def hold_weights(self) -> None:
        """4-bit weights where they are asked for and serve: ranges are as for 8 bits."""
        if self.form.bits == 8:
            return
        nodes, ungrouped = choose_int4_layers(self.plan, self.ranges)
        four: dict[str, Precision] = dict.fromkeys(nodes, "int4")
        precision = {**self.options.precision, **four}
        self.options = replace(
            self.options,
            precision=precision,
            int4_group=self.form.group_size,
            ungrouped=ungrouped if self.form.group_size else frozenset(),
        )
        self.plan = self.source.plan(self.options)
        self.score = self.trials.score(self.plan, self.ranges)

    def round(self, rounding: str) -> None:
        """Weights rounded for what they make; of `auto` unless the outputs lose."""
        held_out: Score | None = None
        if rounding in METHODS:
            self.rounding = rounding
        elif rounding == "nearest" or (held_out := self._judged_by_halves()) is None:
            return
        self.plan = self._rounded(self.source.calibration.kept)
        self.options = self.plan.options
        self.score = held_out or self.trials.score(self.plan, self.ranges)

    def _judged_by_halves(self) -> Score | None:
        """What weights rounded for every other sample are on the ones between; None where they do
        harm.

        They gain nearly everywhere, but by less than few samples can tell from chance: what is
        asked of them is to show no loss.
        """
        noise = self.score.noise.copy()
        kept = self.source.calibration.kept
        if len(kept) < 2 or not noise.size:
            return None
        found: list[RoundedWeights] = []
        for half, others in two_folds(kept):
            rounded = self._rounded(half)
            noise[:, others] = self.trials.noise(rounded.emit(self.ranges)[0], others)
            found.append(rounded.options.rounded)
        score = Score(noise, self.score.signal)
        if self.score.surpasses(score, 0.0, HELD_OUT):
            return None
        self.by_halves = found
        return score

    def _rounded(self, samples: Sequence[KeptSample]) -> Plan:
        inputs = [s.inputs for s in samples]
        found = round_weights(self.plan, self.ranges, inputs, self.progress, self.rounding)
        return self.plan.with_rounded(found)

    def result(self, observer: str) -> Quantized:
        graph, decisions = self.plan.emit(self.ranges)
        return Quantized(
            graph,
            self.source.floats,
            self.source.exponents,
            self.source.shifts,
            decisions,
            self.ranges,
            observer,
            self.options,
            self.given.samples,
            self.trials.count,
            self.score,
            self.plan,
            self.source.calibration,
            self.given,
            rounding=self.rounding,
            by_halves=self.by_halves,
            held_out=bool(self.by_halves) and bool(self.options.rounded),
        )
