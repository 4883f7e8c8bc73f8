"""Signal to noise, in decibels and in words."""

from __future__ import annotations

import math

EXACT_DB = 300.0
"""No noise at all: a number, since JSON has no infinity, that no other ratio reaches."""
_MOST_DB = 299.0


def ratio_db(signal: float, noise: float) -> float:
    """Signal to noise in dB, of their energies.

    EXACT_DB without noise; the least there is, -EXACT_DB, for noise without signal.
    """
    if math.isnan(signal + noise):
        return math.nan
    if noise == 0.0:
        return EXACT_DB
    if signal == 0.0:
        return -EXACT_DB
    db = 10 * (math.log10(signal) - math.log10(noise))
    return max(-_MOST_DB, min(db, _MOST_DB))


def level(db: float | None) -> str:
    """A ratio without its unit, "exact" without noise, "-inf" if that is infinite or all there is;
    nothing where there is none."""
    if db is None:
        return ""
    if db <= -_MOST_DB:
        return "-inf"
    return "exact" if db >= EXACT_DB else f"{db:.1f}"


def in_words(db: float | None) -> str:
    """As `level`, with the unit."""
    text = level(db)
    return text if text in ("", "exact") else f"{text} dB"
