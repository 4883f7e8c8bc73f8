"""Errors for users. Any other exception is a bug in edgekit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class UserError(ValueError):
    """Invalid input: the message names the cause and the remedy."""


class CustomOperatorError(UserError):
    """An error in a custom operator: the message names its file, and for Python its line."""


@dataclass(frozen=True)
class Problem:
    """A reason why a model is not supported."""

    node: str  # the ONNX node's name, or its first output if it has none
    op: str  # ONNX operator
    why: str
    remedy: str = ""

    def __str__(self) -> str:
        tail = f" ({self.remedy})" if self.remedy else ""
        return f"{self.op} '{self.node}': {self.why}{tail}"


class UnsupportedError(UserError):
    """The model is not supported; `problems` lists all reasons."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        groups: dict[tuple[str, str, str], list[Problem]] = {}
        for p in self.problems:
            groups.setdefault((p.op, p.why, p.remedy), []).append(p)
        lines = "\n".join(f"  - {_told(group)}" for group in groups.values())
        super().__init__(
            f"{source}: {len(self.problems)} problem{'s' * (len(self.problems) != 1)}:\n{lines}"
        )


NAMED = 3
"""Nodes that one line names."""


def _told(group: Sequence[Problem]) -> str:
    """Problems of one operator and one reason, on one line."""
    first = group[0]
    if len(group) == 1:
        return str(first)
    names = ", ".join(f"'{p.node}'" for p in group[:NAMED])
    if len(group) > NAMED:
        names += ", ..."
    return str(first).replace(f"{first.op} '{first.node}'", f"{len(group)} {first.op} ({names})", 1)
