"""Quantizes an ONNX file to an .edge file: the steps of a request, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from ..calibration import ImageOptions, SampleSource, array_shapes, open_samples
from .accuracy import Explanation, Judge, batch_of, explain, watched
from .accuracy.formatting import main_cause
from .accuracy.verdict import judged_on, verdict
from .build import Kept, forget_lasting, prove
from .compress import Coding, remove_constant_channels
from .errors import UserError
from .evaluation.answers import Answers, count_answers
from .evaluation.cell_limits import limit_of, reasons_to_keep_states, with_cell_limit
from .evaluation.judging import Judging, Known, input_specs, known_labels
from .evaluation.sample_checks import check_scale, notes_of_ignored
from .evaluation.sequences import keep_floor_with_state, lower, over_sequences
from .evaluation.state_samples import follows_of, with_plain_states, with_states
from .files import check_writable, write_atomically
from .format.describe import op_counts
from .format.reader import read
from .format.strip import strip
from .hand_over import mark
from .ir import Graph
from .model_files import output_path, plain_constants, plain_dims, plain_shapes, provenance_of
from .needs import Devices
from .numerics import W8A8
from .preprocessing import CLASSES, KEY, Reading, SoundReader, options_of
from .quantize import Budget, fit_budget, optimize, quantize_model
from .quantize import Quantized as QuantizedModel
from .quantize.mixed_precision.accuracy_floor import (
    Found,
    keep_extremes,
    keep_floor,
    other_ranges_may_help,
    quality_of,
)
from .quantize.mixed_precision.evaluator import Measure
from .quantize.mixed_precision.fit import is_oversized, smaller_of
from .quantize.mixed_precision.promotion import Promotion
from .quantize.option import recorded
from .quantize.quality import OnLowAccuracy, Quality
from .quantize.ranges.diagnostics import calibration_warnings
from .quantize.rates.search import Rates
from .quantize_packing import SizedModel, at_rates, kept_scales, layers_stored, packer
from .quantize_request import QuantizeRequest
from .quantize_result import Quantized
from .state import keep_states, mark_states
from .streaming import Streaming, check_frames, stream, time_axes


def quantize(
    model: str | Path, calib: SampleSource, output: str | Path | None = None, **options: Any
) -> Quantized:
    """Quantize an ONNX `model` to int8, calibrated on `calib`; write `output` or MODEL.edge.

    `options` are the other fields of QuantizeRequest. The same inputs give the same bytes. If a
    budget is not met (`mixed.met` of the result), the best file found is written. Raises UserError
    or CalibrationError; then nothing is written.
    """
    run = _Run(QuantizeRequest(model, calib, output, **options))
    for step in STEPS:
        step(run)
    return run.result()


class _Run:
    """The state of one request; each step uses the results of the steps before it."""

    path: Path
    graph: Graph
    done: QuantizedModel
    data: bytes
    final: bytes  # with states kept by the session
    written: bytes
    quality: Quality
    suspects: list[str]
    scale_notes: list[str]
    answers: Answers | None
    explanation: Explanation | None = None
    labels: Known | None = None
    judge: Judge | None = None
    promotion: Promotion | None = None
    rates: Rates | None = None

    def __init__(self, request: QuantizeRequest) -> None:
        self.request, self.started = request, perf_counter()
        counted = request.compress != "fast"
        self.devices = Devices(request.targets, request.budget, request.progress, counted)
        self.budget = self.devices.budget if self.devices.budget.limits_any else None
        self.image = request.image or ImageOptions()
        self.read: Reading = SoundReader(request.sound) if request.sound else self.image
        self.judging = Judging.of(self.budget, request.evaluation, request.labels, request.metric)
        self.judged: dict[str, Any] = {}
        self.coding = Coding(request.compress)

    def check_paths(self) -> None:
        """Check before any work that the outputs can be written."""
        request = self.request
        check_frames(request.stream, request.frames)
        given = request.calib, request.evaluation, request.like
        read_too = [p for p in given if isinstance(p, str | Path)]
        if self.judging is not None and self.judging.metric.file is not None:
            read_too.append(self.judging.metric.file)
        self.path = output_path(request.model, request.output, *read_too)
        if request.report is not None:
            check_writable(request.report, [self.path, request.model, *read_too])

    def import_model(self) -> None:
        request = self.request
        self.model = SizedModel(request)
        arrays = None if self.model.varies else array_shapes(request.calib)
        self.graph = mark_states(self.model.load(self.model.sizes.largest, arrays), request.states)
        mark(self.graph, request.hand_over, self.image.layout, bool(request.stream))
        self.streaming: Streaming | None = None
        if axes := time_axes(self.graph, request.stream):
            self.streaming = stream(self.graph, axes, request.frames)
        self.batch = batch_of(self.graph)

    def open_samples(self) -> None:
        request, specs = self.request, input_specs(self.graph, self.model.sizes, options=True)
        self.samples = open_samples(
            request.calib, specs, self.read, limit=request.limit, labels=request.labels
        )
        if self.model.varies:
            self.samples, self.graph = self.model.at_size_of(self.samples)
        else:
            self.graph = with_cell_limit(self.graph, self.samples, request.sequence, self.budget)
        self.samples = with_states(self.graph, self.samples, request.sequence)
        if request.report is not None and not self.samples.reiterable:
            raise UserError("report= reads the samples again: pass a list, not a generator")

    def check_samples(self) -> None:
        self.scale_notes = check_scale(self.graph, self.samples, self.request.any_scale)
        self.scale_notes += self.model.notes
        asked = self.request.labels if self.judging is None else None
        if self.streaming is None and not self.model.varies:
            self.labels = known_labels(self.samples, self.graph, asked)

    def open_judge(self) -> None:
        """Start the user's evaluation before any work."""
        if self.judging is not None:
            request = self.request
            self.judge, self.judged = self.judging.judge(
                self.graph, request.calib, self.samples, self.read, request.limit, request.sequence
            )

    def quantize(self) -> None:
        request = self.request
        like, said = kept_scales(request.like)
        self.keeps_floor = self.budget is None and self.on_low_accuracy == "promote"
        self.done = quantize_model(
            self.graph,
            self.samples,
            progress=request.progress,
            like=like,
            of_any_size=self.model.of_any_size(),
            promotes=self.keeps_floor,
            **request.numeric,
        )
        options: dict[str, Any] = {
            **recorded(request),
            **said,
            "samples": self.done.samples * self.batch,
            "shapes": plain_shapes(request.shapes),
            **plain_dims(request.dims),
            **plain_constants(request.constants),
            **limit_of(self.graph),
            **options_of(self.samples, [p.shape for p in self.graph.outputs], self.read),
        }
        if self.budget is not None:
            options |= {"budget": self.budget.given(), **self.judged}
        self.options = options
        self.provenance = provenance_of(request.model, self.samples.fingerprint(), options)

    def meet_budget(self) -> None:
        """Mix precisions; if that costs much, also try from a plain start."""
        if self.budget is None:
            return
        if self.judging is not None and self.judge is None:
            self.judge = self.judging.judge_kept(self.graph, self.done.calibration.kept)
        self.choose_rates()
        start = self.done
        self.done = self._mixed(start, self.budget)
        if is_oversized(start, self.done):
            self.done = smaller_of(self.done, self._mixed(self._plain(start), self.budget))

    def _plain(self, start: QuantizedModel) -> QuantizedModel:
        how: dict[str, Any] = {"progress": self.request.progress, **self.request.numeric}
        plain = optimize(self.graph, start.given, **how, plain=True)
        return replace(plain, outliers=start.outliers)

    def choose_rates(self) -> None:
        """Search for coarser weights, for Huffman coding."""
        drop = None if self.judge is None else self.judge.drop
        self.done, self.rates = at_rates(
            self.request, self.done, self._packer(self.done), drop, self.devices, self.coding
        )

    def _mixed(self, done: QuantizedModel, budget: Budget) -> QuantizedModel:
        """`done` with mixed precisions that meet `budget`; its `mixed` has the user's
        evaluation."""
        request, judge, pack = self.request, self.judge, self._packer(done)
        drop, many = (None, 0) if judge is None else (judge.drop, judge.evaluation_set.samples)

        def search(measure: Measure) -> QuantizedModel:
            return fit_budget(
                done,
                budget,
                lambda graph: strip(pack(graph)),
                drop,
                request.progress,
                rounding=self.request.mixed_rounding,
                judged=many,
                unseen=request.evaluation is not None,
                measure=measure,
            )

        done = self.devices.fit(search, self._files)
        if judge is None or done.mixed is None or done.mixed.chosen.drop is None:
            return done
        return replace(done, mixed=replace(done.mixed, judged=judge.judged(done.mixed.chosen.drop)))

    def _files(self, done: QuantizedModel) -> tuple[bytes, bytes]:
        """The file of `done` as the search evaluates it, and as written; both stripped."""
        graph, _ = done.plan.emit(done.ranges)
        pack = self._packer(done)
        data = strip(pack(graph))
        return data, strip(pack(keep_states(graph))) if follows_of(graph) else data

    @property
    def on_low_accuracy(self) -> OnLowAccuracy:
        """The requested action, or the default that suits the other options."""
        asked = self.request.on_low_accuracy
        return asked or ("promote" if self.request.weights == W8A8 else "warn")

    def keep_floor(self) -> None:
        """Without a budget, mix precisions below the accuracy floor, then from a plain start."""
        if not self.keeps_floor:
            return
        start, found = self.done, self._promoted(self.done)
        if other_ranges_may_help(*found[1:]) and not start.finished().is_plain:
            found = min(found, self._promoted(self._plain(start)), key=lambda f: f[2].loss())
        found = keep_floor_with_state(found, self._promoted, self._over_sequences)
        self.done, self.promotion, self.quality = found

    def _promoted(self, start: QuantizedModel, carried: float = 1.0) -> Found:
        how = start, self._packer(start), self.request.progress
        fast, rounding = self.request.effort == "fast", self.request.mixed_rounding
        return keep_floor(*how, rounding=rounding, fast=fast, carried=carried)

    def _over_sequences(self, done: QuantizedModel) -> Quality | None:
        stepped, request = with_plain_states(self.graph, done.calibration.inputs), self.request
        if not follows_of(stepped) or self.streaming is not None:
            return None
        file = self._packer(done)(keep_states(done.plan.emit(done.ranges)[0]))
        how = request.sequence, request.progress, [o.index for o in done.outliers]
        return over_sequences(stepped, file, self.samples, *how)

    def judge_quality(self) -> None:
        """Evaluate the file; with `compress`, search for coarser weights first."""
        if self.budget is None:
            self.choose_rates()
        if not self.keeps_floor or self.rates is not None:
            steps = quality_of(self.done, self._packer(self.done), self.request.progress)
            self.quality = lower(steps, self._over_sequences(self.done))

    def _packer(self, done: QuantizedModel, kept: Kept | None = None) -> Callable[[Graph], bytes]:
        how = self.request, self.provenance, self.options, self.image.layout
        return packer(*how, done, self.coding, kept)

    def pack(self) -> None:
        graph = self.done.graph
        kept = remove_constant_channels(graph)
        self.data = self.final = self._packer(self.done, kept)(graph)
        prove(self.data)
        if self.model.varies:
            self.final = self.model.file(self.done, self.provenance, self.options, self.coding)
            prove(self.final)
        if self.streaming is not None:
            self.streaming = stream(graph, self.streaming.axes, self.streaming.frames)
            graph, self.options["stream"] = self.streaming.graph, self.streaming.to_json()
        if self.streaming is not None or follows_of(graph):
            self.final = self._packer(self.done, kept)(keep_states(graph))
            prove(self.final)
        self.needed = self.devices.needed(self.data, self.final)
        how = self._packer(self.done), self.devices, self.coding, self.rates
        self.stored = layers_stored(self.done, self.data, *how)

    def explain(self) -> None:
        """Attribute the error of the file to its operators, on some of the samples."""
        known, request, show = self.done.calibration, self.request, self.request.progress
        self.done.plan.forget_trials()
        forget_lasting()
        keep_extremes(self.done)
        labelled = self.graph, self.samples, self.labels
        self.answers = count_answers(request.model, *labelled, self.final, show)
        some = [k.inputs for k in watched(self.done.floats, known.kept)]
        alone, every = request.effort != "fast", request.every_layer or request.report is not None
        if alone or every:
            how = self.data, self.done.floats, some, known.extremes()
            self.explanation = explain(*how, unseen=False, alone=alone, every=every, progress=show)
        names = self.samples.names([o.index for o in self.done.outliers])
        self.suspects = [o.in_words(names.get(o.index)) for o in self.done.outliers]
        self.suspects += reasons_to_keep_states(*labelled[:2], known.inputs, self.quality)
        self.notes = [
            *self.suspects,
            *self.scale_notes,
            *self.graph.notes,
            *([] if self.streaming is None else self.streaming.notes()),
            *self.samples.notes,
            *calibration_warnings(known, self.batch),
        ]
        if self.judging is None or not self.judging.reads_calibration:
            label = None if self.answers is None else self.answers.label
            self.notes[:0] = notes_of_ignored(self.samples, label)

    def verdict(self) -> list[str]:
        causes = self.suspects or main_cause(self.explanation)
        how = None if self.budget is not None else self.on_low_accuracy
        done, n = self.done, self.batch
        told = judged_on(done.samples * n, len(done.calibration.kept) * n, self.quality.held_out)
        fast = self.request.effort == "fast"
        return verdict(self.quality, told, causes, self.promotion, how, fast)

    def write(self) -> None:
        """Write the file, and the report if requested."""
        request = self.request
        if request.report is not None:
            from .report import report_page  # takes time and memory, which most need not

            assert self.explanation is not None
            page = report_page(
                *self.model.compared(self.data, self.final, self.done), self.done,
                self.explanation, self.samples, Path(request.model), request.observer,
                request.effort, self.notes, request.progress, batch=self.batch, needed=self.needed,
                verdict=self.verdict(), stored=self.stored, rates=self.rates,
            )  # fmt: skip
            write_atomically(request.report, page.encode())
        self.written = strip(self.final, keep=(KEY, CLASSES)) if request.strip else self.final
        write_atomically(self.path, self.written)

    def result(self) -> Quantized:
        request, done, written = self.request, self.done, read(self.written)
        return Quantized(
            output=str(self.path),
            file_bytes=len(self.written),
            counted_bytes=len(strip(self.final)),
            ops=op_counts(written),
            observer=request.observer,
            effort=request.effort,
            layers_stored=self.stored,
            samples=done.samples * self.batch,
            kept_samples=len(done.calibration.kept) * self.batch,
            seconds=round(perf_counter() - self.started, 3),
            sqnr_db=round(done.sqnr_db, 2),
            held_out=done.held_out if done.plan.has_rounded else None,
            arena_bytes=written.memory.arena_bytes,
            decisions=done.decisions,
            notes=self.notes,
            explanation=self.explanation,
            quality=self.quality,
            answers=self.answers,
            report=None if request.report is None else str(request.report),
            mixed=done.mixed,
            targets=self.needed,
            for_targets=bool(self.devices.targets),
            promotion=self.promotion,
            suspects=self.suspects,
            verdict=self.verdict(),
            on_low_accuracy=self.on_low_accuracy,
            rates=self.rates,
            below_floor=self.budget is None
            and self.on_low_accuracy != "warn"
            and self.quality.level == "broken",
        )


STEPS: tuple[Callable[[_Run], None], ...] = (
    _Run.check_paths,
    _Run.import_model,
    _Run.open_samples,
    _Run.check_samples,
    _Run.open_judge,
    _Run.quantize,
    _Run.meet_budget,
    _Run.keep_floor,
    _Run.judge_quality,
    _Run.pack,
    _Run.explain,
    _Run.write,
)
"""The steps from an ONNX file to an .edge file, in order."""
