"""What mixes of precisions take and keep: files packed and run, each once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..format.reader import read
from ..ir import Graph
from .budget import Point
from .contributions import Contributions, Noise
from .moves import Move, Setting, find_moves, in_blocks
from .optimize import Quantized, macs_of
from .plan import Plan
from .precision import Precision
from .trial import Score, Trials

WORK = 3e11
"""Multiply-accumulates that measuring all single steps may take."""
MAX_MOVES = 400
FEWEST_SAMPLES = 4

Pack = Callable[[Graph], bytes]
"""The .edge file of a quantized graph, which may be changed by it."""
Drop = Callable[[bytes], float]
"""Top-1 that a file loses against the float model, in points."""

WORDS: dict[Precision, str] = {
    "int16": "16x8",
    "int4": "with 4-bit weights",
    "float32": "in float32",
    "int8": "int8",
}


class Bench:
    """Measures settings of one quantization. `moves` are the single steps from it."""

    def __init__(self, done: Quantized, pack: Pack, drop: Drop | None) -> None:
        self.done, self._pack, self._drop = done, pack, drop
        self.base = Setting.of(done.options)
        self.trials = Trials(done.calibration)
        self.moves = self._affordable(find_moves(done.plan))
        self.sizes: dict[Setting, tuple[int, int]] = {}
        self.scores: dict[Setting, Score] = {}
        self.drops: dict[Setting, float] = {}

    def _affordable(self, moves: list[Move]) -> list[Move]:
        """The moves, made few enough to measure each, and the samples for that."""
        kept, macs = self.done.calibration.kept, max(macs_of(self.done.floats), 1)
        moves = in_blocks(moves, min(MAX_MOVES, int(WORK / (macs * FEWEST_SAMPLES))))
        samples = max(int(WORK / (macs * max(len(moves), 1))), FEWEST_SAMPLES)
        self.few = self.trials.on(min(samples, len(kept)))
        self.contributions = Contributions(self.done.plan, self.done.ranges, self.few)
        return moves

    def plan(self, setting: Setting) -> Plan:
        return self.done.plan.mixed(setting.int16, dict(sorted(setting.precision)))

    def file(self, setting: Setting) -> bytes:
        return self._pack(self.plan(setting).emit(self.done.ranges)[0])

    def size(self, setting: Setting) -> tuple[int, int]:
        """(bytes of the file, of the arena)."""
        if setting not in self.sizes:
            data = self.file(setting)
            self.sizes[setting] = len(data), read(data).memory.arena_bytes
        return self.sizes[setting]

    def alone(self, move: Move) -> tuple[Noise, Noise]:
        """The noise of what `move` changes, as it is before and after, all else exact."""
        zero = np.zeros(len(self.few.probes))
        if move.to == "int16":
            return self.contributions.of_tensors(move.tensors), zero
        if move.to == "int8":
            return zero, self.few.score(
                self.done.plan.mixed(frozenset(), {}), self.done.ranges
            ).noise.sum(axis=1)
        before = self.contributions.of_weights(move.tensors, 8)
        if move.to == "int4":
            return before, self.contributions.of_weights(move.tensors, 4)
        return before + self.contributions.of_tensors(move.beside), zero

    def score(self, setting: Setting) -> Score:
        if setting not in self.scores:
            self.scores[setting] = self.trials.score(self.plan(setting), self.done.ranges)
        return self.scores[setting]

    def drop(self, setting: Setting) -> float:
        assert self._drop is not None
        if setting not in self.drops:
            self.drops[setting] = self._drop(self.file(setting))
        return self.drops[setting]

    def point(self, setting: Setting) -> Point:
        drop = self.drops.get(setting)
        what = _in_words(self.plan(setting))
        return Point(*self.size(setting), round(self.score(setting).mean_db, 2), drop, what)


def _in_words(plan: Plan) -> str:
    units = [u for u in plan.units if u.precision is not None]
    counts = {p: sum(u.precision == p for u in units) for p in WORDS}
    parts = [
        f"{'all' if counts[p] == len(units) else counts[p]} {WORDS[p]}"
        for p in ("int16", "int4", "float32")
        if counts[p]
    ]
    return ", ".join(parts) or "all int8"
