"""Tensors that share one quantization.

Operators that only move or select elements require it for inputs and output. If that would make the
steps of an input too coarse for its other readers, a table requantizes that input instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...ir import QuantParams, Value
from ...numerics import INT8, INT16, INTEGERS, DType
from ...ops import definition
from .given import given_as
from .options import Range, Ranges
from .qparams import widen, width
from .quantizable_groups import QuantizableGroup

SHARE_RATIO = {INT8: 0.6, INT16: 1 / 16}
"""Tensors whose ranges reach this part of their union share it: it costs them at most 0.74 bits of
8, or 4 of 16.
"""

Edge = tuple[QuantizableGroup, int]


@dataclass(eq=False)
class ScaleGroup:
    """Tensors of one quantization, in order of execution.

    `readers` are those that something reads which may clip or scale them: only their ranges count,
    for what the others hold is only moved into them. A tensor that is read as int8 and as int16 is
    in two groups.
    """

    dtype: DType
    members: list[Value] = field(default_factory=list)
    readers: list[Value] = field(default_factory=list)
    fixed: QuantParams | None = None


@dataclass(eq=False)
class SharedScales:
    groups: list[ScaleGroup]
    requantized: set[Edge]


class _Sets:
    """Disjoint sets of values, each known by its first member."""

    def __init__(self, values: Iterable[Value]) -> None:
        self.parent = {v: v for v in values}
        self.members = {v: [v] for v in self.parent}

    def find(self, v: Value) -> Value:
        while self.parent[v] is not v:
            self.parent[v] = v = self.parent[self.parent[v]]
        return v

    def union(self, a: Value, b: Value) -> None:
        top, other = self.find(a), self.find(b)
        if top is not other:
            self.parent[other] = top
            self.members[top] += self.members.pop(other)


def share_scales(
    groups: list[QuantizableGroup],
    outputs: Iterable[Value],
    ranges: Ranges,
    held: Mapping[Value, DType] | None = None,
) -> SharedScales:
    """The scale groups of the tensors that integer groups read and make; `outputs` are the
    graph's, and `held` the types that ports are to have."""
    outputs, held = set(outputs), held or {}
    found = SharedScales([], set())
    for dtype in INTEGERS:
        ports = [v for v in held if held[v] == dtype]
        of_type = _Solver(groups, dtype, outputs, ranges, ports).solve()
        found.groups += of_type.groups
        found.requantized |= of_type.requantized
    return found


class _Solver:
    def __init__(
        self,
        groups: list[QuantizableGroup],
        dtype: DType,
        outputs: set[Value],
        ranges: Ranges,
        held: Sequence[Value] = (),
    ) -> None:
        self.ranges, self.dtype = ranges, dtype
        self.groups = [u for u in groups if u.dtype == dtype]
        read = (v for u in self.groups for v in u.inputs + u.outputs)
        self.values = list(dict.fromkeys((*read, *held)))
        self.sets = _Sets(self.values)
        self.fixed: dict[Value, QuantParams] = {}
        self.requantized: set[Edge] = set()
        self.outside = outputs | {v for u in groups if u.dtype != dtype for v in u.inputs}
        self.readers: dict[Value, list[Edge]] = {v: [] for v in self.values}
        for u in self.groups:
            for i, x in enumerate(u.node.inputs):
                if x is not None and x in self.readers:
                    self.readers[x].append((u, i))

    def solve(self) -> SharedScales:
        for u in self.groups:
            quant = None if u.chain else definition(u.node.op).fixed_output(u.node, self.dtype)
            if quant is not None:
                self.fixed[u.node.output] = quant
        for v in self.values:
            if v.quant is not None:
                self.fixed[v] = given_as(v.quant, self.dtype)
        shared = [u for u in self.groups if u.shared and u.outputs]
        for u in shared:
            if len(u.inputs) == 1 and not self.at_odds(u.inputs[0], u.outputs[0]):
                self.union(u.inputs[0], u.outputs[0])
        for u in shared:
            for v in dict.fromkeys(u.inputs):
                self.join(u, v)
        return self.result()

    def union(self, a: Value, b: Value) -> None:
        fixed = self.fixed_of(a) or self.fixed_of(b)
        self.sets.union(a, b)
        if fixed is not None:
            self.fixed[self.sets.find(a)] = fixed

    def at_odds(self, a: Value, b: Value) -> bool:
        """Whether they have two quantizations that nobody may change."""
        return len({self.fixed_of(a), self.fixed_of(b)} - {None}) == 2

    def fixed_of(self, v: Value) -> QuantParams | None:
        return self.fixed.get(self.sets.find(v))

    def join(self, group: QuantizableGroup, v: Value) -> None:
        """Let `v`, read by `group`, have the quantization of its output, or be requantized."""
        out = group.outputs[0]
        if self.sets.find(v) is self.sets.find(out):
            return
        if self.may_share(group, v, out):
            self.union(v, out)
        else:
            self.requantized |= {(group, i) for i, x in enumerate(group.node.inputs) if x is v}

    def may_share(self, group: QuantizableGroup, v: Value, out: Value) -> bool:
        fixed = {self.fixed_of(v), self.fixed_of(out)} - {None}
        if self.at_odds(v, out):
            return False
        if v.quant is not None and out.quant is not None:
            return True
        mine, its = self.range_of(v, without=group), self.range_of(out)
        if its is None:
            its = self.ranges[out.name]
        if mine is None and not fixed:
            return True
        both = its if mine is None else widen(mine, its)
        if fixed:
            (q,) = fixed
            assert q is not None
            low, high = ((e - q.zero_point) * q.scalar for e in (q.qmin, q.qmax + 1))
            if both[0] < low or both[1] > high:
                return False
            both = (low, high)
        part = SHARE_RATIO[self.dtype] * width(both)
        return all(width(r) >= part for r in (mine, its) if r is not None)

    def is_read(self, v: Value, without: QuantizableGroup | None = None) -> bool:
        """Whether something reads `v` that is not one set with its output."""
        if v in self.outside:
            return True
        top = self.sets.find(v)
        return any(
            (u, i) in self.requantized
            or not (u.shared and u.outputs and self.sets.find(u.outputs[0]) is top)
            for u, i in self.readers[v]
            if u is not without
        )

    def range_of(self, v: Value, without: QuantizableGroup | None = None) -> Range | None:
        """The range that the set of `v` needs; None if nothing else reads it."""
        total: Range | None = None
        for r in self.sets.members[self.sets.find(v)]:
            if self.is_read(r, without):
                mine = self.ranges[r.name]
                total = mine if total is None else widen(total, mine)
        return total

    def result(self) -> SharedScales:
        scale_groups: dict[Value, ScaleGroup] = {}
        for v in self.values:
            top = self.sets.find(v)
            scale_group = scale_groups.setdefault(
                top, ScaleGroup(self.dtype, fixed=self.fixed.get(top))
            )
            scale_group.members.append(v)
            if self.is_read(v):
                scale_group.readers.append(v)
        return SharedScales(list(scale_groups.values()), self.requantized)
