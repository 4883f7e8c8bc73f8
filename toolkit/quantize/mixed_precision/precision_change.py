"""The precision of each tensor and layer, and single changes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...numerics import FLOAT32, INT8, NARROW, W4A8, W8A8, W8A16, Precision
from ...ops import definition
from ..scheme.options import Options
from ..scheme.plan import Plan
from ..scheme.quantizable_groups import QuantizableGroup, can_be_narrow, problem
from ..scheme.shared_scales import ScaleGroup


@dataclass(frozen=True)
class PrecisionAssignment:
    """Precisions of a configuration: wide, precision and weight_group of Options; `weights` is the
    index of the evaluator's rounding."""

    wide: frozenset[str]
    precision: frozenset[tuple[str, Precision]]
    weight_group: int = 0
    weights: int = 0

    @staticmethod
    def of(options: Options) -> PrecisionAssignment:
        return PrecisionAssignment(
            options.wide, frozenset(options.precision.items()), options.weight_group
        )

    def apply(self, options: Options) -> Options:
        precision = dict(sorted(self.precision))
        return replace(options, wide=self.wide, precision=precision, weight_group=self.weight_group)

    @property
    def has_narrow(self) -> bool:
        return any(p in NARROW for _, p in self.precision)

    def has_narrow_weights(self, change: PrecisionChange) -> bool:
        """Whether weights in `change` have fewer than 8 bits."""
        asked = dict(self.precision)
        return change.to != W8A16 and any(asked.get(t) in NARROW for t in change.tensors)

    def with_changes(self, changes: Iterable[PrecisionChange]) -> PrecisionAssignment:
        """The assignment after these changes, in order."""
        wide, precision = set(self.wide), dict(self.precision)
        for change in changes:
            if change.to == W8A16:
                wide.update(change.tensors)
            elif change.to == W8A8:
                wide.difference_update(change.side_tensors)
                for name in change.tensors:
                    precision.pop(name, None)
            else:
                precision.update(dict.fromkeys(change.tensors, change.to))
        return replace(self, wide=frozenset(wide), precision=frozenset(precision.items()))


@dataclass(frozen=True)
class PrecisionChange:
    """Tensors that become int16, or whose nodes become float32, get 4-bit weights, or become int8
    again.

    `nodes` compute the tensors: (operator, name). `side_tensors` are, for a node without weights
    that becomes float32, the tensors that are no longer rounded; for a change back to int8, the
    tensors that were int16.
    """

    to: Precision
    tensors: tuple[str, ...]
    nodes: tuple[tuple[str, str], ...]
    side_tensors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """A precision assignment as changes from `base`, the int8 assignment with a group size for
    4-bit weights and one of the roundings of weights."""

    base: PrecisionAssignment
    changes: tuple[PrecisionChange, ...] = ()

    @property
    def assignment(self) -> PrecisionAssignment:
        return self.base.with_changes(self.changes)

    @property
    def has_float32(self) -> bool:
        return any(c.to == FLOAT32 for c in self.changes)

    def plus(self, changes: Iterable[PrecisionChange]) -> Configuration:
        return replace(self, changes=(*self.changes, *changes))

    def with_weights_of(self, other: PrecisionAssignment) -> Configuration:
        return replace(self, base=replace(self.base, weights=other.weights))


def find_changes(plan: Plan) -> list[PrecisionChange]:
    """All single changes from a plan that is mostly int8, by kind, in order of execution."""
    return [*_wide_changes(plan), *_group_changes(plan), *_changes_back(plan)]


def _wide_changes(plan: Plan) -> Iterator[PrecisionChange]:
    """Changes to int16; they require that the tensor's node and a reader support it."""
    outputs = plan.outputs
    for scale_group in plan.scales.groups:
        if scale_group.dtype != INT8:
            continue
        touching = _touching(plan, scale_group)
        able = [u for u in touching if problem(u, W8A16, plan.refused) is None]
        members = set(scale_group.members)
        made = members & {v for u in able for v in u.outputs}
        made |= members & {p.value for p in plan.graph.inputs}
        read = members & {v for u in able for v in u.inputs} | members & outputs
        if made and read:
            makers = [u for u in touching if members & set(u.outputs)]
            yield PrecisionChange(
                W8A16,
                tuple(v.name for v in scale_group.members),
                tuple(u.label for u in makers) or (("input", scale_group.members[0].name),),
            )


def _touching(plan: Plan, scale_group: ScaleGroup) -> list[QuantizableGroup]:
    members = set(scale_group.members)
    return [u for u in plan.groups if u.integer and members & {*u.inputs, *u.outputs}]


def _group_changes(plan: Plan) -> Iterator[PrecisionChange]:
    """Changes to fewer weight bits, and to float32, in case int16 is not accurate enough."""
    for group in plan.groups:
        if not group.integer:
            continue
        names = tuple(v.name for v in group.outputs)
        weighted = group.chain is None and definition(group.node.op).weight is not None
        if weighted and can_be_narrow(group, 4, plan.refused) and group.weight_bits != 4:
            yield PrecisionChange(W4A8, names, (group.label,))
        side_tensors = () if weighted else tuple(v.name for v in [*group.inputs, *group.outputs])
        yield PrecisionChange(FLOAT32, names, (group.label,), side_tensors)


def _changes_back(plan: Plan) -> Iterator[PrecisionChange]:
    """Changes back to int8: narrow weights node by node, everything else at once."""
    asked = plan.options.precision
    for group in plan.groups:
        if 0 < group.weight_bits < 8 and definition(group.node.op).weight is not None:
            yield PrecisionChange(W8A8, tuple(v.name for v in group.outputs), (group.label,))
    real, wide = sorted(n for n, p in asked.items() if p == FLOAT32), sorted(plan.options.wide)
    if real or wide:
        others = {*real, *wide}
        made = [u for u in plan.groups if not others.isdisjoint(v.name for v in u.outputs)]
        yield PrecisionChange(W8A8, tuple(real), tuple(u.label for u in made), tuple(wide))


def without(
    changes: Iterable[PrecisionChange], some: Iterable[PrecisionChange]
) -> list[PrecisionChange]:
    """The changes without some of them."""
    gone = set(some)
    return [m for m in changes if m not in gone]


def merged(changes: Sequence[PrecisionChange]) -> PrecisionChange:
    """Several changes of one kind as one."""
    return PrecisionChange(
        changes[0].to,
        tuple(t for m in changes for t in m.tensors),
        tuple(n for m in changes for n in m.nodes),
        tuple(t for m in changes for t in m.side_tensors),
    )
