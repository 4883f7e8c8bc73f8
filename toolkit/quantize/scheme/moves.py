"""Tensors before the operators that only move them."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Node, Value
from ...ops import definition, is_a
from ...ops.convert.fake_quantize import FakeQuantize


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
