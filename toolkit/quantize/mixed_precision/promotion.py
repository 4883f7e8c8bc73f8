"""What the accuracy floor changed: the quality before and after, and the cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..quality import Quality


@dataclass(frozen=True)
class Cost:
    """Bytes of file and arena, and instructions in those of an int8 multiply-accumulate."""

    file_bytes: int
    arena_bytes: int
    work: int

    def over(self, other: Cost) -> str:
        """What this takes more than `other`, in words."""
        return (
            f"file {self.file_bytes - other.file_bytes:+,} bytes "
            f"({_percent(self.file_bytes, other.file_bytes)}), "
            f"arena {self.arena_bytes - other.arena_bytes:+,} bytes "
            f"({_percent(self.arena_bytes, other.arena_bytes)}), "
            f"instructions about {_percent(self.work, other.work)}"
        )


def _percent(now: int, before: int) -> str:
    return f"{100 * (now - before) / max(before, 1):+.1f} %"


@dataclass(frozen=True)
class Promotion:
    """A promotion from int8: the quality before and after, and the cost.

    `nodes` is the number of operators by precision other than int8; `limits` describes the limits
    on the cost. `weights_alone`: 8-bit weights alone break the model, so all tensors are int16, and
    weights were rounded for them.
    """

    before: Quality
    after: Quality
    int8: Cost
    chosen: Cost
    nodes: dict[str, int]
    limits: str
    weights_alone: bool = False

    def to_json(self) -> dict[str, Any]:
        """As documented for --json."""
        qualities = {"before": self.before.to_json(), "after": self.after.to_json()}
        return asdict(self) | qualities

    def __str__(self) -> str:
        total = ", ".join(f"{n} to {precision}" for precision, n in self.nodes.items())
        return f"Promoted operators: {total}. Cost: {self.chosen.over(self.int8)}"
