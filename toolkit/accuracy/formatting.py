"""An explanation in the few lines that an engineer reads."""

from __future__ import annotations

from ..decibels import in_words
from .explanation import Explanation, LayerCost

MAIN = 0.1
"""A layer with less of the error than this is no cause of all of it."""
CANCELLED_DB = 0.5
"""Difference from which a part of the quantization is clearly noisier than all of it."""


def summary(e: Explanation) -> list[str]:
    """What it costs and which layers above all, the costliest first."""
    lines = [
        f"Output SQNR on {e.samples} sample{'s' * (e.samples != 1)}: {in_words(e.sqnr_db)}; "
        f"{parts(e)}"
    ]
    return lines + costs(e)


def parts(e: Explanation) -> str:
    """What each half of the quantization leaves, on the samples of the explanation."""
    weights, activations = e.weights_only_db, e.activations_only_db
    told = f"weights only {in_words(weights)}, activations only {in_words(activations)}"
    less = min(weights, activations) < e.sqnr_db - CANCELLED_DB
    return f"{told} (their errors partly cancel)" if less else told


def costs(e: Explanation) -> list[str]:
    """The layers above all, a line each, and what they make together."""
    lines = [sentence(c) for c in e.worst()]
    narrow = [f"'{c.name}'" for c in e.worst_narrow()]
    advice = " ".join(c.advice for c in e.worst())
    how = "For more int16 and float32 layers, use quantize --min-sqnr or --max-drop"
    if e.worst_int16_db is not None and len(narrow) > 1:
        these = f"these {len(narrow)}" if len(narrow) == len(lines) else " and ".join(narrow)
        gained = f"{e.worst_int16_db:+.1f} dB"
        lines.append(f"16-bit activations for {these} together: {gained}. {how}")
    elif e.worst_int16_db is not None or "16-bit" in advice or "float" in advice:
        lines.append(how)
    return lines


def main_cause(e: Explanation | None) -> list[str]:
    """The costliest layer, or that none was found that costs much; nothing unless explained."""
    if e is None or not (worst := e.worst(1)):
        return []
    share = worst[0].share or 0.0
    if share >= MAIN:
        return [sentence(worst[0])]
    most = f"{worst[0].operator} '{worst[0].name}'"
    return [
        f"no single layer: {most} makes {share:.0%} of the error, every other one measured less"
    ]


def sentence(cost: LayerCost) -> str:
    """A layer, its part of the loss, why, and what would help."""
    share = "" if cost.share is None else f", {cost.share:.0%} of the error"
    seen = f" ({cost.seen})" if cost.seen else ""
    advice = f"; {cost.advice}" if cost.advice else ""
    return f"{cost.operator} '{cost.name}'{share}: {cost.cause}{seen}{advice}{gain(cost)}"


def gain(cost: LayerCost) -> str:
    """What the outputs gain by the remedy, " (+1.2 dB)"; nothing if that is unknown or none."""
    if cost.gain_db is None or cost.gain_db < 0.05:
        return ""
    return f" ({cost.gain_db:+.1f} dB)"
