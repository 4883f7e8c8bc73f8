"""The order of everything: ONNX in, a checked .edge file out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from ..calibration import ImageOptions, SampleSource, open_samples
from . import dynamic
from .accuracy import (
    SAMPLES,
    ClassMeter,
    MetricFunction,
    QualityMeter,
    Report,
    batch_of,
    compare,
    explain,
    make_meter,
    make_oracle,
    open_metric,
)
from .accuracy.compare import QualitySource, Runner
from .build import build_file, prove
from .device.session import session_on
from .errors import UserError
from .evaluation.cell_limits import LIMIT, limited
from .evaluation.judging import input_specs, known_labels, others_of
from .evaluation.quality_at_size import QualityAtSize
from .evaluation.sequences import lower, over_sequences
from .evaluation.sized_samples import SizedSamples
from .evaluation.state_samples import (
    InSequence,
    follows_of,
    interface_of,
    mark_kept,
    opened,
    with_plain_states,
    with_states,
)
from .files import write_atomically
from .float16 import halved
from .format.at_sizes import at_sizes
from .format.describe import op_counts
from .format.model import EdgeModel
from .format.reader import read
from .format.strip import strip as stripped_bytes
from .format.writer import write
from .ir import Graph
from .model_files import (
    Constants,
    Shapes,
    load,
    output_path,
    plain_constants,
    plain_dims,
    plain_shapes,
    provenance_of,
)
from .onnx_import import input_names
from .ops.convert.fake_quantize import arrives_quantized
from .preprocessing import FrontEnd, agreed, class_names, preprocessing_of
from .progress import Progress, silent
from .quantize import Decision, Keeper, as_given
from .quantize.equalization.bias_absorption import absorbed
from .quantize.equalization.bias_absorption import from_text as shifts_from_text
from .quantize.equalization.cross_layer import equalized, from_text
from .quantize_file import quantize
from .quantize_result import Quantized
from .runtime import MAX_MEMORY, Session
from .state import States, keep_states, mark_states
from .streaming import Axes, Cut, Playback, Played, check_frames, time_axes
from .streaming import stream as make_streaming

__all__ = ["Converted", "Quantized", "check", "convert", "load", "quantize"]


@dataclass(frozen=True)
class Converted:
    """The result of `convert`. `notes` are remarks on the import; `decisions` list the operators of
    a quantized model that do not run in integers."""

    output: str
    file_bytes: int
    ops: dict[str, dict[str, int]]
    seconds: float
    notes: list[str]
    decisions: list[Decision]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def convert(
    model: str | Path,
    output: str | Path | None = None,
    *,
    shapes: dynamic.Shapes | None = None,
    dims: dynamic.Dims | None = None,
    constants: Constants | None = None,
    strip: bool = False,
    float16: bool = False,
    states: States = (),
    stream: Axes = (),
    frames: int | None = None,
) -> Converted:
    """Convert `model` (an ONNX file) to an .edge file, by default MODEL.edge in its folder.

    A float model stays float32. A quantized model keeps its scales, zero points and weights, and
    runs in integers where inputs and outputs are quantized; `decisions` lists the other operators.

    shapes     shapes of inputs by name; a `dynamic.Range` is a dimension that varies at run time
    dims       sizes of symbolic dimensions by name, likewise; memory is planned for the largest
    constants  values of inputs that become constants
    strip      omit provenance and operator names (format/strip.py)
    float16    store float32 tensors as float16; arithmetic stays float32
    states     pairs (input, output) that keep state between runs, or "auto"
    stream     time axes of inputs, (name, axis), with the name "" for all: the file then runs
               `frames` frames of a sequence at a time, by default as few as the model allows

    Raises UserError for a model that is not supported or an output that cannot be written; then
    nothing is written.
    """
    started = perf_counter()
    path = output_path(model, output)
    check_frames(stream, frames)
    sizes = dynamic.sizes_asked(model, shapes, dims)
    if sizes.symbols and (stream or states):
        raise UserError(
            f"{model}: variable dimensions cannot be combined with --stream or --state; fix them "
            "with --shape"
        )
    of_inputs, by_name = sizes.at(sizes.largest)
    lazily = not sizes.symbols
    graph = load(model, of_inputs, constants=constants, dims=by_name, lazily=lazily)
    means: dynamic.Counts = {}
    if sizes.symbols and arrives_quantized(graph):
        of_inputs, by_name = sizes.at([s.lowest for s in sizes.symbols])
        lowest = load(model, of_inputs, constants=constants, dims=by_name, lazily=lazily)
        means = dynamic.varying_counts(graph, lowest)
        graph = dynamic.with_means(graph, means)
    graph = mark_states(graph, states)
    axes = time_axes(graph, stream)
    graph, decisions = as_given(graph)
    options: dict[str, Any] = {
        "shapes": plain_shapes(shapes),
        **plain_dims(dims),
        **plain_constants(constants),
    }
    if float16:
        graph, options = halved(graph), options | {"float16": True}
    notes = list(graph.notes)
    if axes:
        streaming = make_streaming(graph, axes, frames)
        graph, options = streaming.graph, options | {"stream": streaming.to_json()}
        notes += streaming.notes()
    graph, provenance = keep_states(graph), provenance_of(model, "", options)
    if sizes.symbols:

        def at(chosen: Sequence[int]) -> Graph:
            of_inputs, by_name = sizes.at(chosen)
            floats = load(model, of_inputs, constants=constants, dims=by_name, lazily=lazily)
            found = as_given(dynamic.with_means(floats, means))[0]
            return halved(found) if float16 else found

        data = write(
            replace(dynamic.varying_model(sizes, graph, at, str(model)), provenance=provenance)
        )
        notes.append(f"variable dimensions: {', '.join(map(str, sizes.symbols))}")
    else:
        data = build_file(graph, provenance)
    data = stripped_bytes(data) if strip else data
    prove(data)
    write_atomically(path, data)
    ops = op_counts(read(data))
    seconds = round(perf_counter() - started, 3)
    return Converted(str(path), len(data), ops, seconds, notes, decisions)


def check(
    edge: str | Path,
    model: str | Path,
    data: SampleSource,
    *,
    labels: str | None = None,
    metric: str | Path | MetricFunction | None = None,
    layers: bool = False,
    image: ImageOptions | None = None,
    sound: FrontEnd | None = None,
    limit: int | None = None,
    sequence: int | None = None,
    kernels: str | None = None,
    target: str | None = None,
    cpu: str | None = None,
    settings: Mapping[str, str] | None = None,
    max_memory: int | None = MAX_MEMORY,
    progress: Progress = silent,
) -> Report:
    """Compare the file `edge` with the float `model` (ONNX) that it was made from, on `data`.

    data      samples in the same forms as for calibration; arrays that are not inputs are ignored
    labels    name of the ground truth: one class per sample for top-1, or the reference of a
              built-in `metric` (see `calibration.load_labels`); by default the labels that
              `calibration.find_labels` detects
    metric    as for quantize: also report the drop of this metric
    layers    also report the SQNR of every tensor and, for a generic file, the cause of the error
    image, sound  preprocessing, which must not contradict the settings stored in the file
    limit     maximum number of samples
    sequence  for a file with state: samples after which the state is reset. The file and the float
              model run on the samples in order, each with its own state; `layers` starts every
              sample from the float model's state
    kernels   kernel table on this machine; default: the best one
    target    run on this target's emulator or accelerator (`cpu`: its -cpu or device, `settings`:
              target settings)
    max_memory  as for Session

    Raises UserError or CalibrationError.
    """
    session = Session(edge, kernels, max_memory, numbers=True)
    if layers and not any(op.name for op in read(session.model.data.tobytes()).ops):
        raise UserError(
            f"{session.model.source}: operator names are missing (--strip, or edgekit build), so "
            "layers cannot be compared; use the file with names, or omit --layers"
        )
    content, source = session.model.data.tobytes(), session.model.source
    file = read(content, source)
    if file.symbols and (layers or metric is not None):
        raise UserError(
            f"{source}: --layers and --metric require fixed dimensions (--shape, --dim)"
        )
    constants = file.provenance.settings.get("constants", {})
    shapes = _shapes_of(file, source, model, constants)
    graph = mark_kept(load(model, shapes, finite=True, constants=constants), file, source)
    play = _playback(file, layers, sequence, source)
    if play is not None and follows_of(graph):
        sequence = 1
    seen, states = interface_of(graph), set(follows_of(graph))
    how = agreed(preprocessing_of(file.provenance, source), image, source, sound)
    axes = {(file.inputs[i].name, axis): n for i, axis, n in session.model.varying_axes}
    sizes = dynamic.Sizes(file.symbols, {}, {}, axes)
    given = open_samples(data, input_specs(graph, sizes), how, limit=limit, labels=labels)
    samples, batch = with_states(graph, given, sequence), batch_of(graph)
    if labels is None and metric is None:
        judged = known_labels(samples, seen)
    else:
        judging = open_metric(metric, labels)
        judged = judging, others_of(samples, seen, judging)
    meter = None if judged is None else make_meter(seen, *judged, samples.total)
    runner: Runner = session
    if target is not None:
        runs = given if play is None else [step for sample in given for step in play.steps(sample)]
        each = sequence if play is None else len(runs) // max(1, samples.length or 1)
        runner = session_on(edge, target, runs, cpu, max_memory, settings, sequence=each)
    reset = session.reset if target is None else None
    if states:
        runner = InSequence(runner, states, sequence, None if play else reset)
    alone = target is None and play is None and not states  # no runs but the compared ones
    oracle, total = make_oracle(model, graph), (samples.length or 0) * batch
    if play is not None:
        runner, oracle = Played(runner, play, reset), Cut(oracle, play)
    keeper = Keeper(SAMPLES)
    quality: QualitySource | None = None
    if not file.symbols:
        quality = QualityMeter(graph, session if alone else None)
    elif alone and samples.reiterable:
        sized = SizedSamples(samples, sizes)
        here = _shapes_of(at_sizes(file, sized.size), source, model, constants)
        at_size = load(model, here, finite=True, constants=constants)
        quality = QualityAtSize(file, at_size, sized)
        samples.notes.append(sized.verdict_note())
    floats = _layer_reference(file, source, graph) if layers else None
    report = compare(
        runner,
        oracle,
        keeper.passing(samples) if layers else samples,
        batch=batch,
        total=total,
        meter=meter,
        floats=None if states else floats,
        quality=quality,
        target=f"host ({session.kernels})" if target is None else None,
        progress=progress,
    )
    if metric is None and isinstance(meter, ClassMeter):
        mistakes = None if meter.labels is None else meter.mistakes
        if mistakes is not None:
            mistakes = mistakes.named(class_names(file.provenance.settings), given.places)
        report = replace(report, top1=meter.counted, mistakes=mistakes, metric=None)
    report = replace(report, notes=report.notes + samples.notes + _said_of_states(graph, sequence))
    if report.quality is not None and samples.reiterable and not (states or play or file.symbols):
        stepped = with_plain_states(graph, list(islice(samples, SAMPLES)))
        carried = over_sequences(stepped, session, samples, None, progress)
        report = replace(report, quality=lower(report.quality, carried))
    if floats is None:
        return report
    if states:
        content, keeper = opened(file, graph), Keeper(SAMPLES)
        inner = compare(
            Session(content, kernels, None, numbers=True),
            oracle,
            keeper.passing(with_states(floats, given, sequence)),
            batch=batch,
            total=total,
            floats=floats,
            progress=progress,
        )
        report = replace(report, layers=inner.layers, extremes=inner.extremes)
    if file.target == "generic":
        inputs = [k.inputs for k in keeper.kept]
        told = explain(content, floats, inputs, report.extremes, progress=progress)
        report = replace(report, explanation=told)
    return report


def _playback(
    file: EdgeModel, layers: bool = False, sequence: int | None = None, source: str = ""
) -> Playback | None:
    """How a streaming file takes whole sequences; None for another. Raises UserError."""
    said = file.provenance.settings.get("stream")
    if said is None:
        return None
    if layers or sequence is not None:
        option = "--layers" if layers else "--sequence"
        raise UserError(
            f"{source}: {option}: not supported for streaming files, which are compared on whole "
            "sequences; omit it, or quantize without --stream (the integers are the same)"
        )
    return Playback(said)


def _said_of_states(graph: Graph, sequence: int | None) -> list[str]:
    pairs = ", ".join(f"{i}={o}" for i, o in follows_of(graph).items())
    if not pairs:
        return []
    length = "all samples are one sequence" if sequence is None else f"sequences of {sequence}"
    return [f"state kept in the session: {pairs}; {length}"]


def _layer_reference(file: EdgeModel, source: str, graph: Graph) -> Graph:
    """The float graph whose tensors the file's stand for: `graph`, its channels scaled and lowered
    alike."""
    settings = file.provenance.settings
    try:
        if LIMIT in settings:
            graph = limited(graph, settings[LIMIT])
        if "equalized" in settings:
            graph = equalized(graph, from_text(settings["equalized"]))
        if "absorbed" in settings:
            graph = absorbed(graph, shifts_from_text(settings["absorbed"]))
    except ValueError as why:
        raise UserError(
            f"{source}: its equalization does not match the float model ({why}); omit --layers, "
            "or quantize it again"
        ) from why
    return graph


def _shapes_of(file: EdgeModel, source: str, model: str | Path, constants: Constants) -> Shapes:
    """The shapes of the file's inputs and, as far as they were given, of its states, for an ONNX
    model that must have the same."""
    asked: Shapes = file.provenance.settings.get("shapes", {})
    theirs = input_names(model) - set(constants)
    mine, states = {io.name for io in file.inputs}, {s.input for s in file.states}
    play = _playback(file)
    unnamed = file.memory.persistent_bytes and not states and play is None
    if not (mine < theirs if unnamed else mine | states == theirs):
        raise UserError(
            f"{model}: its inputs are {', '.join(sorted(theirs))}, and those of {source} "
            f"{', '.join(sorted(mine | states))}; pass the model that the file was made from"
        )
    known = {io.name: io.shape for io in file.inputs}
    if play is not None:
        known = {name: play.whole(name, shape) for name, shape in known.items()}
    return {k: v for k, v in asked.items() if k in states} | known
