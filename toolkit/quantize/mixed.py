"""Mixed precision under a budget: which tensors are int16, which nodes float32 or of 4-bit weights.

What every single step (moves.py) changes at the outputs is measured alone (contributions.py); that
puts the steps in an order by what they bring for their bytes. Then only whole files count, packed
and run: the shortest row of steps in that order that meets the budget, less those that turn out not
to be needed. How much is tried depends on the model's size alone, so the same samples give the same
file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..format.reader import read
from ..progress import Progress, silent
from .bench import WORDS, Bench, Drop, Pack
from .budget import Budget, Mixed, pareto
from .moves import Move, Setting
from .optimize import Quantized, macs_of
from .options import Decision
from .plan import Plan
from .precision import Precision

GROUPS = (0, 32)
"""So many 4-bit weights have a multiplier: none, whole channels, or 32."""
MAX_REFINEMENTS, FEWEST_REFINEMENTS = 32, 4
JUDGING = 1.5e12
"""Multiply-accumulates that refinements may take by judging."""
ROUNDING = 1e-9
"""Part of a limit that differences of metrics may be beyond it, as floats are."""
NODE_BYTES = 64
"""What a node off int8 costs at least: it is slower even where it takes no bytes."""


def fit_budget(
    done: Quantized,
    budget: Budget,
    pack: Pack,
    drop: Drop | None = None,
    progress: Progress = silent,
    *,
    rounding: str = "auto",
    judged: int = 0,
) -> Quantized:
    """`done` with as much off int8 as `budget` asks for; its `mixed` says what that took.

    Limits of size come first: weights of 4 bits, the least harmful, until they hold. Then steps to
    int16 and float32 within them, until the outputs are good enough. `drop` is needed for max_drop,
    and runs `judged` samples. Unless `rounding` is "nearest", weights are rounded anew for the mix.
    Where the budget cannot be met, the best that was found.
    """
    data = pack(done.plan.emit(done.ranges)[0])
    shrinks = not budget.holds(len(data), read(data).memory.arena_bytes)
    rounds = rounding != "nearest" and (shrinks or bool(done.options.rounded))
    # What only a drop decides needs no samples held out: other ones judge it.
    rounds &= shrinks or budget.max_drop is None or budget.min_sqnr is not None
    search = _Search(done, budget, Bench(done, pack, drop, rounds, progress), judged, progress)
    moves = search.run()
    return search.result(moves)


class _Search:
    def __init__(
        self, done: Quantized, budget: Budget, bench: Bench, judged: int, progress: Progress
    ) -> None:
        self.done, self.budget, self.bench, self.judged = done, budget, bench, judged
        self.progress = progress
        self.base = bench.base
        self.most_lost = budget.drop_limit * (1 + ROUNDING)
        self.why: dict[Move, str] = {}
        self.tried: dict[Setting, list[Move]] = {}

    def run(self) -> list[Move]:
        """The steps to take."""
        moves: list[Move] = []
        self._measure(moves, self._of("int16"))
        if not self._holds(moves):
            moves = self._smallest_loss()
        if not self._good(moves) and self._holds(moves):
            moves = self._raised(moves)
        if self.bench.held_out or not self._good(moves):
            self._round(moves)
        return moves

    def _round(self, moves: list[Move]) -> None:
        """Round weights for the mix that these moves make: those for others make up for errors
        that it may not have."""
        if moves:
            self.bench.round_again(self._setting(moves))

    def _measure(self, *ends: list[Move]) -> None:
        """What the whole model is on each precision: the ends of what can be had."""
        for moves in ends:
            self.bench.score(self._setting(moves))

    def _smallest_loss(self) -> list[Move]:
        """`_shrunk` with the groups of 4-bit weights that serve best."""
        groups = (self.base.group,) if self.base.has_int4 else GROUPS
        found: list[tuple[bool, float, list[Move], Setting, dict[Move, str]]] = []
        for group in groups:
            self.base, self.why = replace(self.base, group=group), {}
            if self.bench.held_out and self._of("int4"):
                self.bench.round_int4(group)
            self._measure(self._of("int4"))
            moves = self._shrunk()
            self._round(moves)
            db = self.bench.score(self._setting(moves)).mean_db
            found.append((self._holds(moves), db, moves, self.base, self.why))
        _, _, moves, self.base, self.why = max(found, key=lambda f: f[:2])
        return moves

    def _setting(self, moves: list[Move]) -> Setting:
        return self.base.with_moves(moves)

    def _holds(self, moves: list[Move]) -> bool:
        if self.budget.max_bytes is None and self.budget.max_arena is None:
            return True
        return self.budget.holds(*self.bench.size(self._setting(moves)))

    def _good(self, moves: list[Move]) -> bool:
        setting, wanted = self._setting(moves), self.budget
        self.tried.setdefault(setting, moves)
        if wanted.min_sqnr is not None and self.bench.score(setting).mean_db < wanted.min_sqnr:
            return False
        return wanted.max_drop is None or self.bench.drop(setting) <= self.most_lost

    def _of(self, *kinds: Precision) -> list[Move]:
        return [m for m in self.bench.moves if m.to in kinds]

    def _removed(self, moves: list[Move]) -> dict[Move, float]:
        """By each move: the noise that it takes out, as a part of what the base makes.

        The mean over the outputs, of which mean_db is the logarithm.
        """
        plan = self.bench.plan(self._setting([]))
        base = self.bench.few.score(plan, self.done.ranges).noise.sum(axis=1) + 1e-30
        found: dict[Move, float] = {}
        for i, move in enumerate(moves, 1):
            before, after = self.bench.alone(move, self.base.group)
            found[move] = float(np.mean((before - after) / base)) if len(base) else 0.0
            self.progress("measuring precisions", i, len(moves))
        return found

    def _shrunk(self) -> list[Move]:
        """Steps to smaller weights, the least harmful for what they save, until the sizes hold."""
        moves = self._of("int4", "int8")
        loss = {m: -gain for m, gain in self._removed(moves).items()}
        saved = {m: self._saving(m) for m in moves}
        order = sorted((m for m in moves if saved[m] > 0), key=lambda m: loss[m] / saved[m])
        taken: list[Move] = []
        for move in order:
            if self._holds(taken):
                break
            taken.append(move)
            self.why[move] = f"it saves {saved[move]} bytes and makes {loss[move]:.1%} more noise"
        for move in sorted(taken, key=lambda m: -loss[m]):
            without = [m for m in taken if m is not move]
            if self._holds(without):
                taken = without
        return taken

    def _saving(self, move: Move) -> int:
        """Bytes that the move saves of what is over its limit."""
        before, after = self.bench.size(self._setting([])), self.bench.size(self._setting([move]))
        limits = self.budget.max_bytes, self.budget.max_arena
        return sum(
            b - a
            for b, a, limit in zip(before, after, limits, strict=True)
            if limit is not None and b > limit
        )

    def _raised(self, taken: list[Move]) -> list[Move]:
        """With the fewest steps to int16 and float32 that make the outputs good, if any do."""
        moves = self._of("int16", "float32")
        if self.base.has_int4:
            moves += self._of("int8")
        removed = self._removed(moves)
        now = self.bench.size(self._setting(taken))
        worth: dict[Move, float] = {}
        for move in moves:
            then = self.bench.size(self._setting([*taken, move]))
            cost = sum(max(b - a, 0) for a, b in zip(now, then, strict=True)) + NODE_BYTES
            worth[move] = removed[move] / cost
            self.why[move] = f"int8 makes {removed[move]:.1%} of the noise there"
        order = sorted((m for m in moves if removed[m] > 0), key=lambda m: -worth[m])
        steps = self._that_hold(taken, order)
        good = self._shortest(taken, steps)
        if good is None:
            good = self._good_end(taken, worth)
        if good is None:
            return self._closest(taken, steps)
        offers = [good, *self._of_fewer_kinds(taken, steps)]
        return self._without_needless(taken, min(offers, key=lambda m: self._cost(taken, m)), worth)

    def _of_fewer_kinds(self, taken: list[Move], steps: list[Move]) -> Iterator[list[Move]]:
        """The fewest first steps without float32, and of one precision alone, where those do:
        by what single steps bring, an order of all kinds may reach for the dearest too early."""
        for kinds in ("int8", "int16"), ("int8",), ("int16",):
            some = [m for m in steps if m.to in kinds]
            if some and len(some) < len(steps) and self._good([*taken, *some]):
                yield self._halved(taken, some)

    def _cost(self, taken: list[Move], steps: list[Move]) -> int:
        """Bytes of file and arena."""
        return sum(self.bench.size(self._setting([*taken, *steps])))

    def _that_hold(self, taken: list[Move], order: list[Move]) -> list[Move]:
        """The moves in this order, but those that break a limit of size where they come."""
        steps: list[Move] = []
        for move in order:
            if self._holds([*taken, *steps, move]):
                steps.append(move)
        return steps

    def _shortest(self, taken: list[Move], steps: list[Move]) -> list[Move] | None:
        """The fewest first steps that are good; None if all of them are not."""
        if not self._good([*taken, *steps]):
            self._round([*taken, *steps])
            if not self._good([*taken, *steps]):
                return None
        return self._halved(taken, steps)

    def _halved(self, taken: list[Move], steps: list[Move]) -> list[Move]:
        """The fewest first steps that are within the limits, by bisection; all of them are."""
        low, high = 0, len(steps)  # `low` is not good, `high` is
        while high - low > 1:
            middle = (low + high) // 2
            some = [*taken, *steps[:middle]]
            if self._holds(some) and self._good(some):
                high = middle
            else:
                low = middle
        return steps[:high]

    def _without_needless(
        self, taken: list[Move], steps: list[Move], worth: dict[Move, float]
    ) -> list[Move]:
        """Without the steps, tried from the least worth on, that the others can do without.

        So many at once as could be spared last time, twice that when they can be, else half.
        """
        order = sorted(steps, key=lambda m: worth[m])
        at, size, tries = 0, max(len(order) // 4, 1), self._refinements()
        for i in range(tries):
            if at >= len(order):
                break
            spared = order[at : at + size]
            without = [m for m in steps if m not in spared]
            if self._holds([*taken, *without]) and self._good([*taken, *without]):
                steps, at, size = without, at + len(spared), 2 * size
            elif len(spared) > 1:
                size = len(spared) // 2
            else:
                at += 1
            self.progress("removing what is not needed", i + 1, tries)
        return [*taken, *steps]

    def _refinements(self) -> int:
        """How many mixes may be tried, by what judging one takes."""
        if self.judged == 0:
            return MAX_REFINEMENTS
        affordable = int(JUDGING / (self.judged * max(macs_of(self.done.floats), 1)))
        return min(max(affordable, FEWEST_REFINEMENTS), MAX_REFINEMENTS)

    def _good_end(self, taken: list[Move], worth: dict[Move, float]) -> list[Move] | None:
        """The first steps to int16, or to float32 as well, if all of them hold and are good."""
        for steps in self._of("int16"), self._of("int16", "float32"):
            if self._holds([*taken, *steps]) and self._good([*taken, *steps]):
                return self._halved(taken, sorted(steps, key=lambda m: -worth[m]))
        return None

    def _closest(self, taken: list[Move], steps: list[Move]) -> list[Move]:
        """The best of what was not good."""
        offers = [taken, [*taken, *steps], [*taken, *self._of("int16")], *self.tried.values()]
        return min(filter(self._holds, offers), key=self._distance)

    def _distance(self, moves: list[Move]) -> tuple[float, float]:
        """How bad a choice is: what the metric loses if that counts, then noise."""
        setting = self._setting(moves)
        if self.budget.max_drop is not None and setting not in self.bench.scores:
            return self.bench.drop(setting), 0.0
        lost = 0.0 if self.budget.max_drop is None else self.bench.drop(setting)
        return lost, -self.bench.score(setting).mean_db

    def result(self, moves: list[Move]) -> Quantized:
        setting = self._setting(moves)
        plan = self._final(setting)
        graph, decisions = plan.emit(self.done.ranges)
        score = self.bench.score(setting)
        self.bench.score(self.base)
        met = self._holds(moves) and self._good(moves)
        nodes: dict[str, Precision] = {}
        for u in plan.units:
            if u.precision not in (None, "int8"):
                nodes[u.nodes[-1].name or u.nodes[-1].output.name] = u.precision
        chosen, int8 = self.bench.point(setting), self.bench.point(self.base)
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
        )
        return replace(
            self.done,
            graph=graph,
            decisions=[*decisions, *(self._decision(m) for m in moves if m.to != "float32")],
            options=plan.options,
            trials=self.done.trials + trials,
            sqnr_db=score.mean_db,
            plan=plan,
            mixed=mixed,
        )

    def _final(self, setting: Setting) -> Plan:
        """The plan with weights rounded for all samples, if its file is within limits as well."""
        plan, rounded = self.bench.plan(setting), self.bench.final(setting)
        self.bench.settle(setting, rounded)
        if plan.options.rounded and not self._within(setting):
            rounded = plan
            self.bench.settle(setting, plan)
        return rounded

    def _within(self, setting: Setting) -> bool:
        lost = self.bench.drops.get(setting, 0.0)
        return self.budget.holds(*self.bench.size(setting)) and lost <= self.most_lost

    def _decision(self, move: Move) -> Decision:
        (op, first), others = move.nodes[0], len(move.nodes) - 1
        what = f"made {WORDS[move.to]}" + (f", with {others} others" if others else "")
        return Decision(first, op, what, self.why[move])
