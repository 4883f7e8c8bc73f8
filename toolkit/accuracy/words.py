"""An explanation in the few lines that an engineer reads."""

from __future__ import annotations

from ..decibels import in_words
from .explanation import Explanation, LayerCost


def summary(e: Explanation) -> list[str]:
    """What it costs and which layers above all, the costliest first."""
    lines = [
        f"SQNR at the outputs {in_words(e.sqnr_db)}; weights alone {in_words(e.weights_only_db)}, "
        f"activations alone {in_words(e.activations_only_db)}"
    ]
    return lines + costs(e)


def costs(e: Explanation) -> list[str]:
    """The layers above all, a line each, and what they make together."""
    lines = [sentence(c) for c in e.worst()]
    if e.worst_int16_db is not None and len(lines) > 1:
        lines.append(
            f"16-bit activations for these {len(lines)} together: {e.worst_int16_db:+.1f} dB"
        )
    advice = " ".join(c.advice for c in e.worst())
    if e.worst_int16_db is not None or "16-bit" in advice or "float" in advice:
        lines.append("16-bit and float layers are chosen by quantize --min-sqnr or --max-drop")
    return lines


def sentence(cost: LayerCost) -> str:
    """A layer, its part of the loss, why, and what would help."""
    share = "" if cost.share is None else f", {cost.share:.0%} of the loss"
    seen = f" ({cost.seen})" if cost.seen else ""
    advice = f"; {cost.advice}" if cost.advice else ""
    return f"{cost.type} '{cost.name}'{share}: {cost.cause}{seen}{advice}{gain(cost)}"


def gain(cost: LayerCost) -> str:
    """What the outputs gain by the remedy, " (+1.2 dB)"; nothing if that is unknown or none."""
    if cost.gain_db is None or cost.gain_db < 0.05:
        return ""
    return f" ({'' if cost.measured else 'about '}{cost.gain_db:+.1f} dB)"
