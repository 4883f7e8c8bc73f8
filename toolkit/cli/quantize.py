"""`edgekit quantize`: the main job."""

from __future__ import annotations

from pathlib import Path

import click

from ...calibration import ImageOptions
from .. import pipeline
from ..quantize import OBSERVERS
from .options import image_options, json_option, model_argument, shape_option
from .output import db, kib, people, print_json, progress


@click.command()
@model_argument
@click.option(
    "--calib",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="Samples: a folder (npy, npz, png, jpg, wav, csv), or an .npz of arrays by input name.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Default: MODEL.edge.")
@shape_option
@click.option(
    "--observer",
    type=click.Choice(OBSERVERS),
    default="auto",
    show_default=True,
    help="How ranges are chosen; auto tries all, per tensor, by what they do to the outputs.",
)
@click.option("--limit", type=click.IntRange(1), help="Use at most so many samples.")
@click.option("--report", type=click.Path(path_type=Path), help="Write an HTML report.")
@image_options
@json_option
def quantize(
    model: Path,
    calib: Path,
    output: Path | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    observer: str,
    limit: int | None,
    report: Path | None,
    image: ImageOptions,
    as_json: bool,
) -> None:
    """Quantize MODEL.onnx to int8 with the samples of --calib, and say what it cost."""
    with progress() as show:
        done = pipeline.quantize(
            model,
            calib,
            output,
            shapes=dict(shapes),
            observer=observer,
            image=image,
            limit=limit,
            report=report,
            progress=show,
        )
    if as_json:
        print_json(done.to_json())
        return
    for decision in done.decisions:
        people.print(str(decision), style="yellow" if "float" in decision.what else None)
    real = sum(counts.get("float32", 0) for counts in done.ops.values())
    total = sum(n for counts in done.ops.values() for n in counts.values())
    kept = "all integer" if not real else f"{real} of them in float32"
    people.print(
        f"{done.output}: {kib(done.file_bytes)}, {total} operators, {kept}, "
        f"arena {kib(done.arena_bytes)}\n"
        f"SQNR {db(done.sqnr_db)} on the {done.samples} calibration samples "
        f"({done.seconds:.1f} s); judge it on others with `edgekit check`"
    )
    if done.report:
        people.print(f"report: {done.report}")
