"""The order of everything: ONNX in, a checked .edge file out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from .. import __version__
from ..calibration import ImageOptions, SampleSource, open_samples
from .accuracy import (
    SAMPLES,
    ClassMeter,
    Explanation,
    Judge,
    MetricFunction,
    Report,
    batch_of,
    compare,
    explain,
    make_meter,
    make_oracle,
    open_metric,
)
from .build import build_file, prove
from .compress import remove_constant_channels
from .device.build import load_target
from .device.session import session_on
from .errors import UserError
from .files import check_writable, read_file, write_atomically
from .format.describe import op_counts
from .format.model import Provenance
from .format.reader import read
from .ir import Graph
from .judging import Judging, input_specs, others_of
from .needs import Need, needs
from .onnx_import import input_names
from .onnx_import import load as import_onnx
from .passes import DEFAULT, FINITE, run_passes
from .progress import Progress, silent
from .quantize import Budget, Decision, Keeper, Mixed, fit_budget, optimize, quantize_model
from .quantize import Quantized as QuantizedModel
from .quantize.equalization.bias_absorption import absorbed
from .quantize.equalization.bias_absorption import from_text as shifts_from_text
from .quantize.equalization.cross_layer import equalized, from_text, to_text
from .quantize.mixed_precision.fit import is_oversized, smaller_of
from .quantize.ranges.diagnostics import calibration_warnings
from .report import report_page
from .runtime import MAX_MEMORY, Session

Shapes = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Converted:
    """What `convert` made. `notes` are what to know of how the model was read."""

    output: str
    file_bytes: int
    ops: dict[str, dict[str, int]]
    seconds: float
    notes: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Quantized:
    """What `quantize` made. `observer` is the one asked for; `mixed` is there with a budget.

    `sqnr_db` is on the `kept_samples` of `samples`. `held_out`: each half of them with weights
    rounded for the other; False: with those of the file, which are rounded for all of them; None
    where weights are the nearest.
    `notes` are what to know of the model and the samples; `explanation` attributes the loss on some
    of the samples. `targets` is what the file takes on each, with a budget of bytes.
    """

    output: str
    file_bytes: int
    ops: dict[str, dict[str, int]]
    observer: str
    samples: int
    kept_samples: int
    seconds: float
    sqnr_db: float
    held_out: bool | None
    arena_bytes: int
    decisions: list[Decision]
    notes: list[str]
    explanation: Explanation
    report: str | None = None
    mixed: Mixed | None = None
    targets: list[Need] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"mixed": None if self.mixed is None else self.mixed.to_json()}


def load(model: str | Path | bytes, shapes: Shapes | None = None, *, finite: bool = False) -> Graph:
    """The optimized float graph of an ONNX model; `finite` in the form that is quantized.

    Raises UserError or UnsupportedError.
    """
    graph = import_onnx(model, shapes)
    run_passes(graph, (*DEFAULT, *FINITE) if finite else DEFAULT)
    return graph


def convert(
    model: str | Path, output: str | Path | None = None, *, shapes: Shapes | None = None
) -> Converted:
    """Write `model` (an ONNX file) as a float32 .edge file, by default beside it.

    Raises UserError for a bad model or an output that cannot be written; then nothing is written.
    """
    started = perf_counter()
    path = _output(model, output)
    graph = load(model, shapes)
    data = build_file(graph, _provenance(model, "", {"shapes": _plain(shapes)}))
    prove(data)
    write_atomically(path, data)
    ops = op_counts(read(data))
    return Converted(str(path), len(data), ops, round(perf_counter() - started, 3), graph.notes)


def quantize(
    model: str | Path,
    calib: SampleSource,
    output: str | Path | None = None,
    *,
    shapes: Shapes | None = None,
    observer: str = "auto",
    weights: str = "int8",
    rounding: str = "auto",
    image: ImageOptions | None = None,
    limit: int | None = None,
    report: str | Path | None = None,
    budget: Budget | None = None,
    evaluation: SampleSource | None = None,
    labels: str | None = None,
    metric: str | Path | MetricFunction | None = None,
    progress: Progress = silent,
) -> Quantized:
    """Quantize `model` (an ONNX file) to int8 with the samples of `calib`, and write it.

    `observer`, `weights` and `rounding` are of quantize.OBSERVERS, WEIGHTS and ROUNDINGS.
    `calib` is a folder, a .npz, or an iterable of dicts of arrays by input name; `limit` takes the
    first so many. `report` is an HTML file to write. The same inputs give the same bytes. Raises
    UserError or CalibrationError; then nothing is written.

    With a `budget`, precisions are mixed to meet it; `mixed` of the result says whether it is met,
    and the best that was found is written. Its max_drop is judged on the samples of `evaluation`,
    by default of `calib`, by `metric`: a name of accuracy.NAMED (default: top1), FILE.py:FUNCTION,
    or a function as docs/quantization.md describes. A named one compares with the array under the
    key `labels` of that .npz, else with the float model's answers.
    """
    started = perf_counter()
    read_too = [p for p in (calib, evaluation) if isinstance(p, str | Path)]
    judging = Judging.of(budget, evaluation, labels, metric)
    if judging is not None and judging.metric.file is not None:
        read_too.append(judging.metric.file)
    path = _output(model, output, *read_too)
    if report is not None:
        check_writable(report, [path, model, *read_too])
    graph = load(model, shapes, finite=True)
    image = image or ImageOptions()
    samples = open_samples(calib, input_specs(graph), image, limit=limit)
    if report is not None and not samples.reiterable:
        raise UserError("a report reads the samples once more: give a list, not a generator")
    judge, judged = None, dict[str, Any]()
    if judging is not None:
        judge, judged = judging.judge(graph, calib, samples, image, limit)
    done = quantize_model(graph, samples, observer, progress, weights=weights, rounding=rounding)
    batch = batch_of(graph)
    options: dict[str, Any] = {
        "observer": observer,
        "weights": weights,
        "rounding": rounding,
        "limit": limit,
        "samples": done.samples * batch,
        "shapes": _plain(shapes),
    }
    if budget is not None:
        options |= {"budget": budget.given(), **judged}

    provenance = _provenance(model, samples.fingerprint(), options)

    def packer(done: QuantizedModel) -> Callable[[Graph], bytes]:
        how = dict(options)
        if done.exponents:
            how["equalized"] = to_text(done.exponents)
        if done.shifts:
            how["absorbed"] = to_text(done.shifts)
        made = replace(provenance, options=_as_text(how))
        return lambda graph: build_file(graph, made, remove_constant_channels(graph))

    if budget is not None:
        if judging is not None and judge is None:
            judge = judging.judge_kept(graph, done.calibration.kept)
        unseen = evaluation is not None
        start = done
        done = _mixed(start, budget, packer(start), judge, rounding, unseen, progress)
        if is_oversized(start, done):
            plain = optimize(
                graph, start.given, observer, progress, weights=weights, rounding=rounding,
                plain=True,
            )  # fmt: skip
            other = _mixed(plain, budget, packer(plain), judge, rounding, unseen, progress)
            done = smaller_of(done, other)
    data = packer(done)(done.graph)
    prove(data)
    needed = needs(data, budget) if budget is not None and budget.limits_size else []
    known = done.calibration
    some = [k.inputs for k in known.kept[:: -(-len(known.kept) // SAMPLES)]]
    told = explain(data, done.floats, some, known.extremes(), unseen=False, progress=progress)
    notes = [*graph.notes, *samples.notes, *calibration_warnings(known, batch)]
    if samples.ignored and (judging is None or not judging.reads_calibration):
        notes.insert(0, _ignored(samples.ignored))
    if report is not None:
        page = report_page(
            data, done, told, samples, Path(model), observer, notes, progress, batch=batch,
            needed=needed,
        )  # fmt: skip
        write_atomically(report, page.encode())
    write_atomically(path, data)
    written = read(data)
    return Quantized(
        output=str(path),
        file_bytes=len(data),
        ops=op_counts(written),
        observer=observer,
        samples=done.samples * batch,
        kept_samples=len(known.kept) * batch,
        seconds=round(perf_counter() - started, 3),
        sqnr_db=round(done.sqnr_db, 2),
        held_out=done.held_out if done.plan.has_rounded else None,
        arena_bytes=written.memory.arena_bytes,
        decisions=done.decisions,
        notes=notes,
        explanation=told,
        report=None if report is None else str(report),
        mixed=done.mixed,
        targets=needed,
    )


def _ignored(names: Sequence[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    several = len(names) > 1
    what = "arrays" if several else "array"
    return f"ignored {what} {listed}: {'not inputs' if several else 'not an input'} of the model"


def _mixed(
    done: QuantizedModel,
    budget: Budget,
    pack: Callable[[Graph], bytes],
    judge: Judge | None,
    rounding: str,
    unseen: bool,
    progress: Progress,
) -> QuantizedModel:
    """`done` with precisions mixed to meet `budget`; its `mixed` says what the judge said."""
    drop, many = (None, 0) if judge is None else (judge.drop, judge.evaluation_set.samples)
    done = fit_budget(
        done, budget, pack, drop, progress, rounding=rounding, judged=many, unseen=unseen
    )
    if judge is None or done.mixed is None or done.mixed.chosen.drop is None:
        return done
    said = judge.judged(done.mixed.chosen.drop)
    return replace(done, mixed=replace(done.mixed, judged=said))


def check(
    edge: str | Path,
    model: str | Path,
    data: SampleSource,
    *,
    labels: str | None = None,
    metric: str | Path | MetricFunction | None = None,
    layers: bool = False,
    image: ImageOptions | None = None,
    limit: int | None = None,
    kernels: str | None = None,
    target: str | None = None,
    cpu: str | None = None,
    max_memory: int | None = MAX_MEMORY,
    progress: Progress = silent,
) -> Report:
    """Compare the file `edge` with the float `model` (ONNX) it was made from, on `data`.

    `data` is as calibration samples are; arrays that are no inputs are passed over. `labels` is the
    key in it (an .npz) of one class per sample, for top-1, or what a named `metric` compares with;
    `metric` is as for quantize, and adds what the file loses by it. `layers` adds the SQNR of every
    tensor, and for a generic file attributes the loss.
    `target` lets that target's emulator answer (`cpu` is its -cpu), else this machine does, with
    the kernel table `kernels`. `max_memory` is as for a Session. Raises UserError or
    CalibrationError.
    """
    session = Session(edge, kernels, max_memory)
    graph = load(model, _shapes_of(session, model), finite=True)
    specs, batch = input_specs(graph), batch_of(graph)
    samples = open_samples(data, specs, image or ImageOptions(), limit=limit)
    meter = None
    if metric is not None or labels is not None:
        judging = open_metric(metric, labels)
        others = others_of(data, graph, judging, samples.total)
        meter = make_meter(graph, judging, others, samples.total)
    keeper = Keeper(SAMPLES)
    floats = _layer_reference(session, graph) if layers else graph
    report = compare(
        session
        if target is None
        else session_on(edge, load_target(target), samples, cpu, max_memory),
        make_oracle(model, graph),
        keeper.passing(samples) if layers else samples,
        batch=batch,
        total=(samples.length or 0) * batch,
        meter=meter,
        floats=floats if layers else None,
        target=f"host ({session.kernels})" if target is None else None,
        progress=progress,
    )
    if metric is None and isinstance(meter, ClassMeter):
        report = replace(report, top1=meter.counted, metric=None)
    data_of = session.model.data.tobytes()
    if layers and read(data_of).target == "generic":
        inputs = [k.inputs for k in keeper.kept]
        told = explain(data_of, floats, inputs, report.extremes, progress=progress)
        report = replace(report, explanation=told)
    return report


def _output(model: str | Path, output: str | Path | None, *read: str | Path) -> Path:
    path = Path(model).with_suffix(".edge") if output is None else Path(output)
    check_writable(path, [model, *read])
    return path


def _layer_reference(session: Session, graph: Graph) -> Graph:
    """The float graph whose tensors the file's stand for: `graph`, its channels scaled and lowered
    alike."""
    file = read(session.model.data.tobytes(), session.model.source)
    settings = file.provenance.settings
    try:
        if "equalized" in settings:
            graph = equalized(graph, from_text(settings["equalized"]))
        if "absorbed" in settings:
            graph = absorbed(graph, shifts_from_text(settings["absorbed"]))
    except ValueError as why:
        raise UserError(
            f"{session.model.source}: its channels were equalized in a way that does not fit "
            f"the float model ({why}); compare it without layers, or quantize it again"
        ) from why
    return graph


def _shapes_of(session: Session, model: str | Path) -> Shapes:
    """The shapes of the file's inputs, for an ONNX model that must have the same."""
    mine = {io.name for io in session.inputs}
    theirs = input_names(model)
    if mine != theirs:
        raise UserError(
            f"{model}: its inputs are {', '.join(sorted(theirs))}, and those of "
            f"{session.model.source} {', '.join(sorted(mine))}; give the model it was made from"
        )
    return {io.name: io.shape for io in session.inputs}


def _plain(shapes: Shapes | None) -> dict[str, list[int]]:
    return {k: [int(d) for d in v] for k, v in (shapes or {}).items()}


def _provenance(model: str | Path, calibration: str, options: dict[str, Any]) -> Provenance:
    content = read_file(model, "an ONNX model")
    return Provenance(
        producer=f"edgekit {__version__}",
        model_sha256=hashlib.sha256(content).hexdigest(),
        calibration_sha256=calibration,
        options=_as_text(options),
    )


def _as_text(options: dict[str, Any]) -> str:
    return json.dumps(options, sort_keys=True)
