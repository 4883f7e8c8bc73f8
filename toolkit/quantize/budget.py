"""What a model may lose and take, and what was found within that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import UserError
from .precision import Precision


@dataclass(frozen=True)
class Budget:
    """Limits on a quantized model; those that are None do not count.

    max_drop   top-1 that may be lost against the float model, in points (of 100)
    min_sqnr   SQNR in dB that the outputs must keep, averaged over them as Score.mean_db
    max_bytes  of the file
    max_arena  of the memory for activations, in bytes
    """

    max_drop: float | None = None
    min_sqnr: float | None = None
    max_bytes: int | None = None
    max_arena: int | None = None

    def __post_init__(self) -> None:
        if self.max_drop is not None and not 0 <= self.max_drop <= 100:
            raise UserError(f"max_drop is {self.max_drop}; give points of top-1, 0 to 100")
        if self.min_sqnr is not None and not math.isfinite(self.min_sqnr):
            raise UserError(f"min_sqnr is {self.min_sqnr}; give decibels, 30 for example")
        for name in ("max_bytes", "max_arena"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name} is {value}; give 1 byte or more")

    def given(self) -> dict[str, float]:
        """The limits that count, by name."""
        return {k: v for k, v in asdict(self).items() if v is not None}

    def __str__(self) -> str:
        words = {
            "max_drop": "at most {:g} points of top-1 lost",
            "min_sqnr": "at least {:g} dB",
            "max_bytes": "a file of at most {:,} bytes",
            "max_arena": "an arena of at most {:,} bytes",
        }
        return ", ".join(words[k].format(v) for k, v in self.given().items())

    def holds(self, file_bytes: int, arena_bytes: int) -> bool:
        """Whether a file of these sizes is within the limits."""
        return (self.max_bytes is None or file_bytes <= self.max_bytes) and (
            self.max_arena is None or arena_bytes <= self.max_arena
        )


@dataclass(frozen=True)
class Point:
    """One mix of precisions: what it takes, what it keeps, and what is not int8 in it.

    `drop` is top-1 lost, in points; None where it was not needed, as for all without such a limit.
    """

    file_bytes: int
    arena_bytes: int
    sqnr_db: float
    drop: float | None
    what: str

    def dominates(self, other: Point) -> bool:
        """No worse in size, memory and noise, and better in one of them."""
        mine = (self.file_bytes, self.arena_bytes, -self.sqnr_db)
        its = (other.file_bytes, other.arena_bytes, -other.sqnr_db)
        return mine != its and all(a <= b for a, b in zip(mine, its, strict=True))


@dataclass(frozen=True)
class Mixed:
    """What the search found: `met` or not, `chosen` is the best.

    `pareto` has the mixes tried that no other beats, besides `chosen` and `int8`. `nodes` are those
    that are not int8, by name of the node.
    """

    budget: Budget
    met: bool
    chosen: Point
    int8: Point
    pareto: list[Point]
    nodes: Mapping[str, Precision]
    trials: int

    def to_json(self) -> dict[str, Any]:
        """As documented for `quantize --json`."""
        told = asdict(self)
        told["budget"] = self.budget.given()
        told["budget_met"] = told.pop("met")
        return told


def pareto(points: list[Point], always: list[Point]) -> list[Point]:
    """The points that no other dominates, and `always`, each once, by growing file and arena."""
    best = [p for p in points if not any(q.dominates(p) for q in points)]
    distinct = {(p.file_bytes, p.arena_bytes, p.sqnr_db): p for p in [*best, *always]}
    return sorted(distinct.values(), key=lambda p: (p.file_bytes, p.arena_bytes))
