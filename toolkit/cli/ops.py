"""`edgekit ops`: what can be served."""

from __future__ import annotations

import click

from ..capabilities import capabilities, markdown
from ..numerics import FLOAT32, W8A8, W8A16
from .options import json_option
from .output import print_json, table


@click.command(short_help="List the supported ONNX operators.")
@click.option(
    "--markdown", "as_markdown", is_flag=True, help="Print as Markdown (docs/supported-ops.md)."
)
@json_option
def ops(as_markdown: bool, as_json: bool) -> None:
    """List the supported ONNX operators and their element types."""
    if as_markdown:
        click.echo(markdown(), nl=False)
        return
    rows = capabilities()
    if as_json:
        print_json([row.to_json() for row in rows])
        return
    table(
        "Operators",
        ("ONNX operator", "runs as", W8A8, W8A16, FLOAT32),
        [(r.onnx, r.op, *map(_yes, (r.int8, r.int16, r.float32))) for r in rows],
    )


def _yes(served: bool) -> str:
    return "yes" if served else ""
