"""Which sizes of the accelerator run a model fastest on a board, by the estimate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...toolkit.errors import UserError
from ...toolkit.files import read_edge
from ...toolkit.format.describe import macs
from ...toolkit.format.model import EdgeModel
from ...toolkit.format.reader import read
from .boards import Board, board_of
from .config import SIZES, Config
from .estimate import FILL_CYCLES
from .loops import loops_of

FILLED = 0.8
"""Of a board's blocks that may be taken: the vendor's shell and routing need some."""
MEMORY = "memory"


@dataclass(frozen=True)
class Layer:
    """`bound`: the stage that turns most often, or "memory" where the bytes that it reads and
    writes take longer. `host` says why the accelerator does not run it."""

    name: str
    operator: str
    cycles: int
    bound: str
    bytes: int
    macs_per_cycle: float
    host: str


@dataclass(frozen=True)
class Point:
    """A configuration on a board; `milliseconds` without the host's part and transfers."""

    vec: int
    lanes: int
    multipliers: int
    memories: int
    fits: bool
    cycles: int
    milliseconds: float
    bound: str  # what most of the cycles wait for
    layers: list[Layer]


@dataclass(frozen=True)
class Exploration:
    """All configurations, the fastest first, those that fit before those that do not."""

    board: str
    title: str
    clock_hz: float
    bandwidth: float
    multipliers: int
    memories: int
    source: str
    points: list[Point]

    @property
    def best(self) -> Point:
        return self.points[0]

    def front(self) -> Iterator[Point]:
        """Those that fit and that none beats in both time and multipliers."""
        fewest = None
        for p in self.points:
            if p.fits and (fewest is None or p.multipliers < fewest):
                fewest = p.multipliers
                yield p

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def traffic(stages: Mapping[str, int], c: Config) -> int:
    """Bytes between the accelerator and the board's memory in one operator."""
    weights = stages["weights"] * c.vec * c.lanes
    return stages["read"] * c.word + weights + stages["write"] * c.lanes


def explore(model: str | Path, board: str) -> Exploration:
    """Estimate `model` in every size of the accelerator on a board. Raises UserError for a board
    that is not known, and for a model of which no operator runs there."""
    found = board_of(board)
    parsed = read(read_edge(model), str(model))
    points = [_point(parsed, Config.sized(v, n), found) for v in SIZES for n in SIZES]
    if not any(p.cycles for p in points):
        raise UserError(f"{model}: no operator runs on the accelerator: it takes int8 layers")
    points.sort(key=lambda p: (not p.fits, p.cycles, p.multipliers))
    return Exploration(
        board,
        found.title,
        found.clock,
        found.bandwidth,
        found.multipliers,
        found.memories,
        found.source,
        points,
    )


def _point(model: EdgeModel, c: Config, board: Board) -> Point:
    layers = list(_layers(model, c, board))
    waits: dict[str, int] = {}
    for layer in layers:
        waits[layer.bound] = waits.get(layer.bound, 0) + layer.cycles
    cycles = sum(layer.cycles for layer in layers)
    multipliers, memories = board.family.multipliers(c), board.family.memories(c)
    fits = multipliers <= FILLED * board.multipliers and memories <= FILLED * board.memories
    return Point(
        c.vec,
        c.lanes,
        multipliers,
        memories,
        fits,
        cycles,
        round(cycles / board.clock * 1e3, 4),
        max(waits, key=lambda w: waits[w]),
        layers,
    )


def _layers(model: EdgeModel, c: Config, board: Board) -> Iterator[Layer]:
    for name, op, stages in zip(model.op_names, model.ops, loops_of(model, c), strict=True):
        if isinstance(stages, str):
            yield Layer(name, op.kind.name, 0, "", 0, 0.0, stages)
            continue
        moved = traffic(stages, c)
        turns = {**stages, MEMORY: -int(-moved // board.bytes_per_cycle)}
        bound = max(turns, key=lambda s: turns[s])
        cycles = turns[bound] + FILL_CYCLES
        rate = round(macs(op.kind, op.params) / cycles, 2)
        yield Layer(name, op.kind.name, cycles, bound, moved, rate, "")


__all__ = ["Exploration", "Layer", "Point", "explore", "traffic"]
