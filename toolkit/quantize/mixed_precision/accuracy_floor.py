"""The floor that a quantization keeps by default: below it precisions are mixed, within limits.

A good quantization (quality.py) stays as it is. First the tensors that the outputs are made of are
tried on int16, where that takes next to nothing. A broken one gets the cheapest mix that is good, a
usable one if that takes next to nothing too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ...numerics import FLOAT32, INT16, W8A16, Precision
from ...progress import Progress
from ..budget import Budget
from ..quality import Quality
from ..ranges.followed import follows_an_input
from ..result import Quantized
from ..scheme.macs import macs_of
from .criteria import Criteria
from .evaluator import Evaluator, Pack
from .outcome import outcome
from .precision_change import Configuration, PrecisionAssignment, PrecisionChange
from .search import PrecisionSearch

MOST_OUTPUT_STEPS = 5
"""Changes from the outputs back that are tried on int16 without need of a search."""
LEAST_DOUBT = 0.01
"""The share of answers that must be in doubt no more for an output to be on int16."""
TAIL_GAIN_DB = 3.0
"""What outputs must gain to be on int16 like tensors before them: half of the noise."""
FEW_IN_DOUBT = 2.5
"""Samples whose answers are in doubt, of which so few may be chance."""
SMALL_WORK = 1_000_000
"""A model of so little work is searched until few answers differ: that takes a second."""


@dataclass(frozen=True)
class Growth:
    """What promotion may add to int8: shares of its bytes, arena and work, and as much as is
    nothing."""

    file: float
    arena: float
    work: float
    least_bytes: int
    least_arena: int
    least_work: int

    def limits(self, file: int, arena: int, work: int) -> tuple[int, int, int]:
        return (
            file + max(int(self.file * file), self.least_bytes),
            arena + max(int(self.arena * arena), self.least_arena),
            work + max(int(self.work * work), self.least_work),
        )

    def in_words(self) -> str:
        return (
            f"file +{self.file:.0%} or {self.least_bytes:,} bytes, "
            f"arena +{self.arena:.0%} or {self.least_arena:,} bytes, "
            f"instructions +{self.work:.0%} or {self.least_work:,}"
        )


FREE = Growth(0.02, 0.0, 0.02, 1 << 10, 512, 20_000)
REPAIR = Growth(0.5, 1.0, 1.0, 4 << 10, 4 << 10, 1_000_000)
"""What a quantization may take that is not good, and one that is broken."""


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
    """What was taken off int8 for the floor: the quality before and after, and what it costs.

    `nodes` are how many operators are on other than int8, by precision. `limits` says what it might
    cost at most.
    """

    before: Quality
    after: Quality
    int8: Cost
    chosen: Cost
    nodes: dict[str, int]
    limits: str

    def to_json(self) -> dict[str, Any]:
        """As documented for --json."""
        qualities = {"before": self.before.to_json(), "after": self.after.to_json()}
        return asdict(self) | qualities

    def __str__(self) -> str:
        total = ", ".join(f"{n} to {precision}" for precision, n in self.nodes.items())
        return f"Promoted operators: {total}. Cost: {self.chosen.over(self.int8)}"


class FloorCriteria(Criteria):
    """Good by quality.py, within `growth` of what the base of `evaluator` takes; `strict`: with few
    answers that differ, too.

    A whole float file that is no larger than int8's may take the arena and time that it does: it is
    exact. A larger one may where it keeps the limits, as other mixes do.
    """

    def __init__(self, evaluator: Evaluator, growth: Growth, strict: bool = False) -> None:
        self.strict = strict
        base = evaluator.base
        size = evaluator.size(base)
        self.file, self.arena, self.work = growth.limits(
            size.storage, size.memory, evaluator.work(base)
        )
        super().__init__(Budget(), evaluator)

    def _fits(self, assignment: PrecisionAssignment) -> bool:
        evaluator = self.evaluator
        no_larger = evaluator.size(assignment).storage <= evaluator.size(evaluator.base).storage
        return (no_larger and evaluator.is_float(assignment)) or self.within(assignment)

    def within(self, assignment: PrecisionAssignment) -> bool:
        """Whether it keeps every limit."""
        file, arena, _ = self.evaluator.size(assignment)
        fits = file <= self.file and arena <= self.arena
        return fits and self.evaluator.work(assignment) <= self.work

    def loss(self, configuration: Configuration) -> float:
        self.remember(configuration)
        return self.evaluator.quality(configuration.assignment).loss(self.strict)

    def _distance(self, assignment: PrecisionAssignment) -> tuple[float, float]:
        quality = self.evaluator.quality(assignment)
        return quality.loss(self.strict), -self.evaluator.score(assignment).mean_db


def quality_of(done: Quantized, pack: Pack, progress: Progress) -> Quality:
    """That of a quantization as it is."""
    evaluator = _evaluator(done, pack, progress)
    return evaluator.quality(evaluator.base)


def _evaluator(done: Quantized, pack: Pack, progress: Progress) -> Evaluator:
    """Which knows what `done` has, and judges each half by weights rounded for the other if it
    does."""
    evaluator = Evaluator(done, pack, None, done.held_out, progress)
    evaluator.know(evaluator.base, done.score)
    return evaluator


def keep_floor(
    done: Quantized,
    pack: Pack,
    progress: Progress,
    *,
    rounding: str = "auto",
    fast: bool = False,
) -> tuple[Quantized, Promotion | None, Quality]:
    """`done`, or what was promoted of it to be good, and how good that is.

    Where nothing within the limits is, the best that was found is taken if it is better. `fast`:
    what is usable stays so, and of what is broken tensors are promoted from the outputs back, no
    change measured by itself.
    """
    evaluator = _evaluator(done, pack, progress)
    start = Configuration(evaluator.base)
    before = evaluator.quality(start.assignment)
    found, growth = _wide_outputs(evaluator, start), FREE
    reasons = dict.fromkeys(found.changes, "closer to the float model at next to no cost")
    quality = evaluator.quality(found.assignment)
    small = macs_of(done.floats) <= SMALL_WORK
    below = quality.level == "broken" if fast else quality.level != "good"
    searched = below and quality.loss(small) > 1.0
    if searched and (floats := _free_float(evaluator, start)) is not None:
        found, searched = floats, False
    if searched:
        growth = REPAIR if quality.level == "broken" else FREE
        criteria = FloorCriteria(evaluator, growth, strict=small)
        criteria.remember(found)
        search = PrecisionSearch(evaluator, criteria, 0, rounding != "nearest", progress)
        orders = [output_changes(evaluator, kind) for kind in (W8A16, FLOAT32)] if fast else []
        found = search.first_look(orders) if fast else search.run()
        reasons |= search.reasons
    if not found.changes:
        return done, None, before
    criteria = FloorCriteria(evaluator, growth)
    whole = outcome(evaluator, criteria, found, reasons, as_done=not searched)
    after = evaluator.quality(found.assignment)
    after = replace(after, chosen=before.level == "usable" and before.changes_too_many)
    nodes = dict[str, int]()
    assert whole.mixed is not None
    for precision in whole.mixed.nodes.values():
        nodes[precision] = nodes.get(precision, 0) + 1
    promotion = Promotion(
        before,
        after,
        _cost(evaluator, start),
        _cost(evaluator, found),
        nodes,
        growth.in_words(),
    )
    return replace(whole, mixed=None), promotion, after


def _free_float(evaluator: Evaluator, start: Configuration) -> Configuration | None:
    """The whole network on float32 where that takes next to nothing more and is good: small tables
    of numbers need no search."""
    whole = start.plus(evaluator.changes_to(FLOAT32))
    if not FloorCriteria(evaluator, FREE).within(whole.assignment):
        return None
    return whole if evaluator.quality(whole.assignment).level == "good" else None


def _cost(evaluator: Evaluator, configuration: Configuration) -> Cost:
    assignment = configuration.assignment
    size = evaluator.size(assignment)
    return Cost(size.storage, size.memory, evaluator.work(assignment))


def _wide_outputs(evaluator: Evaluator, start: Configuration) -> Configuration:
    """The tensors that the outputs are made of on int16, from the outputs back, while answers that
    are in doubt become fewer and it takes next to nothing. Where that is not good, on float32 if it
    leaves fewer in doubt: weights of int8 may make two classes alike, too."""
    start, before = (
        _without_int8_tail(evaluator, start),
        _doubt(evaluator.quality(start.assignment)),
    )
    if before < LEAST_DOUBT:
        return start
    criteria, best, least = FloorCriteria(evaluator, FREE), start, before
    for kind in (W8A16, FLOAT32):
        row = list[PrecisionChange](start.changes)
        for change in output_changes(evaluator, kind)[:MOST_OUTPUT_STEPS]:
            row.append(change)
            tried = start.plus(row)
            if not criteria.fits(tried):
                break
            now = _doubt(evaluator.quality(tried.assignment))
            if now <= least - LEAST_DOUBT:
                best, least = tried, now
        if evaluator.quality(best.assignment).level == "good":
            break
    return best


def _without_int8_tail(evaluator: Evaluator, start: Configuration) -> Configuration:
    """The outputs, and what they are made of, on int16 behind tensors on int16, where int8 between
    makes most of the error: that takes next to nothing. So too where an output follows an input:
    int8 has few steps for the rest, and clips where other samples reach further."""
    trials = evaluator.trials
    wide = any(group.dtype == INT16 for group in evaluator.plan(start.assignment).groups)
    if not wide and not follows_an_input(trials.points, trials.kept):
        return start
    criteria, best, row = FloorCriteria(evaluator, FREE), start, list[PrecisionChange]()
    for change in output_changes(evaluator)[:MOST_OUTPUT_STEPS]:
        row.append(change)
        tried = start.plus(row)
        if criteria.fits(tried):
            score, before = (evaluator.score(c.assignment) for c in (tried, best))
            if (
                score.surpasses(before, TAIL_GAIN_DB)
                and score.mean_db > before.mean_db + TAIL_GAIN_DB
            ):
                best = tried
    return best


def _doubt(quality: Quality) -> float:
    """The share of answers in doubt: where they are few samples, that to be expected of others."""
    a = quality.answers
    if a is None:
        return 0.0
    return a.chance if a.in_doubt * quality.samples < FEW_IN_DOUBT else max(a.in_doubt, a.chance)


def output_changes(evaluator: Evaluator, to: Precision = W8A16) -> list[PrecisionChange]:
    """The changes of the outputs to `to`, and of what they are made of, nearest first."""
    graph = evaluator.done.plan.graph
    made_by, waiting = graph.producers(), [p.value for p in graph.outputs]
    place: dict[str, int] = {}
    while waiting:
        v = waiting.pop(0)
        if v.name not in place:
            place[v.name] = len(place)
            waiting += made_by[v].dynamic_inputs if v in made_by else []
    changes = evaluator.changes_to(to)
    first = {c: min((place[t] for t in c.tensors if t in place), default=None) for c in changes}
    known = [(at, i) for i, c in enumerate(changes) if (at := first[c]) is not None]
    return [changes[i] for _, i in sorted(known)]
