"""The first lines of `quantize` and `check`: is the file any good, why not, what was done."""

from __future__ import annotations

from ..accuracy import Report, Top1
from ..accuracy.mistakes import Mistakes
from ..accuracy.verdict import headline
from ..decibels import in_words
from ..quantize.quality import Level
from ..quantize_result import Quantized
from .output import people

STYLES: dict[Level, str] = {"good": "green", "usable": "yellow", "broken": "red"}


def tell_verdict(done: Quantized) -> None:
    """The verdict on what `quantize` wrote; the cause; what was promoted."""
    first, *others = done.verdict
    people.print(first, style=STYLES[done.quality.level])
    for line in others:
        people.print(line)


def tell_checked(report: Report) -> None:
    """The verdict of `check`."""
    quality = report.quality
    if quality is not None:
        of = f" of {report.samples}" if quality.samples < report.samples else ""
        figures = f"{quality.in_words()} on {quality.samples}{of} samples"
    elif report.worst is not None:
        figures = f"SQNR {in_words(report.worst.sqnr_db)} on {report.samples} samples"
    else:
        return
    people.print(headline(report.level, figures), style=STYLES[report.level])


def tell_answers(top1: Top1, mistakes: Mistakes | None, of: str = "top-1") -> None:
    """The answers that are right of both models, and what the file gets wrong."""
    t = top1.to_json()
    people.print(
        f"{of}: float {t['float']:.4f}, edge {t['edge']:.4f}, agreement {t['agreement']:.4f}"
    )
    for line in () if mistakes is None else mistakes.lines():
        people.print(line)
