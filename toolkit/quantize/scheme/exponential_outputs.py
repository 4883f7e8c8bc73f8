"""Outputs that an exponential makes, as depths, rates and frequencies: small ones are to be as
accurate as large ones, relative to their size, and unseen ones may be several times as large. One
scale for all of them gives the small ones no steps."""

from __future__ import annotations

from collections.abc import Iterator

from ...format.schema import BinaryFn, UnaryFn
from ...ir import Graph, Node, Value
from ...numerics import IN_INTEGERS, Precision
from ...ops import computes, definition
from ...ops.convert.fake_quantize import arrives_quantized

FEW_NUMBERS = 16
"""Of an output whose exponents are int16."""
_SCALING = (BinaryFn.Add, BinaryFn.Sub, BinaryFn.Mul, BinaryFn.Div)


def exponential_outputs(graph: Graph) -> dict[tuple[Node, Precision], str]:
    """The nodes from such an exponential to its output, which have no integer form, and why."""
    why = "it makes an exponential output, whose small values would have too few steps"
    return {(node, p): why for node in _exponentials(graph) for p in IN_INTEGERS}


def exponents(graph: Graph) -> Iterator[str]:
    """What exponentials of few numbers read: int16 has room for larger ones, and finer steps. In a
    map it would cost as much as the layers before. A grid that is given stays."""
    if arrives_quantized(graph):
        return
    for node in _exponentials(graph):
        x = node.input(0)
        if computes(node, UnaryFn.Exp) and x.type.size <= FEW_NUMBERS:
            yield x.name


def _exponentials(graph: Graph) -> list[Node]:
    made_by = graph.producers()
    return [n for v in graph.output_values() for n in _from_exponential(v, made_by)]


def _from_exponential(v: Value, made_by: dict[Value, Node]) -> list[Node]:
    """The nodes from an exponential to `v`, if there are only constants and moves between."""
    path: list[Node] = []
    while (node := made_by.get(v)) is not None and len(node.dynamic_inputs) == 1:
        moves = definition(node.op).shared
        if not moves:
            path.append(node)
        if computes(node, UnaryFn.Exp):
            return path
        if not moves and not computes(node, *_SCALING):
            break
        (v,) = node.dynamic_inputs
    return []
