"""Mixed precision under a budget: which tensors are int16, which nodes float32 or of 4-bit weights.

What single steps (precision_change.py) change at the outputs is measured alone
(noise_contributions.py, sensitivity.py); that puts the steps in an order by what they bring for
their bytes. Then only whole files count, packed and run: the shortest row of steps in that order
that meets the budget, less those that turn out not to be needed. Where that takes float32 for
weights, a shorter row may do with weights rounded for it. How much is tried depends on the model
and the samples alone, so that they give the same file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace

from ...format.reader import read
from ...progress import Progress, silent
from ..budget import Budget, Mixed, pareto
from ..result import Quantized
from ..scheme.options import Decision
from ..scheme.plan import Plan
from ..scheme.precision import Precision, has
from .assignments import Mixes
from .evaluator import WORDS, Bench, Drop, Pack
from .precision_change import Move, Setting, without
from .promotion import MAX_FITTED, Raising
from .sensitivity import Gain
from .subset_selection import picked

GROUPS = (0, 32)
"""So many 4-bit weights have a multiplier: none, whole channels, or 32."""
DEAR = 1.1
"""Times int8's bytes: above, a mix is tried from a plain start too."""


def fit_budget(
    done: Quantized,
    budget: Budget,
    pack: Pack,
    drop: Drop | None = None,
    progress: Progress = silent,
    *,
    rounding: str = "auto",
    judged: int = 0,
    unseen: bool = True,
) -> Quantized:
    """`done` with as much off int8 as `budget` asks for; its `mixed` says what that took.

    Limits of size come first: weights of 4 bits, the least harmful, until they hold. Then steps to
    int16 and float32 within them, until the outputs are good enough. `drop` is needed for max_drop,
    and runs `judged` samples, which are `unseen` if they are not those of calibration. Unless
    `rounding` is "nearest", weights are rounded anew for the mix. Where the budget cannot be met,
    the best that was found.
    """
    data = pack(done.plan.emit(done.ranges)[0])
    shrinks = not budget.holds(len(data), read(data).memory.arena_bytes)
    # What only a drop decides needs no samples held out: other ones judge it.
    judges = budget.max_drop is not None and budget.min_sqnr is None
    rounds = rounding != "nearest"
    known = budget.max_drop is None and done.held_out
    held_out = rounds and (shrinks or known or budget.min_sqnr is not None)
    bench = Bench(done, pack, drop, held_out, progress)
    anew = rounds and (held_out or judges) and (budget.max_drop is None or unseen)
    search = _Search(Mixes(done, budget, bench, progress), judged, anew)
    moves = search.run()
    return search.result(moves)


def is_dear(start: Quantized, found: Quantized) -> bool:
    """Whether the mix `found` is so much larger than int8 that one from a plain start should be
    tried, if `start` was none: one mostly on int16 does not need scaled channels, whose readers'
    weights are uneven, and weights rounded for int8 make up for errors that it does not have."""
    mixed, bits = found.mixed, {bits for _, bits in start.options.rounded}
    if mixed is None or not (start.exponents or (bits == {8} and start.by_halves)):
        return False
    if mixed.budget.max_drop is None and mixed.budget.min_sqnr is None:
        return False
    return not mixed.met or mixed.chosen.file_bytes > DEAR * mixed.int8.file_bytes


def cheaper(one: Quantized, other: Quantized) -> Quantized:
    """Of two mixes for one budget that which meets it, or is the smaller file; with all that was
    tried for both, and the int8 of `one`."""
    assert one.mixed is not None and other.mixed is not None
    best = min(one, other, key=_cost)
    assert best.mixed is not None
    points = [*one.mixed.pareto, *other.mixed.pareto]
    trials = one.mixed.trials + other.mixed.trials
    known = pareto(points, [best.mixed.chosen, one.mixed.int8])
    return replace(
        best, mixed=replace(best.mixed, int8=one.mixed.int8, pareto=known, trials=trials)
    )


def _cost(done: Quantized) -> tuple[bool, float, float]:
    """By which mixes are compared: bytes, then the drop or noise; first of those that miss the
    budget."""
    assert done.mixed is not None
    chosen = done.mixed.chosen
    lost = chosen.drop if chosen.drop is not None else -(chosen.sqnr_db or 0.0)
    if done.mixed.met:
        return False, chosen.file_bytes, lost
    return True, lost, chosen.file_bytes


