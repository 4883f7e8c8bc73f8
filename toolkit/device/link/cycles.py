"""What each operator takes on a board, by its own counter."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...files import read_edge
from ...format.describe import macs, op_type
from ...format.reader import read
from ..bench import random_inputs
from .board import BoardSession, open_board


@dataclass(frozen=True)
class OpCycles:
    """One operator."""

    name: str
    operator: str
    cycles: int
    macs: int


@dataclass(frozen=True)
class Cycles:
    """Of one inference, the transfer of inputs and outputs not among them."""

    target: str
    cycles_per_inference: int
    ops: list[OpCycles]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def count_cycles(model: str | Path, target: str) -> Cycles:
    """Run one inference on random inputs of a fixed seed. Raises UserError, too where the board
    counts no cycles or makes other bytes than this machine."""
    found = read(read_edge(model), str(model))
    with open_board(target) as board:
        if not board.greeting.counts_cycles:
            raise UserError(
                f"{target}: the board does not count cycles; set `cycles` of its ek_link to a "
                "function that reads a counter, such as DWT->CYCCNT"
            )
        session = BoardSession(model, board)
        session.run_raw(random_inputs(found))
    ops = [
        OpCycles(name, op_type(found, op), n, macs(op.kind, op.params))
        for name, op, n in zip(found.op_names, found.ops, session.cycles, strict=True)
    ]
    return Cycles(target, sum(session.cycles), ops)
