"""The arithmetic of a float graph, by which searches bound what they try."""

from __future__ import annotations

from ...ir import Graph
from ...ops import definition


def macs_of(graph: Graph) -> int:
    """Multiply-accumulates of the nodes with weights, which outweigh all else."""
    total = 0
    for node in graph.nodes:
        at = definition(node.op).weight
        if at is not None:
            w = node.input(at)
            x = node.input(0) if node.op == "ConvTranspose2d" else node.output
            total += x.type.size * (w.type.size // w.shape[0])
    return total
