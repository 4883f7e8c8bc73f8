"""What mixes of precisions take and keep: files packed and run, each once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import numpy as np

from ...format.reader import read
from ...ir import Graph
from ...progress import Progress
from ..budget import Point
from ..ranges.candidate_evaluation import Score, Trials
from ..result import Quantized
from ..scheme.macs import macs_of
from ..scheme.plan import Plan
from ..scheme.precision import Precision
from .cross_validation import Roundings
from .noise_contributions import Contributions, Noise
from .precision_change import Move, Setting, find_moves

WORK = 4e11
"""Multiply-accumulates that measuring single steps may take."""
MAX_MEASURED = 400
FEWEST_SAMPLES = 4

Pack = Callable[[Graph], bytes]
"""The .edge file of a quantized graph, which may be changed by it."""
Drop = Callable[[bytes], float]
"""What a file loses against the float model by a metric, in the unit of the limit."""

WORDS: dict[Precision, str] = {
    "int16": "16x8",
    "int16x4": "16x4",
    "int4": "with 4-bit weights",
    "float32": "in float32",
    "int8": "int8",
}


class Bench:
    """Measures settings of one quantization. `moves` are the single steps from it.

    Weights that are rounded for what layers make fit the samples that they are rounded for. So with
    `held_out` each half of the samples judges those that are rounded for the other
    (cross_validation.py); files are made of those for the first, and `final` rounds for all.
    Without, scores flatter, and what weights serve is judged by the drop alone.
    """

    def __init__(
        self, done: Quantized, pack: Pack, drop: Drop | None, held_out: bool, progress: Progress
    ) -> None:
        self.done, self._pack, self._drop = done, pack, drop
        self.weights = Roundings(done, held_out, progress)
        self.held_out = len(self.weights.parts) > 1
        self.trials = Trials(done.calibration)
        self.base = Setting.of(done.options)
        self.moves = find_moves(done.plan)
        self._afford(max(macs_of(done.floats), 1))
        self.sizes: dict[Setting, tuple[int, int]] = {}
        self.words: dict[Setting, str] = {}
        self.scores: dict[Setting, Score] = {}
        self.drops: dict[Setting, float] = {}
        self._known: dict[bytes, float] = {}
        self._contributions: dict[int, Contributions] = {}

    def _afford(self, macs: int) -> None:
        """How many measurements of single steps there may be, and the samples for them."""
        self.measurable = max(min(MAX_MEASURED, int(WORK / (macs * FEWEST_SAMPLES))), 1)
        steps = max(min(len(self.moves), self.measurable), 1)
        samples = max(int(WORK / (macs * steps)), FEWEST_SAMPLES)
        _, judging = self.weights.parts[0]
        kept = self.done.calibration.kept[judging]
        judges = Trials(replace(self.done.calibration, kept=kept))
        self.few = judges.on(min(samples, len(kept)))

    def plan(self, setting: Setting) -> Plan:
        return self.weights.plan(setting)

    def round_int4(self, group: int) -> None:
        """Round weights of 4 bits, in groups of so many, for what layers make, if that gains."""
        setting = self._all("int4", group)
        before = self.score(setting)
        self.weights.keep_int4(setting)
        after = self._measured(setting)
        if after.mean_db > before.mean_db:
            self.scores[setting] = after
        else:
            del self.weights.int4[group]

    def rounded_for(self, setting: Setting, anew: bool) -> Setting:
        """The setting with its weights rounded for itself, if it gains; else itself, as where
        nothing judges them: neither samples held out nor a drop.

        Those are rounded that are not the nearest, or all: `anew`.
        """
        judged = self.held_out or self._drop is not None
        if not judged or not (anew or self.plan(setting).options.rounded):
            return setting
        other = self.weights.add(setting, anew)
        if self.held_out:
            gains = self.score(other).mean_db > self.score(setting).mean_db
        else:
            gains = self.drop(other) < self.drop(setting)
        return other if gains else setting

    def final(self, setting: Setting) -> Plan:
        """The plan of a setting, its weights rounded for all samples."""
        return self.done.plan if setting == self.base else self.weights.final(setting)

    def _all(self, to: Precision, group: int) -> Setting:
        """The base after all moves to int4, or from it."""
        base = replace(self.base, group=group)
        if to == "int4":
            return base.with_moves(m for m in self.moves if m.to == "int4")
        return replace(base, precision=frozenset(p for p in base.precision if p[1] != "int4"))

    def file(self, plan: Plan) -> bytes:
        return self._pack(plan.emit(self.done.ranges)[0])

    def size(self, setting: Setting) -> tuple[int, int]:
        """(bytes of the file, of the arena)."""
        if setting not in self.sizes:
            plan = self.plan(setting)
            self._note(setting, plan, self.file(plan))
        return self.sizes[setting]

    def _note(self, setting: Setting, plan: Plan, data: bytes) -> None:
        """Keep what the file `data` of a plan takes and has; packing may have changed the plan."""
        self.sizes[setting] = len(data), read(data).memory.arena_bytes
        self.words[setting] = _in_words(plan)

    def alone(self, move: Move, start: Setting) -> tuple[Noise, Noise]:
        """The noise of what `move` changes of `start`, as before it and after, all else exact."""
        zero = np.zeros(len(self.few.probes))
        noise = self._contributions_of(start.group)
        if move.to == "int16":
            return noise.of_tensors(move.tensors), zero
        four = start.has_4_bits(move)
        if move.to == "int8" and not four:
            after = self.few.score(self.plan(start.with_moves([move])), self.done.ranges)
            return zero, after.noise.sum(axis=1)
        before = noise.of_weights(move.tensors, "int4" if four else "int8")
        if move.to == "float32":
            return before + noise.of_tensors(move.beside), zero
        return before, noise.of_weights(move.tensors, move.to)

    def _contributions_of(self, group: int) -> Contributions:
        """Those of weights that have groups of so many where they are 4-bit."""
        if group not in self._contributions:
            both: tuple[Precision, ...] = ("int8", "int4")
            weights = {p: self.plan(self._all(p, group)) for p in both}
            made = Contributions(self.done.plan, weights, self.done.ranges, self.few)
            self._contributions[group] = made
        return self._contributions[group]

    def score(self, setting: Setting) -> Score:
        if setting not in self.scores:
            self.scores[setting] = self._measured(setting)
        return self.scores[setting]

    def _measured(self, setting: Setting) -> Score:
        """Each sample by weights that are not rounded for it, where they are held out."""
        plan, ranges = self.plan(setting), self.done.ranges
        if not self.weights.differ(plan):
            return self.trials.score(plan, ranges)
        score = Score(
            np.zeros((len(self.trials.probes), len(self.trials.kept))), self.trials.signal
        )
        for i, (_, judging) in enumerate(self.weights.parts):
            graph, _ = self.weights.plan(setting, i).emit(ranges)
            score.noise[:, judging] = self.trials.noise(graph, judging)
        return score

    def drop(self, setting: Setting) -> float:
        if setting not in self.drops:
            self.drops[setting] = self._judged(self.file(self.plan(setting)))
        return self.drops[setting]

    def _judged(self, data: bytes) -> float:
        """What a file loses; settings may make the same one."""
        assert self._drop is not None
        key = sha256(data).digest()
        if key not in self._known:
            self._known[key] = self._drop(data)
        return self._known[key]

    def settle(self, setting: Setting, plan: Plan) -> None:
        """Measure the file that `plan` makes as that of a setting."""
        data = self.file(plan)
        self._note(setting, plan, data)
        if self._drop is not None:
            self.drops[setting] = self._judged(data)

    def point(self, setting: Setting) -> Point:
        """What is known of a setting."""
        score, drop = self.scores.get(setting), self.drops.get(setting)
        db = None if score is None else round(score.mean_db, 2)
        return Point(*self.size(setting), db, drop, self.words[setting])


def _in_words(plan: Plan) -> str:
    units = [u for u in plan.units if u.precision is not None]
    counts = {p: sum(u.precision == p for u in units) for p in WORDS}
    parts = [
        f"{'all' if counts[p] == len(units) else counts[p]} {WORDS[p]}"
        for p in WORDS
        if counts[p] and p != "int8"
    ]
    return ", ".join(parts) or "all int8"
