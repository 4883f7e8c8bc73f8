"""`edgekit export`: an .edge file as ONNX with QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ..onnx_export import export as export_file
from .options import json_option
from .output import kib, people, print_json


@click.command(short_help="Export a file as a quantized ONNX model (QDQ).")
@click.argument("edge", metavar="MODEL.edge", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Output file. [default: MODEL-qdq.onnx]"
)
@json_option
def export(edge: Path, output: Path | None, as_json: bool) -> None:
    """Export MODEL.edge as an ONNX model with QuantizeLinear and DequantizeLinear."""
    done = export_file(edge, output)
    if as_json:
        print_json(asdict(done))
        return
    people.print(f"{done.output}: {kib(done.file_bytes)}, {done.nodes} nodes")
