"""What mixes of precisions take and keep: files packed and run, each once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np

from ..format.reader import read
from ..ir import Graph
from ..progress import Progress
from .budget import Point
from .calibrate import KeptSample
from .contributions import Contributions, Noise
from .grid import Rounded
from .moves import Move, Setting, find_moves
from .optimize import Quantized, macs_of
from .plan import Plan
from .precision import Precision
from .rounding import round_weights
from .trial import Score, Trials

WORK = 4e11
"""Multiply-accumulates that measuring single steps may take."""
MAX_MEASURED = 400
FEWEST_SAMPLES = 4

Pack = Callable[[Graph], bytes]
"""The .edge file of a quantized graph, which may be changed by it."""
Drop = Callable[[bytes], float]
"""What a file loses against the float model by a metric, in the unit of the limit."""

RoundedWeights = Mapping[tuple[str, int], Rounded]
"""As Options.rounded."""

WORDS: dict[Precision, str] = {
    "int16": "16x8",
    "int4": "with 4-bit weights",
    "float32": "in float32",
    "int8": "int8",
}


class Bench:
    """Measures settings of one quantization. `moves` are the single steps from it.

    Weights that are rounded for what layers make fit the samples that they are rounded for. So with
    `held_out` every other sample rounds, and those between judge; `final` then rounds for all.
    Without, scores flatter, and what weights serve is judged by the drop alone.
    4-bit weights are the nearest until `round_int4`; those `rounded_for` one setting are those of
    all that share its `weights`.
    """

    def __init__(
        self, done: Quantized, pack: Pack, drop: Drop | None, held_out: bool, progress: Progress
    ) -> None:
        self.done, self._pack, self._drop, self.progress = done, pack, drop, progress
        self.held_out = held_out
        kept = done.calibration.kept
        self.rounding, judging = (kept[::2], kept[1::2] or kept) if held_out else (kept, kept)
        self.trials = Trials(replace(done.calibration, kept=judging))
        self.base = Setting.of(done.options)
        self.moves = find_moves(done.plan)
        self._afford(max(macs_of(done.floats), 1))
        self.sizes: dict[Setting, tuple[int, int]] = {}
        self.scores: dict[Setting, Score] = {}
        self.drops: dict[Setting, float] = {}
        self._known: dict[bytes, float] = {}
        self.rounded: dict[int, RoundedWeights] = {}
        self.roundings: list[RoundedWeights] = [{}]
        self._contributions: dict[int, Contributions] = {}
        self.as_done = done.options.rounded
        if held_out and self.as_done:
            self.as_done = self._round(done.plan, self.rounding)

    def _afford(self, macs: int) -> None:
        """How many measurements of single steps there may be, and the samples for them."""
        self.measurable = max(min(MAX_MEASURED, int(WORK / (macs * FEWEST_SAMPLES))), 1)
        steps = max(min(len(self.moves), self.measurable), 1)
        samples = max(int(WORK / (macs * steps)), FEWEST_SAMPLES)
        self.few = self.trials.on(min(samples, len(self.trials.kept)))

    def plan(self, setting: Setting) -> Plan:
        some = self.rounded.get(setting.group, {})
        rounded = {**self.as_done, **some, **self.roundings[setting.weights]}
        options = replace(setting.apply(self.done.options), rounded=rounded)
        return self.done.plan.mixed(options)

    def round_int4(self, group: int) -> None:
        """Round weights of 4 bits, in groups of so many, for what layers make, if that gains."""
        setting = self._all("int4", group)
        before = self.score(setting)
        found = self._round(self.plan(setting), self.rounding)
        self.rounded[group] = {key: r for key, r in found.items() if key[1] == 4}
        after = self.trials.score(self.plan(setting), self.done.ranges)
        if after.mean_db > before.mean_db:
            self.scores[setting] = after
        else:
            del self.rounded[group]

    def rounded_for(self, setting: Setting, anew: bool) -> Setting:
        """The setting with its weights rounded for itself, if it gains; else itself.

        Those are rounded that are not the nearest, or all: `anew`.
        """
        plan = self.plan(setting)
        if not plan.options.rounded and not anew:
            return setting
        self.roundings.append(self._round(plan, self.rounding, anew))
        other = replace(setting, weights=len(self.roundings) - 1)
        if self.held_out:
            gains = self.score(other).mean_db > self.score(setting).mean_db
        else:
            gains = self.drop(other) < self.drop(setting)
        return other if gains else setting

    def final(self, setting: Setting) -> Plan:
        """The plan of a setting, its weights rounded for all samples."""
        if setting == self.base:
            return self.done.plan
        plan = self.plan(setting)
        if self.held_out and plan.options.rounded:
            plan = plan.with_rounded(self._round(plan, self.done.calibration.kept))
        return plan

    def _round(
        self, plan: Plan, samples: Sequence[KeptSample], anew: bool = False
    ) -> RoundedWeights:
        """As `plan` has rounded weights, for these samples; `anew`: all."""
        inputs = [s.inputs for s in samples]
        method = self.done.rounding
        found = round_weights(plan, self.done.ranges, inputs, self.progress, method)
        known = plan.options.rounded
        return {k: rounded for k, rounded in found.items() if anew or k in known or k[1] == 4}

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
            data = self.file(self.plan(setting))
            self.sizes[setting] = len(data), read(data).memory.arena_bytes
        return self.sizes[setting]

    def alone(self, move: Move, group: int) -> tuple[Noise, Noise]:
        """The noise of what `move` changes, as it is before and after, all else exact."""
        zero = np.zeros(len(self.few.probes))
        if group not in self._contributions:
            both: tuple[Precision, ...] = ("int8", "int4")
            weights = {p: self.plan(self._all(p, group)) for p in both}
            made = Contributions(self.done.plan, weights, self.done.ranges, self.few)
            self._contributions[group] = made
        noise = self._contributions[group]
        if move.to == "int16":
            return noise.of_tensors(move.tensors), zero
        asked = dict(self.base.precision)
        if move.to == "int8" and any(asked.get(t) != "int4" for t in move.tensors):
            after = self.few.score(self.plan(self.base.with_moves([move])), self.done.ranges)
            return zero, after.noise.sum(axis=1)
        four = any(asked.get(t) == "int4" for t in move.tensors)
        before = noise.of_weights(move.tensors, "int4" if four else "int8")
        if move.to == "float32":
            return before + noise.of_tensors(move.beside), zero
        return before, noise.of_weights(move.tensors, move.to)

    def score(self, setting: Setting) -> Score:
        if setting not in self.scores:
            self.scores[setting] = self.trials.score(self.plan(setting), self.done.ranges)
        return self.scores[setting]

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
        self.sizes[setting] = len(data), read(data).memory.arena_bytes
        if self._drop is not None:
            self.drops[setting] = self._judged(data)

    def point(self, setting: Setting) -> Point:
        """What is known of a setting."""
        score, drop = self.scores.get(setting), self.drops.get(setting)
        db = None if score is None else round(score.mean_db, 2)
        return Point(*self.size(setting), db, drop, _in_words(self.plan(setting)))


def _in_words(plan: Plan) -> str:
    units = [u for u in plan.units if u.precision is not None]
    counts = {p: sum(u.precision == p for u in units) for p in WORDS}
    parts = [
        f"{'all' if counts[p] == len(units) else counts[p]} {WORDS[p]}"
        for p in ("int16", "int4", "float32")
        if counts[p]
    ]
    return ", ".join(parts) or "all int8"
