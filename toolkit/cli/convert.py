"""`edgekit convert`: an .edge file in the numbers of the ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from .. import pipeline
from ..numerics import FLOAT, HALF, INTEGERS
from ..quantize import grouped
from ..quantize_request import QuantizeRequest
from .declared import declared
from .options import json_option, model_argument, op_option
from .output import kib, people, print_json


@click.command(short_help="Convert an ONNX model without quantizing it.")
@model_argument
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Output file. [default: MODEL.edge]"
)
@declared(QuantizeRequest, "shapes", "dims", "constants")
@click.option("--float16", is_flag=True, help="Store tensors and weights in float16.")
@declared(QuantizeRequest, "states", "stream", "frames", "strip")
@op_option
@json_option
def convert(model: Path, as_json: bool, **options: Any) -> None:
    """Convert MODEL.onnx to an .edge file without quantizing it.

    Float models stay float32. Quantized models (QDQ, QOperator) keep their scales, zero points and
    weights.
    """
    done = pipeline.convert(model, **options)
    if as_json:
        print_json(done.to_json())
        return
    people.print(f"{done.output}: {kib(done.file_bytes)}, {_arithmetic(done.ops)}")
    for line in grouped(done.decisions):
        people.print(f"  {line}")
    for note in done.notes:
        people.print(f"note: {note}")


def _arithmetic(ops: Mapping[str, Mapping[str, int]]) -> str:
    """float32, float16, or how many operators run in what."""
    count: dict[str, int] = {}
    for of_kind in ops.values():
        for dtype, n in of_kind.items():
            count[dtype] = count.get(dtype, 0) + n
    if not count.keys() & set(map(str, INTEGERS)):
        return str(HALF if str(HALF) in count else FLOAT)
    return ", ".join(f"{n} operators in {dtype}" for dtype, n in sorted(count.items()))
