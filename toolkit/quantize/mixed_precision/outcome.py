"""The configuration found by a search, as the result of a quantization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...numerics import FLOAT32, W8A8, Precision
from ..budget import Mixed, pareto
from ..result import Quantized
from ..scheme.options import Decision
from ..scheme.plan import Plan
from .criteria import Criteria
from .evaluator import Evaluator
from .precision_change import Configuration, PrecisionAssignment, PrecisionChange


def outcome(
    evaluator: Evaluator,
    criteria: Criteria,
    found: Configuration,
    reasons: Mapping[PrecisionChange, str],
) -> Quantized:
    """The quantization in the configuration `found` with weights rounded for all samples, and what
    the search for it has measured."""
    whole = applied(evaluator, criteria, found, reasons)
    assignment, base = found.assignment, evaluator.base
    evaluator.score(base)
    met = criteria.fits(found) and criteria.is_good(found)
    chosen, int8 = evaluator.point(assignment), evaluator.point(base)
    tried = evaluator.scores if criteria.budget.max_drop is None else evaluator.drops
    mixed = Mixed(
        criteria.budget,
        met,
        chosen,
        int8,
        pareto([evaluator.point(a) for a in tried], [int8, chosen]),
        precisions_of(whole.plan),
        evaluator.trials.count + evaluator.few.count,
        evaluator.held_out,
    )
    return replace(whole, trials=evaluator.done.trials + mixed.trials, mixed=mixed)


def applied(
    evaluator: Evaluator,
    criteria: Criteria,
    found: Configuration,
    reasons: Mapping[PrecisionChange, str],
    *,
    as_done: bool = False,
) -> Quantized:
    """The quantization in the configuration `found` with weights rounded for all samples; with
    `as_done` with the weights of int8."""
    done, assignment, base = evaluator.done, found.assignment, evaluator.base
    plan = _final_plan(evaluator, criteria, assignment, as_done)
    graph, decisions = plan.emit(done.ranges)
    held_out = evaluator.weights.differ(plan)
    if assignment == base and done.held_out:  # as without a budget
        evaluator.know(base, done.score)
        held_out = True
    score = evaluator.score(assignment)
    made = {g.label: g.precision for g in plan.groups if g.precision is not None}
    reported = (decision_of(c, made, reasons[c]) for c in found.changes if c.to != FLOAT32)
    return replace(
        done,
        graph=graph,
        decisions=[*decisions, *filter(None, reported)],
        options=plan.options,
        trials=done.trials + evaluator.trials.count + evaluator.few.count,
        score=score,
        plan=plan,
        by_halves=done.by_halves if assignment == base else evaluator.weights.by_halves(assignment),
        held_out=held_out,
    )


def precisions_of(plan: Plan) -> dict[str, Precision]:
    """The precision of each node that is not int8, by name."""
    made = {g.label: g.precision for g in plan.groups if g.precision is not None}
    return {name: p for (_, name), p in made.items() if p != W8A8}


def _final_plan(
    evaluator: Evaluator, criteria: Criteria, assignment: PrecisionAssignment, as_done: bool
) -> Plan:
    """The plan with weights rounded for all samples, unless only with those of a fold its file is
    within the limits."""

    def is_within() -> bool:
        lost = evaluator.drops.get(assignment, 0.0)
        return criteria.budget.holds(evaluator.size(assignment)) and lost <= criteria.max_drop

    plan, rounded = evaluator.plan(assignment), evaluator.final(assignment, as_done)
    evaluator.settle(assignment, rounded)
    if not plan.options.rounded or is_within():
        return rounded
    evaluator.settle(assignment, plan)
    if is_within():
        return plan
    evaluator.settle(assignment, rounded)
    return rounded


def decision_of(
    change: PrecisionChange, made: Mapping[tuple[str, str], Precision], why: str
) -> Decision | None:
    """The decision for a change, given the precisions `made`; None if other changes override it."""
    nodes = [n for n in change.nodes if made.get(n, change.to).has(change.to)]
    if not nodes:
        return None
    (op, first), (precision, *others) = nodes[0], [made.get(n, change.to) for n in nodes]
    counts = {p: others.count(p) for p in dict.fromkeys(others)}
    same = "other" if counts.get(precision) == 1 else "others"
    listed = ", ".join(
        f"{n} {same if p == precision else p.after_count}" for p, n in counts.items()
    )
    what = f"made {precision.label}" + (f", with {listed}" if listed else "")
    return Decision(first, op, what, why)
