"""Tensors before the operators that only move them, and those that compute them since weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from math import prod

from ...ir import Node, Value
from ...numerics import FLOAT
from ...ops import computes, definition, is_a
from ...ops.convert.fake_quantize import FakeQuantize
from ...ops.move.movement import Copy, Reshape, Transpose


def moved_from(v: Value, made_by: Mapping[Value, Node]) -> list[Value]:
    """`v`, and one after the other the tensors that are moved or put on a grid to become it."""
    found = [v]
    while (node := made_by.get(v)) and len(node.inputs) == 1:
        if not definition(node.op).shared and not is_a(node, FakeQuantize):
            break
        v = node.input(0)
        found.append(v)
    return found


def maker_of(v: Value, made_by: Mapping[Value, Node]) -> Node | None:
    """What computes `v`, before operators that only move it or put it on a grid; None of an
    input."""
    return made_by.get(moved_from(v, made_by)[-1])


def since_weights(
    values: Iterable[Value], made_by: Mapping[Value, Node], *ends: IntEnum
) -> list[Node]:
    """The nodes that compute these floats, back to weights, or to the functions `ends`, which are
    among them."""
    found, waiting = dict[Node, None](), list(values)
    while waiting:
        v = waiting.pop()
        node = made_by.get(v) if v.dtype == FLOAT else None
        if node is None or node in found or definition(node.op).heavy:
            continue
        found[node] = None
        if not computes(node, *ends):
            waiting += node.dynamic_inputs
    return list(found)


def axis_behind(v: Value, made_by: Mapping[Value, Node]) -> int | None:
    """The axis of `v` that was the last one, that of channels, where it was made; None if it was
    joined with others or split, axes were added, or several moves are merged into one."""
    *moved, first = moved_from(v, made_by)
    axis: int | None = len(first.shape) - 1
    for to in reversed(moved):
        axis = None if axis is None else _moved(made_by[to], axis)
    return axis


def _moved(node: Node, axis: int) -> int | None:
    before, after = node.input(0).shape, node.output.shape
    if is_a(node, Transpose):
        perm: tuple[int, ...] = node.attrs["perm"]
        return perm.index(axis)
    if not is_a(node, Reshape):
        return None if is_a(node, Copy) or len(before) != len(after) else axis
    ahead = prod(before[:axis])
    places = [i for i, n in enumerate(after) if n == before[axis] and prod(after[:i]) == ahead]
    return places[0] if places else None
