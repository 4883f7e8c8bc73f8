"""Every output of the graph has memory of its own."""

from __future__ import annotations

from ...ir import Graph, Value
from .._links import Links


class OwnOutputs:
    """An output that is a graph input or a constant, or a Reshape of one, becomes a Copy of it:
    the caller owns input memory, and constants are read-only. `inside`: of a graph in a node, whose
    inputs are no caller's.
    """

    name = "own outputs"

    def __init__(self, inside: bool = False) -> None:
        self._inside = inside

    def run(self, graph: Graph) -> bool:
        links = Links(graph)
        changed = False
        for port in graph.outputs:
            root, value = _root(links, port.value), port.value
            if root.const is None and (self._inside or links.producer(root) is not None):
                continue
            attrs = {"dims": (root.type.size,), "strides": (1,), "offset": 0, "shape": value.shape}
            links.let_out(port, links.emit(None, "Copy", [root], attrs, port.name))
            changed = True
        return changed


def _root(links: Links, value: Value) -> Value:
    while (node := links.producer(value, "Reshape")) is not None:
        value = node.input(0)
    return value
