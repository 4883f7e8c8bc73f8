"""Outputs that are a sum of an input and what the network adds to it: denoisers, super-resolution,
forecasts of a difference.

The input passes unchanged, so that an error that is small beside the sum may be large beside what
the network is for.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...format.schema import BinaryFn, ReduceFn
from ...ir import Graph, Node, Value
from ...numerics import FLOAT
from ...ops import computes, definition
from ...ops.move.resize import Resize

_SCALED = BinaryFn.Add, BinaryFn.Sub, BinaryFn.Mul, BinaryFn.Div


def added_to_inputs(graph: Graph) -> dict[Value, Value]:
    """What is added to an input, by the sum. The input may be moved, resized, averaged, scaled and
    shifted by constants."""
    made_by, found = graph.producers(), dict[Value, Value]()
    for node in graph.nodes:
        if not computes(node, BinaryFn.Add, BinaryFn.Sub) or len(node.dynamic_inputs) != 2:
            continue
        passed = [_is_input(v, made_by) for v in node.dynamic_inputs]
        if passed.count(True) == 1:
            added = node.dynamic_inputs[passed.index(False)]
            if added.shape == node.output.shape:
                found[node.output] = added
    return found


def _is_input(v: Value, made_by: Mapping[Value, Node]) -> bool:
    while node := made_by.get(v):
        linear = definition(node.op).shared or node.op == Resize.name
        linear = linear or computes(node, ReduceFn.Mean, *_SCALED)
        if not linear or len(node.dynamic_inputs) != 1:
            return False
        v = node.dynamic_inputs[0]
    return v.const is None and v.dtype == FLOAT
