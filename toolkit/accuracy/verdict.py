"""The verdict on a file in words: is it any good, why not, what was done, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from ..quantize.mixed_precision.accuracy_floor import REPAIR
from ..quantize.mixed_precision.promotion import Promotion
from ..quantize.quality import Level, OnLowAccuracy, Quality
from ..quantize.ranges.samples_needed import FEW

MEANING: dict[Level, str] = {
    "good": "matches the float model",
    "usable": "close to the float model; check it with your metric",
    "broken": "does not match the float model; do not use it",
}


def headline(level: Level, figures: str) -> str:
    return f"{level}: {MEANING[level]} ({figures})"


def verdict(
    quality: Quality,
    judging: str,
    causes: Sequence[str],
    promotion: Promotion | None,
    on_low_accuracy: OnLowAccuracy | None,
    fast: bool = False,
) -> list[str]:
    """The lines on a quantization, judged on the samples `judging`: the verdict first.

    `on_low_accuracy` is None with a budget, which decides what is promoted; `fast` is its effort.
    """
    lines = [headline(quality.level, f"{quality.in_words()} on {judging}")]
    if quality.level != "good":
        own = [] if quality.measured == "good" else causes
        lines += [f"cause: {cause}" for cause in [*_doubts(quality), *own]]
    if promotion is not None:
        before = promotion.before
        lines.append(f"{promotion}; int8 alone: {before.level}, {before.in_words()}")
    if quality.level == "broken" and on_low_accuracy is not None:
        lines.append(_remedies(on_low_accuracy, fast))
    return lines


def judged_on(samples: int, kept: int, held_out: bool) -> str:
    """The samples that the figures are of: `kept` of `samples`, as Quantized of quantize_result has
    them."""
    how = ", cross-validated" if held_out else ", which ranges and weights are fitted to"
    some = "" if kept == samples else f"{kept} of "
    several = "calibration sample" if samples == 1 else f"{samples} calibration samples"
    return f"{some}the {several}{how}"


def _doubts(quality: Quality) -> list[str]:
    """Why the samples say too little of others."""
    count = quality.samples if quality.samples < FEW else quality.calibration
    few = [_too_few(count)] if quality.few and quality.measured == "good" else []
    return few or [of.in_words() for of in quality.one_sided]


def _too_few(samples: int) -> str:
    count = "one calibration sample says" if samples == 1 else f"{samples} calibration samples say"
    return f"{count} too little of other inputs; use about 100"


def _remedies(on_low_accuracy: OnLowAccuracy, fast: bool) -> str:
    first = ["--effort default also rounds weights and searches other ranges"] if fast else []
    found = [
        *first,
        "check the preprocessing of the samples (--scale, --mean, --std, --layout)",
        "calibrate with about 100 representative samples",
    ]
    if on_low_accuracy == "promote":
        found.append(f"--min-sqnr 20 promotes without these limits ({REPAIR.in_words()})")
    else:
        found.append("--on-low-accuracy promote uses int16 and float32 where they help")
    return "Remedies: " + "; ".join(found)
