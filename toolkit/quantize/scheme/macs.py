"""The arithmetic of a graph, by which searches bound what they try and what they choose."""

from __future__ import annotations

from ...ir import Graph, Node
from ...numerics import FLOAT, HALF, INT16
from ...ops import definition

TYPE_WORK = {INT16: 2, FLOAT: 4, HALF: 4}
"""Instructions of a multiply-accumulate against one of int8, about: loads are as wide as the type,
and a small core multiplies two int8 or int16 at a time, but one float."""


def macs_of(graph: Graph) -> int:
    """Multiply-accumulates of the nodes with weights, which outweigh all else."""
    return sum(_macs(node) for node in graph.nodes)


def work_of(graph: Graph) -> int:
    """Instructions of a graph of any types, in those of an int8 multiply-accumulate, about.

    An element that a node without weights makes counts as one multiply-accumulate.
    """
    total = 0
    for node in graph.nodes:
        types = {v.dtype for v in (*node.dynamic_inputs, *node.outputs)}
        weight = max((TYPE_WORK.get(t, 1) for t in types), default=1)
        products = node.input(0).shape[-1] if node.op == "MatMul" else 1
        total += weight * (_macs(node) + products * sum(v.type.size for v in node.outputs))
    return total


def _macs(node: Node) -> int:
    at = definition(node.op).weight
    if at is None:
        return 0
    w = node.input(at)
    x = node.input(0) if node.op == "ConvTranspose2d" else node.output
    return x.type.size * (w.type.size // w.shape[0])
