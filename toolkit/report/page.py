"""A quantization -> its report: measures on the calibration samples what each tensor lost."""

from __future__ import annotations

from pathlib import Path

from ...calibration import Samples
from ..accuracy import OwnRuntime, compare
from ..build import build_file
from ..errors import UserError
from ..inspection import describe
from ..progress import Progress
from ..quantize import Quantized
from ..runtime import Session
from .html import LayerRow, OutputRow, ReportData, render


def report_page(
    data: bytes,
    done: Quantized,
    samples: Samples,
    model: Path,
    observer: str,
    progress: Progress,
) -> str:
    """The HTML report of the file `data`, which `done` made of the ONNX file `model`.

    Raises UserError when the samples can be read only once.
    """
    if not samples.reiterable:
        raise UserError("a report reads the samples once more: give a list, not a generator")
    found = describe(data, str(model))
    compared = compare(
        Session(data),
        OwnRuntime(done.floats),
        samples,
        float_edge=Session(build_file(done.floats)),
        progress=lambda _, n, total: progress("measuring layers", n, total or done.samples),
    )
    sqnr = {layer.name: layer.sqnr_db for layer in compared.layers}
    return render(
        ReportData(
            title=model.name,
            inspection=found,
            float_bytes=model.stat().st_size,
            observer=observer,
            samples=done.samples,
            outputs=[
                OutputRow(o.name, o.sqnr_db, o.cosine, o.max_abs_error) for o in compared.outputs
            ],
            layers=[
                LayerRow(
                    op.name,
                    op.type,
                    op.dtype,
                    op.macs,
                    op.scale * (-128 - op.zero_point),
                    op.scale * (127 - op.zero_point),
                    sqnr.get(op.name),
                )
                for op in found.ops
            ],
            decisions=[str(d) for d in done.decisions],
            oracle=compared.oracle,
            mixed=done.mixed,
        )
    )
