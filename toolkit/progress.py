"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""progress(stage, steps done, steps in all)"""


def silent(stage: str, done: int, total: int) -> None:
    """Say nothing."""
