"""Outputs computed from comparisons alone: votes of a support vector machine, class numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...format.schema import BinaryFn, CompareFn, ReduceFn, UnaryFn
from ...ir import Node, Value
from ...numerics import FLOAT
from ...ops import computes, definition, is_a
from ...ops.convert.cast import Cast
from ...ops.reduction.arg_max import ArgMax

_COUNT = (BinaryFn.Add, BinaryFn.Sub, UnaryFn.Neg, ReduceFn.Sum, *CompareFn)


def are_votes(made_by: Mapping[Value, Node], v: Value) -> bool:
    """Whether `v` counts comparisons of floats, or is what they pick, and nothing else."""
    todo, seen, compared = [v], {v}, False
    while todo:
        node = made_by.get(todo.pop())
        if node is None or not node.dynamic_inputs:
            return False
        if _compares(node) and node.dynamic_inputs[0].dtype == FLOAT:
            compared = True
        elif _counts(node):
            more = set(node.dynamic_inputs) - seen
            seen |= more
            todo += more
        else:
            return False
    return compared


def _compares(node: Node) -> bool:
    return computes(node, *CompareFn, UnaryFn.Sign) or is_a(node, ArgMax)


def _counts(node: Node) -> bool:
    """Whether the node moves or sums votes, or selects constants by them."""
    op = definition(node.op)
    if op.heavy:
        weights = node.input(1).const
        return weights is not None and bool(np.isin(weights, (-1, 0, 1)).all())
    return op.shared or computes(node, *_COUNT) or is_a(node, Cast)
