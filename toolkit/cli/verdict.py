"""The first lines of `quantize` and `check`: is the file any good, why not, what was done."""

from __future__ import annotations

from ..accuracy import Report
from ..accuracy.formatting import sentence
from ..decibels import in_words
from ..quantize.mixed_precision.accuracy_floor import REPAIR
from ..quantize.quality import Level, level_of
from ..quantize_file import Quantized
from .output import people

MEANING: dict[Level, str] = {
    "good": "it answers as the float model does",
    "usable": "it answers nearly as the float model does; measure it with your metric",
    "broken": "it does not answer as the float model does; do not use it",
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
        "check that samples are prepared as for inference (--scale, --mean, --std, --layout)",
        "calibrate with about 100 samples like those in use",
    ]
    if done.on_low_accuracy == "promote":
        found.append(f"--min-sqnr 20 promotes without limits ({REPAIR.in_words()})")
    else:
        found.append("--on-low-accuracy promote takes int16 and float32 where they help")
    return "what to do: " + "; ".join(found)


def tell_checked(report: Report) -> None:
    """The verdict of `check`."""
    known = [o for o in report.outputs if o.sqnr_db is not None]
    worst = min(known, key=lambda o: o.sqnr_db, default=None)
    changed = 0.0 if report.top1 is None else 1.0 - report.top1.to_json()["agreement"]
    level = level_of(None if worst is None else worst.sqnr_db, changed)
    figures = [] if worst is None else [f"SQNR {in_words(worst.sqnr_db)} at '{worst.name}'"]
    if report.top1 is not None:
        figures.append(f"{changed:.1%} of the answers differ from the float model's")
    if figures:
        _tell(level, f"{', '.join(figures)} on {report.samples} samples")


def _tell(level: Level, figures: str) -> None:
    people.print(f"{level}: {MEANING[level]} ({figures})", style=STYLES[level])
