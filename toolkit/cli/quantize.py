"""`edgekit quantize`: the main job."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from .. import quantize_file
from ..accuracy import costs, parts
from ..decibels import in_words
from ..numerics import FLOAT32
from ..quantize import Mixed, grouped
from ..quantize.budget import Point
from ..quantize.rates.search import Rates
from ..quantize_request import QuantizeRequest
from ..quantize_result import Quantized
from ..runtime import share_heap
from .declared import declared, in_groups
from .options import image_options, json_option, model_argument, op_option
from .output import kib, people, print_json, progress, table
from .verdict import tell_answers, tell_verdict

EXIT_MISSED = 3
"""The file is written, but it is not within the budget, or its accuracy is below the floor."""


@click.command(short_help="Quantize an ONNX model.")
@model_argument
@declared(QuantizeRequest)
@image_options
@op_option
@json_option
def quantize(model: Path, as_json: bool, **options: Any) -> None:
    """Quantize MODEL.onnx to int8, calibrated on the samples of --calib.

    A budget (--max-drop, --min-sqnr, --max-bytes, --max-arena; with --target also --ram, --flash,
    --max-instructions) mixes int8, int16, 4-bit weights and float32 to meet it. Without a budget,
    layers are promoted to int16 or float32 if int8 alone is broken. Exit status 3: the file is
    written, but misses the budget or is still broken.
    """
    share_heap()
    with progress() as show:
        given = in_groups(QuantizeRequest, options)
        done = quantize_file.quantize(model, progress=show, every_layer=as_json, **given)
    if as_json:
        print_json(done.to_json())
    else:
        _tell(done, model)
    if done.below_floor or (done.mixed is not None and not done.mixed.met):
        raise click.exceptions.Exit(EXIT_MISSED)


def _tell(done: Quantized, model: Path) -> None:
    """The few lines that matter; all of it is in the report and in --json."""
    tell_verdict(done)
    effort = "" if done.effort == "default" else f", effort {done.effort}"
    real = sum(counts.get(FLOAT32, 0) for counts in done.ops.values())
    total = sum(n for counts in done.ops.values() for n in counts.values())
    kept = "all integer" if not real else f"{real} of them in float32"
    generic = "generic " if done.targets else ""
    people.print(
        f"{done.output}: {kib(done.file_bytes)}, {total} operators, {kept}, "
        f"{generic}arena {kib(done.arena_bytes)} ({done.seconds:.1f} s{effort})"
    )
    if done.layers_stored:
        _tell_storage(done)
    if done.rates is not None:
        _tell_rates(done.rates)
    if (told := done.explanation) is not None:
        some = "" if told.samples == done.kept_samples else f"{told.samples} of "
        file = f"written file {in_words(told.sqnr_db)}"
        people.print(f"Mean SQNR of outputs on {some}these samples: {file}; {parts(told)}")
        for line in costs(told):
            people.print(f"  {line}")
    if done.answers is not None:
        tell_answers(done.answers.top1, done.answers.mistakes, "top-1 of these samples")
    lines = grouped(done.decisions)
    for line in lines:
        people.print(f"  {line}", style="yellow" if "float" in line else None)
    if any("made 16x" in line for line in lines):
        people.print("  16x8: int16 activations, 8-bit weights (16x4: 4-bit)")
    for note in done.notes:
        people.print(f"note: {note}", style="yellow")
    command = ["edgekit", "check", done.output, "--float", str(model)]
    people.print(f"Next, evaluate on unseen data: {shlex.join(command)} --layers --data SAMPLES")
    if done.report:
        people.print(f"Report: {done.report}")
    if done.mixed:
        _tell_mixed(done.mixed)
    if done.for_targets:
        _tell_devices(done)
    elif done.targets:
        _tell_targets(done)


def _tell_storage(done: Quantized) -> None:
    """What weights behind codecs take in the file."""
    layers = done.layers_stored
    count, stored = sum(s.weights for s in layers), sum(s.stored for s in layers)
    codecs = ", ".join(sorted({s.codec.lower() for s in layers}))
    people.print(
        f"Compressed weights ({codecs}): {len(layers)} layers, {stored:,} bytes instead of "
        f"{count:,}, {8 * stored / count:.2f} bits per weight"
    )
    for target in layers[0].instructions:
        more = sum(s.instructions.get(target, 0) for s in layers)
        people.print(f"  decoding takes {more:,} instructions per inference on {target}")


def _tell_rates(rates: Rates) -> None:
    """The results of weight compression."""
    rows = [
        (
            "->" if p == rates.after else "",
            kib(p.file_bytes),
            "" if p.sqnr_db is None else in_words(p.sqnr_db),
            *_counted(rates.pareto, p),
            p.what,
        )
        for p in rates.pareto
    ]
    title = "Pareto front of coarser weights, stripped files"
    table(title, ("", ">file", ">SQNR", *_counts(rates.pareto), "weights"), rows)


def _counts(points: list[Point]) -> list[str]:
    """The column of instructions, where some were counted."""
    return [">instructions"] if any(p.instructions for p in points) else []


def _counted(points: list[Point], p: Point) -> list[str]:
    return [f"{p.instructions or 0:,}" for _ in _counts(points)]


def _tell_mixed(mixed: Mixed) -> None:
    """What was found on the way to the budget, and whether it is met."""
    judged, budget = mixed.judged, mixed.budget
    lost = [] if judged is None else [f">{judged.metric} lost {judged.unit}".strip()]
    rows = [
        (
            "->" if point == mixed.chosen else "",
            kib(point.file_bytes),
            kib(point.arena_bytes),
            *_counted(mixed.pareto, point),
            "" if point.sqnr_db is None else in_words(point.sqnr_db),
            *["" if point.drop is None else f"{point.drop:.3g}" for _ in lost],
            point.what,
        )
        for point in mixed.pareto
    ]
    files = "largest of the targets" if len(budget.targets) > 1 else "".join(budget.targets)
    table(
        f"Pareto front ({mixed.trials} configurations evaluated), "
        + (files or "stripped generic files"),
        (
            *("", f">{budget.counts[0]}", f">{budget.counts[1]}"),
            *_counts(mixed.pareto),
            *(">SQNR", *lost, "operators"),
        ),
        rows,
    )
    if judged is not None:
        people.print(f"metric: {judged}")
    if mixed.met:
        whose = "" if budget.targets or not budget.limits_size else " for the generic file"
        people.print(f"Budget met{whose} ({mixed.limits}): {_figures(mixed.chosen)}")
    else:
        text = f"Budget NOT met ({mixed.limits}); best result: {_figures(mixed.chosen)}"
        people.print(f"{text} ({_missed(mixed)})", style="red")


def _figures(point: Point) -> str:
    sqnr = (
        "" if point.sqnr_db is None else f"SQNR {in_words(point.sqnr_db)} on calibration samples; "
    )
    return f"{sqnr}operators: {point.what}"


def _tell_devices(done: Quantized) -> None:
    """What the file takes on the targets that were asked for."""

    def known(n: int | None) -> str:
        return "?" if n is None else f"{n:,}"

    rows = [
        (
            "".join(need.targets),
            f"{need.model_bytes:,}",
            known(need.code_bytes),
            f"{need.arena_bytes:,}",
            known(need.session_bytes),
            known(need.stack_bytes),
            *(() if done.mixed is None else ("yes" if need.within else "NO",)),
        )
        for need in done.targets
    ]
    met = () if done.mixed is None else ("in budget",)
    columns = ("~target", ">model", ">code", ">arena", ">session", ">stack", *met)
    table("Bytes on the device: flash is model + code, RAM is session + stack", columns, rows)
    counted = [(n.targets[0], n.instructions) for n in done.targets if n.instructions is not None]
    if counted:
        said = ", ".join(f"{n:,} on {name}" for name, n in counted)
        people.print(f"Instructions of one inference: {said}")
    for why in dict.fromkeys(why for need in done.targets for why in need.uncounted):
        people.print(f"note: {why}", style="yellow")


def _tell_targets(done: Quantized) -> None:
    """What the generic file takes on each target, which packs weights and plans memory anew."""
    rows = [
        (
            name,
            f"{need.model_bytes:,}",
            f"{need.arena_bytes:,}",
            "at run time" if need.session_bytes is None else f"{need.session_bytes:,}",
            "yes" if need.within else "NO",
        )
        for need in done.targets
        for name in need.targets
    ]
    columns = ("target", ">model", ">arena", ">session", "within budget")
    table("Bytes of this file on each target (`edgekit build`)", columns, rows)
    people.print("To apply the budget to a device, code and stack included: --target TARGET")


def _missed(mixed: Mixed) -> str:
    """Which limits the best that was found does not keep, and by how much."""
    limits, best = mixed.budget, mixed.chosen
    missed = []
    sizes = best.file_bytes, best.arena_bytes, best.instructions or 0
    for what, has, most in zip(limits.counts, sizes, limits.size_limits, strict=True):
        if most is not None and has > most:
            unit = "" if what == "instructions" else " bytes"
            missed.append(f"{what} {has:,}{unit}, {has - most:,} above the limit")
    if limits.min_sqnr is not None and best.sqnr_db is not None and best.sqnr_db < limits.min_sqnr:
        missed.append(
            f"{best.sqnr_db:.1f} dB, {limits.min_sqnr - best.sqnr_db:.1f} dB below the limit"
        )
    if best.drop is not None and best.drop > limits.drop_limit:
        unit = "" if mixed.judged is None else mixed.judged.unit
        missed.append(f"{best.drop:.3g} {unit}".strip() + " lost")
    return "; ".join(missed)
