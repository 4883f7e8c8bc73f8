"""The computational cost of a graph, which limits searches and promotions."""

from __future__ import annotations

from ...ir import Graph, Node
from ...numerics import FLOAT, HALF, INT16
from ...ops import definition

TYPE_WORK = {INT16: 2, FLOAT: 4, HALF: 4}
"""Approximate cost of a multiply-accumulate relative to int8: loads are as wide as the type, and a
small core multiplies two int8 or int16 values per instruction, but one float."""


def macs_of(graph: Graph) -> int:
    """Multiply-accumulates of the nodes with weights, which dominate."""
    return sum(definition(n.op).macs(n) for n in graph.nodes if definition(n.op).weight is not None)


def work_of(graph: Graph) -> int:
    """The approximate cost of a graph of any types, in int8 multiply-accumulates.

    Each output element of a node without weights counts as one multiply-accumulate.
    """
    return sum(_work(node) for node in graph.nodes)


def work_by_tensor(graph: Graph) -> dict[str, int]:
    """Instructions of the nodes that write or read each tensor, as in work_of. An int16 tensor adds
    about as many."""
    found: dict[str, int] = {}
    for node in graph.nodes:
        work = _work(node)
        for name in {v.name for v in (*node.dynamic_inputs, *node.outputs)}:
            found[name] = found.get(name, 0) + work
    return found


def _work(node: Node) -> int:
    op, types = definition(node.op), {v.dtype for v in (*node.dynamic_inputs, *node.outputs)}
    weight = max((TYPE_WORK.get(t, 1) for t in types), default=1)
    elements = sum(v.type.size for v in node.outputs)
    macs = op.macs(node) if op.heavy else 0
    return weight * (max(macs, elements) if op.weight is None else macs + elements)
