"""The steps from one mix of precisions to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...ops import definition
from ..scheme.options import Options
from ..scheme.plan import Plan
from ..scheme.precision import INT8, OF_4_BITS, Precision
from ..scheme.quantizable_groups import Unit, can_be_int4, problem
from ..scheme.shared_scales import Group


@dataclass(frozen=True)
class Setting:
    """What a mix asks for: int16, precision and int4_group of Options; `weights` says which of a
    bench's roundings its weights are."""

    int16: frozenset[str]
    precision: frozenset[tuple[str, Precision]]
    group: int = 0
    weights: int = 0

    @staticmethod
    def of(options: Options) -> Setting:
        return Setting(options.int16, frozenset(options.precision.items()), options.int4_group)

    def apply(self, options: Options) -> Options:
        precision = dict(sorted(self.precision))
        return replace(options, int16=self.int16, precision=precision, int4_group=self.group)

    @property
    def has_int4(self) -> bool:
        return any(p == "int4" for _, p in self.precision)

    def has_4_bits(self, move: Move) -> bool:
        """Whether weights that `move` is about are 4-bit."""
        asked = dict(self.precision)
        return move.to != "int16" and any(asked.get(t) == "int4" for t in move.tensors)

    def with_moves(self, moves: Iterable[Move]) -> Setting:
        """As it becomes by one move after the other."""
        int16, precision = set(self.int16), dict(self.precision)
        for move in moves:
            if move.to == "int16":
                int16.update(move.tensors)
            elif move.to == "int8":
                int16.difference_update(move.beside)
                for name in move.tensors:
                    precision.pop(name, None)
            else:
                precision.update(dict.fromkeys(move.tensors, move.to))
        return replace(self, int16=frozenset(int16), precision=frozenset(precision.items()))


@dataclass(frozen=True)
class Move:
    """Tensors that become int16, or what makes them float32, of 4-bit weights, or int8 again.

    `nodes` are those that make the tensors: (operator, name). `beside` a node without weights on
    float32 are the tensors whose rounding it saves; beside what is int8 again, those that were
    int16.
    """

    to: Precision
    tensors: tuple[str, ...]
    nodes: tuple[tuple[str, str], ...]
    beside: tuple[str, ...] = ()


def find_moves(plan: Plan) -> list[Move]:
    """Every single step from a plan that is mostly int8, by kind, in order of execution."""
    return [*_int16_moves(plan), *_unit_moves(plan), *_back(plan)]


def _int16_moves(plan: Plan) -> Iterator[Move]:
    """A tensor on int16 gains where both its maker and a reader can be."""
    outputs = plan.outputs
    for group in plan.sharing.groups:
        if group.dtype != INT8:
            continue
        touching = _touching(plan, group)
        able = [u for u in touching if problem(u, "int16", plan.refused) is None]
        members = set(group.members)
        made = members & {v for u in able for v in u.outputs}
        made |= members & {p.value for p in plan.graph.inputs}
        read = members & {v for u in able for v in u.inputs} | members & outputs
        if made and read:
            makers = [u for u in touching if members & set(u.outputs)]
            yield Move(
                "int16",
                tuple(v.name for v in group.members),
                tuple(u.label for u in makers) or (("input", group.members[0].name),),
            )


def _touching(plan: Plan, group: Group) -> list[Unit]:
    members = set(group.members)
    return [u for u in plan.units if u.integer and members & {*u.inputs, *u.outputs}]


def _unit_moves(plan: Plan) -> Iterator[Move]:
    """Weights of fewer bits; float32 where weights, or a lack of int16, may be what costs."""
    for unit in plan.units:
        if not unit.integer:
            continue
        names = tuple(v.name for v in unit.outputs)
        weighted = unit.chain is None and definition(unit.node.op).weight is not None
        if can_be_int4(unit, plan.refused) and unit.precision not in OF_4_BITS:
            yield Move("int4", names, (unit.label,))
        if weighted or problem(unit, "int16", plan.refused) is not None:
            beside = () if weighted else tuple(v.name for v in [*unit.inputs, *unit.outputs])
            yield Move("float32", names, (unit.label,), beside)


def _back(plan: Plan) -> Iterator[Move]:
    """To int8 what was made otherwise by choice: 4-bit weights node by node, the rest at once."""
    asked = plan.options.precision
    for unit in plan.units:
        if unit.precision in OF_4_BITS:
            yield Move("int8", tuple(v.name for v in unit.outputs), (unit.label,))
    real, wide = sorted(n for n, p in asked.items() if p == "float32"), sorted(plan.options.int16)
    if real or wide:
        others = {*real, *wide}
        made = [u for u in plan.units if not others.isdisjoint(v.name for v in u.outputs)]
        yield Move("int8", tuple(real), tuple(u.label for u in made), tuple(wide))


def without(moves: Iterable[Move], some: Iterable[Move]) -> list[Move]:
    """The moves but for some."""
    gone = set(some)
    return [m for m in moves if m not in gone]


def joined(moves: Sequence[Move]) -> Move:
    """Moves of one kind as one."""
    return Move(
        moves[0].to,
        tuple(t for m in moves for t in m.tensors),
        tuple(n for m in moves for n in m.nodes),
        tuple(t for m in moves for t in m.beside),
    )
