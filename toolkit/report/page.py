"""A quantization -> its report: measures on the calibration samples what each tensor lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...calibration import Samples
from ..accuracy import Explanation, OwnRuntime, compare, summary
from ..compress import StoredLayer
from ..decibels import in_words
from ..inspection import Inspection, describe
from ..needs import Need
from ..progress import Progress
from ..quantize import Quantized
from ..quantize.rates.search import Rates
from ..runtime import Session
from .html import LayerRow, OutputRow, ReportData, render


def report_page(
    data: bytes,
    floats: OwnRuntime,
    done: Quantized,
    explanation: Explanation,
    samples: Samples,
    model: Path,
    observer: str,
    effort: str,
    notes: Sequence[str],
    progress: Progress,
    *,
    batch: int = 1,
    needed: Sequence[Need] = (),
    verdict: Sequence[str] = (),
    stored: Sequence[StoredLayer] = (),
    rates: Rates | None = None,
) -> str:
    """The HTML report of the file `data`, which `done` made of the ONNX file `model`, explained.
    `floats` is compared with.

    `samples` are read once more, `batch` at a time; `notes` are what to know of them, `needed` what
    the file takes on each target, `verdict` the lines of accuracy/verdict.py; `stored` and `rates`
    are those of quantize_result.py.
    """
    found = describe(data, str(model))
    compared = compare(
        Session(data, max_memory=None, numbers=True),
        floats,
        samples,
        batch=batch,
        total=done.samples * batch,
        progress=lambda _, n, total: progress("measuring outputs", n, total),
    )
    return render(
        ReportData(
            title=model.name,
            inspection=found,
            float_bytes=model.stat().st_size,
            observer=observer,
            effort=effort,
            samples=done.samples * batch,
            outputs=[
                OutputRow(o.name, o.sqnr_db, o.cosine, o.max_abs_error) for o in compared.outputs
            ],
            layers=_layers(found, explanation),
            summary=summary(explanation),
            watched=explanation.samples,
            decisions=[str(d) for d in done.decisions],
            oracle=compared.oracle,
            notes=notes,
            mixed=done.mixed,
            targets=list(needed),
            verdict=verdict,
            rounded=_rounded(done, batch),
            stored=stored,
            rates=rates,
        )
    )


def _rounded(done: Quantized, batch: int) -> str:
    if not done.plan.has_rounded:
        return ""
    level, kept = in_words(round(done.sqnr_db, 2)), len(done.calibration.kept) * batch
    halves = f": mean output SQNR, two-fold cross-validated on {kept} of them, is {level}"
    return ", and weights are rounded for them" + (halves if done.held_out else "")


def _layers(found: Inspection, explanation: Explanation) -> list[LayerRow]:
    """Inputs, then the operators in order."""
    costs = {c.name: c for c in explanation.layers}
    ops = {op.name for op in found.ops}
    rows = [
        LayerRow(c.name, c.operator, c.dtype, 0, 0, c.low, c.high, c.sqnr_db, c)
        for c in explanation.layers
        if c.name not in ops
    ]
    for op in found.ops:
        c = costs.get(op.name)
        low, high = (0.0, 0.0) if c is None else (c.low, c.high)
        level = explanation.sqnr.get(op.name)
        work = op.macs, op.bytes_moved
        rows.append(LayerRow(op.name, op.operator, op.dtype, *work, low, high, level, c))
    return rows
