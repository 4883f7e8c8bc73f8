"""The steps of a quantization, in order: calibration, ranges, weights, biases, precisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from ..ir import Graph
from ..numerics import FLOAT32, INT8, Precision
from ..ops.convert.fake_quantize import arrives_quantized
from ..progress import Progress
from .equalization.channel_statistics import ChannelStatistics
from .float_source import FloatSource
from .like import Like
from .outputs.kept_samples import Sample
from .quality import Quality
from .ranges.calibration import AnySize, Calibration, calibrate
from .ranges.candidate_evaluation import HELD_OUT, CandidateEvaluator
from .ranges.held_out import Candidate, surpasses_held_out, unclipped
from .ranges.noise_shares import NoiseShares
from .ranges.range_search import RangeSearch, fixed_ranges
from .ranges.room import find_room
from .ranges.sample_outliers import without_outliers
from .reconstruction.judged_by_halves import best_by_halves
from .reconstruction.layer_rounding import round_weights
from .request import FEW_SAMPLES, QuantizeOptions
from .result import Quantized
from .scheme.detection_head import detection_head
from .scheme.front_end import bands, feature_scaler, front_end
from .scheme.macs import macs_of
from .scheme.narrow_layers import choose_narrow_layers
from .scheme.options import Options, Ranges, RoundedWeights
from .weights.weight_quantizer import WeightFormat

SCALES_GAIN_DB = 0.1
EQUALIZE_GAIN_DB = 0.25
ABSORB_GAIN_DB = 0.5
NO_CORRECTION_GAIN_DB = 0.5
WIDE_HEAD_GAIN_DB = 1.0
FLOAT_HEAD_GAIN_DB = 3.0
"""Gains in dB at the outputs for which a step is applied, or bias correction is not."""
FRONT_END_LOSS = 0.3
"""Loss (Quality.loss) from which int16 and float32 are tried for a front end: 30 dB. Below that,
the squares in int8 are most of the noise."""
SEARCHED_LOSS = 0.5
"""Loss from which ranges are searched tensor by tensor: 26 dB."""


def quantize_model(
    graph: Graph,
    samples: Iterable[Sample],
    observer: str = "auto",
    progress: Progress | None = None,
    of_any_size: AnySize | None = None,
    **options: Any,
) -> Quantized:
    """Quantize `graph` to int8, calibrated on `samples`. `of_any_size` is as for calibrate; for
    other options see QuantizeOptions. Raises UserError for an unknown name or samples that do not
    fit, CalibrationError for values that are not finite."""
    request = QuantizeOptions(observer=observer, **options)
    histograms = request.histograms
    changes = request.changes_channels and not arrives_quantized(graph)
    channels = ChannelStatistics(graph, request.absorbs, request.keeps_ends) if changes else None
    every = calibrate(
        graph, samples, progress, request.kept, of_any_size, histograms=histograms, also=channels
    )
    calibration, outliers = without_outliers(graph, samples, every, progress, of_any_size)
    if calibration is not every:
        channels = None  # they include outliers
    return replace(_run(request, graph, calibration, progress, channels), outliers=outliers)


def optimize(
    graph: Graph,
    calibration: Calibration,
    observer: str = "auto",
    progress: Progress | None = None,
    **options: Any,
) -> Quantized:
    """As quantize_model, from an existing calibration."""
    return _run(QuantizeOptions(observer=observer, **options), graph, calibration, progress)


def _run(
    request: QuantizeOptions,
    graph: Graph,
    calibration: Calibration,
    progress: Progress | None,
    channels: ChannelStatistics | None = None,
) -> Quantized:
    run = _Quantization(request, graph, calibration, progress, channels)
    if request.like is not None:
        return _after(run, STEPS_LIKE)
    if request.waits and not run.kept:
        return replace(_after(run, STEPS), finish=cache(partial(_after, run, ROUNDING)))
    return _after(run, STEPS + ROUNDING)


def _after(run: _Quantization, steps: Sequence[Callable[[_Quantization], None]]) -> Quantized:
    for step in steps:
        step(run)
    return run.result()


class _Quantization:
    """The best configuration so far. Each step except `round_weights` keeps a change only if the
    outputs gain."""

    def __init__(
        self,
        request: QuantizeOptions,
        graph: Graph,
        calibration: Calibration,
        progress: Progress | None,
        channels: ChannelStatistics | None = None,
    ) -> None:
        self.request, self.given, self.progress = request, calibration, progress
        self.kept = arrives_quantized(graph)  # keep weights, and ranges of marked tensors
        if self.kept:
            request.check_given()
        self.source = FloatSource.of(graph, calibration, {}, {}, channels)
        self.ranges = self.source.wide
        self.plan = self.source.plan(Options(means=calibration.means()))
        self.options = self.plan.options
        self.trials = CandidateEvaluator(calibration, self.plan.graph)
        self.score = self.trials.score(self.plan, self.ranges)
        self.first = self.source, self.plan, self.ranges, self.score
        self.by_halves: list[RoundedWeights] = []
        self.method = request.methods[0]
        self._search: RangeSearch | None = None
        self.has_room = False
        self._judged: object = None

    def keep_scales(self) -> None:
        """Reuse equalization, ranges and weight scales of the file `like`."""
        like = self.request.like or Like()
        self.source = like.source(self.source, self._inputs(), self.progress)
        self.ranges = like.over(self.source.calibration, self.request.first_observer)
        self.plan = self.source.plan(replace(self.options, kept=like.layers))
        self.options, self.score = self.plan.options, self.trials.score(self.plan, self.ranges)

    def fix_ranges(self) -> None:
        """Use the ranges of a single observer, if one is requested."""
        known, observer = self.source.calibration, self.request.first_observer
        if not self.request.searches and (ranges := fixed_ranges(known, observer)) != self.ranges:
            self.ranges, self.score = ranges, self.trials.score(self.plan, ranges)

    def equalize(self) -> None:
        """Equalize channels if the outputs gain."""
        if self._changes_channels and not self._suffices:
            if self.source.channels is None:
                inputs, absorbs = self._inputs(), self.request.absorbs
                channels = ChannelStatistics.of(self.source.floats, inputs, absorbs)
                self.source = replace(self.source, channels=channels)
            causes = None if self.request.is_first_look else self._shares()
            how = causes, self._forms(), self.progress, self.request.histograms
            self._prefer(self.source.equalized(*how), EQUALIZE_GAIN_DB)

    def absorb_biases(self) -> None:
        """Absorb biases if the outputs gain."""
        if self._changes_channels and self.request.absorbs:
            needed = self.ranges, self._shares(), ABSORB_GAIN_DB
            how = *needed, self.progress, self.request.histograms
            self._prefer(self.source.absorbed(*how), ABSORB_GAIN_DB)

    def _shares(self) -> NoiseShares:
        return NoiseShares(self.source.floats, self.trials, self.score, FEW_SAMPLES)

    @property
    def _changes_channels(self) -> bool:
        """Whether channels may be scaled or shifted: there are several samples (channel statistics
        of one are not representative), and the model is not quantized already."""
        return len(self.trials.kept) > 1 and not self.kept and self.request.changes_channels

    def make_room(self) -> None:
        """Widen int8 ranges if held-out samples need it. Repeated after nodes have left int8, whose
        error may have masked clipping."""
        int8 = self.options.wide, self.options.precision
        if not self.request.searches or self.kept or self.has_room or int8 == self._judged:
            return
        self._judged = int8
        known = self.source.calibration
        room = find_room(self.plan, self.ranges, known, self.trials, self.score)
        if room is None:
            return
        source, plan, *_ = self.first
        ranges = room.ranges(source.calibration)
        self.first = source, plan, ranges, self.trials.score(plan, ranges)
        self.ranges, self.has_room = room.ranges(self.source.calibration), True
        self.score = self.trials.score(self.plan, self.ranges)

    def choose_start(self) -> None:
        """Choose weight scales by squared error, and the observer that the search starts from, or
        the requested one. Ranges with a margin are not searched: the search evaluates them on the
        samples that determined them, and would remove the margin."""
        scaled = replace(self.options, search_scales=True)
        if not self.request.searches or self.has_room:
            if not self.request.is_first_look:
                self._consider(scaled, SCALES_GAIN_DB)
            return
        known, times = self.source.calibration, self.request.trials
        start = self.plan, known, self.trials, self.score, macs_of(self.source.floats)
        self._search = RangeSearch(*start, times, self.progress)
        self._search.choose_start([self.plan, self.source.plan(scaled)])
        self._adopt(self._search)

    def search_ranges(self) -> None:
        """Search ranges tensor by tensor, from the result of `choose_start`. Only with more effort
        for good models: they hardly gain."""
        search = self._search
        if search is not None and not self.has_room:
            if self.request.trials > 1 or self._loss() > SEARCHED_LOSS:
                search.plan, search.ranges, search.score = self.plan, self.ranges, self.score
                search.descend()
                self._adopt(search)
            if wider := unclipped(self.plan, self.ranges, self.source.calibration, self.trials):
                self.ranges, self.score = wider, self.trials.score(self.plan, wider)

    def _adopt(self, search: RangeSearch) -> None:
        self.plan, self.options = search.plan, search.plan.options
        self.ranges, self.score = search.ranges, search.score

    def _forms(self) -> dict[str, WeightFormat]:
        """The formats of weights with fewer than 8 bits, by the node's output."""
        form = self.request.form
        if form.bits == 8:
            return {}
        nodes, ungrouped = choose_narrow_layers(self.plan, self.ranges, form.bits)
        return {n: replace(form, group_size=0) if n in ungrouped else form for n in nodes}

    def _inputs(self) -> list[Sample]:
        return [s.inputs for s in self.source.calibration.kept]

    def choose_options(self) -> None:
        """Steps that change more than ranges; each is measured."""
        if self.kept or self._suffices:
            return
        self._consider_wider(detection_head(self.plan.graph))
        loss = self._loss()
        if loss > FRONT_END_LOSS:
            made, read = front_end(self.plan.graph)
            self._consider_wider(made, read)
            weighted = read & bands(self.plan.graph)
            if weighted and self._loss() > FRONT_END_LOSS:
                self._consider_wider(made | weighted, read - weighted)
        if loss > 1.0:
            self._consider_wider(feature_scaler(self.plan.graph))
        self._consider(replace(self.options, means={}), NO_CORRECTION_GAIN_DB)

    def _consider_wider(self, made: frozenset[str], read: frozenset[str] = frozenset()) -> None:
        """Try int16, then float32, for the tensors `made`, with int16 for the tensors `read`.

        Both the current ranges and min-max ranges are tried: an observer that clips these tensors,
        as is good in int8, also clips the tensors after them.
        """
        if not made:
            return
        before, seen = self.options, self.source.wide
        starts = [self.ranges] if self.ranges == seen else [self.ranges, seen]
        wide = replace(before, wide=before.wide | made | read)
        real: dict[str, Precision] = dict.fromkeys(sorted(made), FLOAT32)
        kept = replace(before, wide=before.wide | read, precision={**before.precision, **real})
        for options, margin in ((wide, WIDE_HEAD_GAIN_DB), (kept, FLOAT_HEAD_GAIN_DB)):
            for ranges in starts:
                self._consider(options, margin, ranges)

    @property
    def _suffices(self) -> bool:
        """Whether a first look is good enough as it is: other steps hardly gain then."""
        looks = self.request.is_first_look and self.request.form.bits == 8
        return looks and self._loss() <= SEARCHED_LOSS

    def _loss(self) -> float:
        return Quality.of(self.score, self.trials.points).loss()

    def _prefer(self, source: FloatSource | None, margin: float) -> None:
        """Use another float graph if the outputs gain, per sample and in total.

        The comparison uses the ranges of one observer, before others are tried: observers that clip
        compensate for uneven channels on the calibration samples, but less on other samples. As it
        is a single comparison, one standard error is sufficient.
        """
        if source is None:
            return
        ranges = fixed_ranges(source.calibration, self.request.first_observer)
        plan = source.plan(self.options)
        score = self.trials.contend(plan, ranges, self.score)
        if score is None or score.mean_db <= self.score.mean_db:
            return
        if score.surpasses(self.score, margin, HELD_OUT, weights=self.trials.certainty):
            self.source, self.ranges = source, ranges
            self.plan, self.options, self.score = plan, plan.options, score

    def _consider(self, options: Options, margin: float, ranges: Ranges | None = None) -> None:
        """Use other options, and `ranges` if given, if the outputs gain significantly."""
        mixed = options.search_scales == self.options.search_scales
        plan = self.plan.mixed(options) if mixed else self.source.plan(options)
        ranges = dict(self.ranges if ranges is None else ranges)
        score = self.trials.contend(plan, ranges, self.score)
        if score is not None and score.beats(self.score, margin):
            self.plan, self.options, self.score = plan, plan.options, score
            self.ranges = ranges

    def drop_histograms(self) -> None:
        """Free the histograms, which only ranges need, except those of the given calibration."""
        self.source.calibration.drop_histograms(self.given)

    def use_narrow_weights(self) -> None:
        """Use weights of fewer bits if requested, with the ranges found for 8 bits."""
        form = self.request.form
        if form.bits == 8:
            return
        nodes, ungrouped = choose_narrow_layers(self.plan, self.ranges, form.bits)
        narrow: dict[str, Precision] = dict.fromkeys(nodes, Precision(INT8, form.bits))
        precision = {**self.options.precision, **narrow}
        self.options = replace(
            self.options,
            precision=precision,
            weight_group=form.group_size,
            ungrouped=ungrouped if form.group_size else frozenset(),
        )
        self.plan = self.plan.mixed(self.options)
        self.score = self.trials.score(self.plan, self.ranges)

    def round_weights(self) -> None:
        """Round weights to preserve the layers' outputs; with `auto` unless the outputs lose."""
        if not self.request.may_round or self.kept:
            return
        made = self.plan, self.ranges
        if self.request.rounding == "auto":
            nearest, methods = (self.trials, self.score), self.request.methods
            calibration = self.source.calibration
            best = best_by_halves(*made, calibration, nearest, methods, self.progress)
            if best is None:
                return
            self.score, self.method, rounded, self.by_halves = best
        else:
            rounded = round_weights(*made, self._inputs(), self.progress, self.method)
        self.plan = self.plan.with_rounded(rounded)
        self.options = self.plan.options
        if not self.by_halves:
            self.score = self.trials.score(self.plan, self.ranges)

    def prefer_plain(self) -> None:
        """Use min-max ranges and nearest weights, unless the result of the search is better on
        held-out samples."""
        source, plan, ranges, score = self.first
        changed = self.plan is not plan or self.ranges != ranges
        automatic = self.request.searches and self.request.rounding in ("auto", "nearest")
        automatic = automatic and self.request.form.bits == 8 and not self.kept
        if not changed or not automatic or not score.noise.size:
            return
        halves = [self.plan.with_rounded(found) for found in self.by_halves] or [self.plan]
        found = Candidate(halves, self.ranges, self.source.calibration)
        first = Candidate([plan], ranges, source.calibration)
        if not surpasses_held_out(found, first, self.trials):
            self.source, self.plan, self.ranges, self.score = source, plan, dict(ranges), score
            self.options, self.by_halves = plan.options, []

    def result(self) -> Quantized:
        graph, decisions = self.plan.emit(self.ranges)
        return Quantized(
            graph,
            self.source.floats,
            self.source.exponents,
            self.source.shifts,
            decisions,
            self.ranges,
            self.request.observer,
            self.options,
            self.given.samples,
            self.trials.count,
            self.score,
            self.plan,
            self.source.calibration,
            self.given,
            rounding=self.method,
            by_halves=self.by_halves,
            held_out=bool(self.by_halves) and bool(self.options.rounded),
        )


STEPS: tuple[Callable[[_Quantization], None], ...] = (
    _Quantization.fix_ranges,
    _Quantization.equalize,
    _Quantization.absorb_biases,
    _Quantization.make_room,
    _Quantization.choose_start,
    _Quantization.choose_options,
    _Quantization.make_room,
    _Quantization.search_ranges,
    _Quantization.drop_histograms,
    _Quantization.use_narrow_weights,
)
ROUNDING = _Quantization.round_weights, _Quantization.prefer_plain
STEPS_LIKE = _Quantization.keep_scales, _Quantization.use_narrow_weights, ROUNDING[0]
"""The steps of a quantization before and after its weights are rounded, and those of one that keeps
the scales of an older file."""
