"""`edgekit convert`: a float32 .edge file."""

from __future__ import annotations

from pathlib import Path

import click

from .. import pipeline
from .options import json_option, model_argument, shape_option, strip_option
from .output import kib, people, print_json


@click.command()
@model_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Default: MODEL.edge.")
@shape_option
@strip_option
@json_option
def convert(
    model: Path,
    output: Path | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    strip: bool,
    as_json: bool,
) -> None:
    """Write MODEL.onnx as a float32 .edge file, without quantizing it."""
    done = pipeline.convert(
        model, output or model.with_suffix(".edge"), shapes=dict(shapes), strip=strip
    )
    if as_json:
        print_json(done.to_json())
        return
    people.print(f"{done.output}: {kib(done.file_bytes)}, float32")
    for note in done.notes:
        people.print(f"note: {note}")
