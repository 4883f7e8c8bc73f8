"""Limits ranges to the values that affect the readers of a tensor.

A hardswish of [-20, 6] is constant below -3, so steps there are wasted. If only tables read a
tensor, its range is reduced to where at least one of them varies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...format.schema import BinaryFn
from ...ir import Node, Value
from ...numerics import FLOAT
from ...ops import computes, definition
from ...ops.norm.softmax import makes_shares
from ...ops.reduction.arg_max import ARG_MAX
from ...passes.quantized.finite_masks import MASKED
from .lookup_chains import Function
from .options import Range, Ranges
from .qparams import LEVELS, width
from .quantizable_groups import QuantizableGroup
from .reuse import Reuse

POINTS = 2049
TOLERANCE = 0.25
"""Of an output step: less is not seen after rounding, but near a tie."""

RESOLVED = {**LEVELS, FLOAT: 1 << np.finfo(np.float32).nmant + 1}
"""Steps of what a softmax gives."""


def narrowed(
    r: Range,
    v: Value,
    readers: list[QuantizableGroup],
    outputs: set[Value],
    ranges: Ranges,
    once: Reuse,
) -> Range:
    """The range `r` of `v` without the ends that no reader tells apart, if only tables read it.
    Most files that a search tries have the ranges of the one before: `once` keeps results."""
    if not readers or v in outputs or width(r) == 0:
        return r
    if any(u.chain is None or not u.integer for u in readers):
        return r
    tables = [(u.chain, _step(u, ranges)) for u in readers if u.chain]

    def found() -> Range:
        return varying(r, [(f, step) for chain, step in tables for f in chain.functions])

    return once(("narrowed", v), (r, *tables), found)


def _step(group: QuantizableGroup, ranges: Ranges) -> float:
    """What a table's output is rounded to."""
    assert group.chain is not None and group.dtype is not None
    return width(ranges[group.chain.end.name]) / LEVELS[group.dtype]


def varying(r: Range, functions: Iterable[tuple[Function, float]]) -> Range:
    """The part of `r` without ends where every function, rounded to its step, is constant; `r` if
    they are in all of it."""
    found = [part for f, step in functions if (part := _varying(r, f, step)) is not None]
    return (min(f[0] for f in found), max(f[1] for f in found)) if found else r


def _varying(r: Range, function: Function, step: float) -> Range | None:
    x = np.linspace(r[0], r[1], POINTS)
    y, seen = function(x), step * TOLERANCE
    with np.errstate(invalid="ignore"):  # a logarithm of 0 differs from what is beside it
        from_low = np.flatnonzero(~(np.abs(y - y[0]) <= seen))
        from_high = np.flatnonzero(~(np.abs(y - y[-1]) <= seen))
    if not len(from_low):
        return None
    low, high = float(x[max(from_low[0] - 1, 0)]), float(x[min(from_high[-1] + 1, POINTS - 1)])
    return min(low, high), max(low, high)  # where all that it varies is hardly more, they overlap


@dataclass(frozen=True)
class MaskedSum:
    """An addition of `x` and a mask whose sum only softmaxes and ArgMax read: the sum in all its
    shapes, the first shape of the mask (None of a constant), and the steps of what the finest
    softmax gives."""

    group: QuantizableGroup
    x: Value
    mask: Value | None
    shapes: list[Value]
    steps: int


def masked_sums(
    groups: list[QuantizableGroup],
    readers: Mapping[Value, list[QuantizableGroup]],
    outputs: set[Value],
    seen: Ranges,
) -> list[MaskedSum]:
    """The sums of x + mask; `seen` are the smallest and largest values.

    A mask is 0 and large negative numbers, or a constant with a 0 in every row.
    """
    found, moved = [], {g.node.output: g.node.input(0) for g in groups if _moves(g.node)}
    for group in groups:
        if not computes(group.node, BinaryFn.Add) or group.chain:
            continue
        shapes, comparing = _moved(group.node.output, readers)
        if not comparing or not outputs.isdisjoint(shapes):
            continue
        steps, inputs = [_resolved(u) for u in comparing], group.node.inputs
        if None in steps:
            continue
        for x, mask in (inputs, inputs[::-1]):
            if x is None or mask is None or x.const is not None or not _masks(mask, seen):
                continue
            first = None if mask.const is not None else mask
            while first in moved:
                first = moved[first]
            found.append(MaskedSum(group, x, first, shapes, max(filter(None, steps))))
            break
    return found


def without_masks(
    sums: list[MaskedSum],
    readers: Mapping[Value, list[QuantizableGroup]],
    outputs: set[Value],
    ranges: Ranges,
) -> Ranges:
    """`ranges`, where x + mask and the mask end at what a softmax that reads the sum resolves, or
    below what ArgMax may choose, and the mask at 0.

    Where one element of a row is not masked, its largest is at least the smallest x; what lies
    further below that than the softmax resolves is 0.
    """
    ends: dict[str, Range] = {}
    wanted: dict[Value, dict[QuantizableGroup, float]] = {}
    for each in sums:
        low = ranges[each.x.name][0] - float(np.log(2 * each.steps))
        ends |= {v.name: (max(low, ranges[v.name][0]), ranges[v.name][1]) for v in each.shapes}
        if each.mask is not None:
            wanted.setdefault(each.mask, {})[each.group] = low - ranges[each.x.name][1]
    for mask, found in wanted.items():
        shapes, adding = _moved(mask, readers)
        if outputs.isdisjoint(shapes) and all(u in found for u in adding):
            end = max(min(found.values()), ranges[mask.name][0]), 0.0
            ends |= dict.fromkeys((v.name for v in shapes), end)
    return {**ranges, **ends} if ends else ranges


def _resolved(reader: QuantizableGroup) -> int | None:
    """The steps of what a softmax gives; None of a reader that does not compare elements."""
    if reader.dtype is None:
        return None
    if reader.node.op == ARG_MAX.name:
        return 1
    return RESOLVED[reader.dtype] if makes_shares(reader.node) else None


def _moved(
    v: Value, readers: Mapping[Value, list[QuantizableGroup]]
) -> tuple[list[Value], list[QuantizableGroup]]:
    """`v` in all its shapes, and what reads it in one of them but to move it."""
    shapes, groups = [v], list[QuantizableGroup]()
    for shape in shapes:
        for u in readers.get(shape, []):
            if _moves(u.node):
                shapes.append(u.node.output)
            else:
                groups.append(u)
    return shapes, groups


def _moves(node: Node) -> bool:
    """Whether a node only chooses or arranges the elements of a tensor."""
    op = definition(node.op)
    return op.shared and op.selects and len(node.inputs) == 1


def _masks(mask: Value, seen: Ranges) -> bool:
    """Whether nothing is added to some elements, of each row if the others are but lowered."""
    c = mask.const
    low, high = seen[mask.name] if c is None else (float(c.min()), float(c.max()))
    if high != 0:
        return False
    return low <= MASKED or (c is not None and c.ndim > 0 and not c.max(axis=-1).any())
