"""The first lines of `quantize` and `check`: is the file any good, why not, what was done."""

from __future__ import annotations

from ..accuracy import Report
from ..accuracy.formatting import sentence
from ..decibels import in_words
from ..quantize.mixed_precision.accuracy_floor import REPAIR
from ..quantize.quality import Level
from ..quantize_file import Quantized
from .output import people

MEANING: dict[Level, str] = {
    "good": "matches the float model",
    "usable": "close to the float model; check it with your metric",
    "broken": "does not match the float model; do not use it",
}
STYLES: dict[Level, str] = {"good": "green", "usable": "yellow", "broken": "red"}


def tell_verdict(done: Quantized, judging: str) -> None:
    """The verdict on what `quantize` wrote, judged on `judging`; the cause; what was promoted."""
    quality = done.quality
    _tell(quality.level, f"{quality.in_words()} on {judging}")
    if quality.level != "good":
        for cause in done.suspects or [sentence(c) for c in done.explanation.worst()[:1]]:
            people.print(f"cause: {cause}")
    if done.promotion is not None:
        people.print(
            f"{done.promotion}; int8 alone: {done.promotion.before.level}, "
            f"{done.promotion.before.in_words()}"
        )
    if quality.level == "broken" and done.mixed is None:
        people.print(_remedies(done))


def _remedies(done: Quantized) -> str:
    found = [
        "check the preprocessing of the samples (--scale, --mean, --std, --layout)",
        "calibrate with about 100 representative samples",
    ]
    if done.on_low_accuracy == "promote":
        found.append(f"--min-sqnr 20 promotes without these limits ({REPAIR.in_words()})")
    else:
        found.append("--on-low-accuracy promote uses int16 and float32 where they help")
    return "Remedies: " + "; ".join(found)


def tell_checked(report: Report) -> None:
    """The verdict of `check`."""
    figures = []
    if report.worst is not None:
        name = f" at '{report.worst.name}'" if len(report.outputs) > 1 else ""
        figures.append(f"SQNR {in_words(report.worst.sqnr_db)}{name}")
    if report.changed is not None:
        figures.append(f"{report.changed:.1%} of the answers changed")
    if figures:
        _tell(report.level, f"{', '.join(figures)} on {report.samples} samples")


def _tell(level: Level, figures: str) -> None:
    people.print(f"{level}: {MEANING[level]} ({figures})", style=STYLES[level])
