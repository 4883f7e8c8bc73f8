"""`edgekit check`: what a file answers, against the float model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import pipeline
from ..accuracy import Explanation, Report, summary
from ..decibels import in_words, level
from ..quantize_request import QuantizeRequest
from .declared import declared
from .options import (
    edge_argument,
    image_options,
    json_option,
    memory_option,
    op_option,
    target_options,
)
from .output import people, print_json, progress, table
from .verdict import tell_answers, tell_checked


@click.command(short_help="Measure accuracy against the float model.")
@edge_argument
@click.option(
    "--float",
    "float_model",
    type=click.Path(path_type=Path),
    required=True,
    metavar="MODEL.onnx",
    help="The float model that the file was made from.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="Samples, as for quantize --calib. Extra arrays in an .npz are ignored.",
)
@click.option(
    "--labels",
    metavar="KEY",
    help="Ground truth for top-1 or --metric: an array of the .npz, a column of the .csv, "
    "'folders' (one per class), or a .csv of files and classes in the folder. [default: folders, "
    "labels.csv or a column named label, if they match the model's classes]",
)
@declared(QuantizeRequest, "metric")
@click.option("--layers", is_flag=True, help="Also report the error of each layer and its cause.")
@declared(QuantizeRequest, "limit")
@click.option("--kernels", help="Kernel table. [default: the best one for this CPU]")
@declared(QuantizeRequest, "sequence")
@target_options
@memory_option
@image_options
@op_option
@json_option
def check(model: Path, float_model: Path, data: Path, as_json: bool, **options: Any) -> None:
    """Measure the accuracy of MODEL.edge against the float model, on unseen samples."""
    with progress() as show:
        report = pipeline.check(model, float_model, data, progress=show, **options)
    if as_json:
        print_json(report.to_json())
        return
    tell_checked(report)
    table(
        f"{report.samples} samples on {report.target}, against {report.oracle}",
        ("~output", ">SQNR", ">cosine", ">largest error"),
        [
            (o.name, in_words(o.sqnr_db), f"{o.cosine:.6f}", f"{o.max_abs_error:.5g}")
            for o in report.outputs
        ],
    )
    if report.top1 is not None:
        tell_answers(report.top1, report.mistakes)
    if report.metric is not None:
        people.print(f"{report.metric}")
    for note in report.notes:
        people.print(f"note: {note}", style="yellow")
    if report.explanation is not None:
        _explain(report, report.explanation)
    elif options["layers"]:
        table(
            "SQNR after each layer, worst first (dB)",
            ("~name", "operator", "dtype", ">SQNR"),
            [(n.name, n.operator, n.dtype, level(n.sqnr_db)) for n in report.layers],
        )


def _explain(report: Report, explanation: Explanation) -> None:
    rows = []
    for n, c in report.ranked():
        row = [n.name, n.operator, n.dtype, level(n.sqnr_db)]
        if c is None:
            rows.append([*row, *[""] * 7])
            continue
        levels = (c.weights_only_db, c.activations_only_db, c.local_db)
        share = "" if c.share is None else f"{c.share:.1%}"
        parts = (share, f"{c.saturation:.1%}", f"{c.range_use:.0%}", c.cause or "")
        rows.append([*row, *map(level, levels), *parts])
    table(
        f"Layers by share of the output error (SQNR in dB, {explanation.samples} samples)",
        (
            "~name", "operator", "dtype", ">SQNR", ">W only", ">A only", ">layer", ">share",
            ">clipped", ">range", "cause",
        ),
        rows,
    )  # fmt: skip
    people.print(
        "W only, A only: only the weights, or only the activations, of the model are rounded. "
        "layer: only this layer is rounded, at its own output"
    )
    for line in summary(explanation):
        people.print(line)