class _Search:
    def __init__(self, mixes: Mixes, judged: int, anew: bool) -> None:
        self.mixes, self.judged, self.anew = mixes, judged, anew
        self.done, self.budget, self.bench = mixes.done, mixes.budget, mixes.bench

    def run(self) -> list[Move]:
        """The steps to take."""
        moves: list[Move] = []
        self._measure(moves, self.mixes.of("int16"))
        if not self.mixes.holds(moves):
            moves = self._smallest_loss()
        raising = None
        if not self.mixes.good(moves) and self.mixes.holds(moves):
            raising = Raising(self.mixes, moves, self.judged, self.anew)
            moves = raising.run()
        if self.bench.held_out or not self.mixes.good(moves):
            before = self.mixes.base
            nearest = not self.done.options.rounded and before.weights == 0
            self.mixes.round(moves, anew=self.anew and nearest and bool(moves))
            if raising and self.mixes.base != before and self.mixes.good(moves):
                moves = raising.without_needless(moves)
        return moves

    def _measure(self, *ends: list[Move]) -> None:
        """What the whole model is on each precision: the ends of what can be had."""
        for moves in ends:
            self.bench.score(self.mixes.setting(moves))

    def _smallest_loss(self) -> list[Move]:
        """`_shrunk` with the groups of 4-bit weights that serve best."""
        first = self.mixes.base
        found: list[tuple[bool, float, list[Move], Setting, dict[Move, str]]] = []
        for group in (first.group,) if first.has_int4 else GROUPS:
            self.mixes.base, self.mixes.why = replace(first, group=group), {}
            saved = {m: self._saving(m) for m in self.mixes.of("int4", "int8")}
            saved = {m: some for m, some in saved.items() if some > 0}
            if not saved:
                continue
            if self.bench.held_out and self.mixes.of("int4"):
                self.bench.round_int4(group)
            self._measure(self.mixes.of("int4"))
            moves = self._shrunk(saved)
            self.mixes.round(moves)
            db = self.bench.score(self.mixes.setting(moves)).mean_db
            found.append((self.mixes.holds(moves), db, moves, self.mixes.base, self.mixes.why))
        if not found:
            self.mixes.base = first
            return []
        _, _, moves, self.mixes.base, self.mixes.why = max(found, key=lambda f: f[:2])
        return moves

    def _shrunk(self, saved: dict[Move, int]) -> list[Move]:
        """Steps to smaller weights, the least harmful for what they save, until the sizes hold."""
        gains = self.mixes.gains(list(saved), [], lambda _, removed: Gain(removed))
        loss = {m: -gain.noise for m, gain in gains.items()}
        order = sorted(saved, key=lambda m: loss[m] / saved[m])
        fewest = bisect_left(range(len(order)), True, key=lambda n: self.mixes.holds(order[:n]))
        taken = order[:fewest]
        for move in taken:
            # What it costs is measured in the file, whose weights are rounded for it.
            self.mixes.why[move] = f"saves {saved[move]:,} bytes"
        worst = sorted(taken, key=lambda m: -loss[m])
        spared = picked(worst, lambda gone: self.mixes.holds(without(taken, gone)), 1, MAX_FITTED)
        return without(taken, spared)

    def _saving(self, move: Move) -> int:
        """Bytes that the move saves of what is over its limit."""
        before, after = (self.bench.size(self.mixes.setting(some)) for some in ([], [move]))
        limits = self.budget.max_bytes, self.budget.max_arena
        return sum(
            b - a
            for b, a, limit in zip(before, after, limits, strict=True)
            if limit is not None and b > limit
        )

    def result(self, moves: list[Move]) -> Quantized:
        setting = self.mixes.setting(moves)
        plan = self._final(setting)
        graph, decisions = plan.emit(self.done.ranges)
        base, halves = self.bench.base, self.bench.weights.differ(plan)
        if setting == base and self.done.held_out:  # as without a budget
            self.bench.scores[base], halves = self.done.score, True
        score = self.bench.score(setting)
        self.bench.score(base)
        met = self.mixes.holds(moves) and self.mixes.good(moves)
        made = {u.label: u.precision for u in plan.units if u.precision is not None}
        nodes = {name: p for (_, name), p in made.items() if p != "int8"}
        told = (self._decision(m, made) for m in moves if m.to != "float32")
        chosen, int8 = self.bench.point(setting), self.bench.point(base)
        tried = self.bench.scores if self.budget.max_drop is None else self.bench.drops
        trials = self.bench.trials.count + self.bench.few.count
        mixed = Mixed(
            self.budget,
            met,
            chosen,
            int8,
            pareto([self.bench.point(s) for s in tried], [int8, chosen]),
            nodes,
            trials,
            self.bench.held_out,
        )
        return replace(
            self.done,
            graph=graph,
            decisions=[*decisions, *filter(None, told)],
            options=plan.options,
            trials=self.done.trials + trials,
            score=score,
            plan=plan,
            mixed=mixed,
            held_out=halves,
        )

    def _final(self, setting: Setting) -> Plan:
        """The plan with weights rounded for all samples, if its file is within limits as well."""
        plan, rounded = self.bench.plan(setting), self.bench.final(setting)
        held = self._within(setting)
        self.bench.settle(setting, rounded)
        if plan.options.rounded and held and not self._within(setting):
            rounded = plan
            self.bench.settle(setting, plan)
        return rounded

    def _within(self, setting: Setting) -> bool:
        lost = self.bench.drops.get(setting, 0.0)
        return self.budget.holds(*self.bench.size(setting)) and lost <= self.mixes.most_lost

    def _decision(self, move: Move, made: Mapping[tuple[str, str], Precision]) -> Decision | None:
        """What to say of a move, by what the nodes are `made` of; None where others outweigh it."""
        nodes = [n for n in move.nodes if has(made.get(n, move.to), move.to)]
        if not nodes:
            return None
        (op, first), (precision, *others) = nodes[0], [made.get(n, move.to) for n in nodes]
        alike = {p: "others" if p == precision else WORDS[p] for p in dict.fromkeys(others)}
        told = ", ".join(f"{others.count(p)} {words}" for p, words in alike.items())
        what = f"made {WORDS[precision]}" + (f", with {told}" if told else "")
        return Decision(first, op, what, self.mixes.why[move])
