"""Means whose number of elements follows from the sizes: reductions that divide by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ..format.schema import ReduceFn
from ..ir import Graph, Node
from ..ops import computes, is_a
from ..ops.reduction.pool import AvgPool2d, takes_all
from ..ops.reduction.reduce import REDUCTIONS

Counts = Mapping[str, int]
"""Elements of a mean, by the tensor that it makes."""


def varying_counts(largest: Graph, lowest: Graph) -> Counts:
    """At the largest sizes, of means that have fewer elements at the lowest."""
    least = _counts(lowest)
    return {name: n for name, n in _counts(largest).items() if least.get(name) != n}


def with_means(graph: Graph, most: Counts) -> Graph:
    """The float `graph` with means of varying counts as reductions that divide by theirs, `most`
    at the largest sizes; its other nodes are shared."""
    return replace(graph, nodes=[_divided(n, most.get(n.output.name)) for n in graph.nodes])


def _counts(graph: Graph) -> Counts:
    means = [n for n in map(_reduction, graph.nodes) if computes(n, ReduceFn.Mean)]
    return {n.output.name: prod(n.input(0).shape[a] for a in n.attrs["axes"]) for n in means}


def _reduction(node: Node) -> Node:
    if not (is_a(node, AvgPool2d) and takes_all(node)):
        return node
    name, attrs = REDUCTIONS[ReduceFn.Mean].name, {"axes": (1, 2), "keepdims": True}
    return replace(node, op=name, attrs=attrs)


def _divided(node: Node, most: int | None) -> Node:
    if most is None:
        return node
    node = _reduction(node)
    return replace(node, attrs={**node.attrs, "most": most})
