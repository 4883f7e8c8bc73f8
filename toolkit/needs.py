"""What a file takes on each target that it can be built for, as `build` prepares it there."""

from __future__ import annotations

from dataclasses import dataclass

from .. import targets
from .format.reader import read
from .format.strip import stripped
from .format.writer import write
from .quantize import Budget
from .retarget import retarget

_SESSION_WORDS, _WORD = 12, 4
"""EK_SESSION_OVERHEAD, in pointers of a 32-bit core."""


@dataclass(frozen=True)
class Need:
    """Bytes of a model on `targets`, which prepare it alike.

    `session_bytes` is the arena, state and the session itself; None where kernels pack the weights
    when a session is made, and the device says how much that takes (ek_session_size). `within` is
    whether the model and its arena are in the budget.
    """

    targets: list[str]
    model_bytes: int
    arena_bytes: int
    session_bytes: int | None
    within: bool


def needs(data: bytes, budget: Budget) -> list[Need]:
    """What the generic file `data` takes on the targets that execute it, by their plans."""
    by_plan: dict[str, list[str]] = {}
    for target in map(targets.load, targets.names()):
        if target.emulator:  # others are this machine
            by_plan.setdefault(target.plan, []).append(target.name)
    generic = stripped(read(data))
    data = write(generic)
    found = []
    for plan, names in sorted(by_plan.items()):
        file = retarget(data, generic, plan) if plan else data
        memory = (read(file) if plan else generic).memory
        session = memory.arena_bytes + memory.persistent_bytes + _SESSION_WORDS * _WORD
        within = budget.holds(len(file), memory.arena_bytes)
        found.append(Need(names, len(file), memory.arena_bytes, session if plan else None, within))
    return sorted(found, key=lambda need: need.targets)


__all__ = ["Need", "needs"]
