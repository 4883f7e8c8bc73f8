"""Outputs of recurrent layers that nobody reads."""

from __future__ import annotations

from ...ir import Graph


class UnreadOutputs:
    """A Recurrent gives only what is read: all steps of the hidden state are large. Of a node that
    nobody reads, which dead code is, the first output stays.
    """

    name = "unread outputs"

    def run(self, graph: Graph) -> bool:
        read = graph.output_values() | set(graph.consumers())
        changed = False
        for node in graph.nodes:
            if node.op != "Recurrent":
                continue
            kept = [i for i, v in enumerate(node.outputs) if v in read] or [0]
            if len(kept) < len(node.outputs):
                node.attrs["gives"] = tuple(node.attrs["gives"][i] for i in kept)
                node.outputs = [node.outputs[i] for i in kept]
                changed = True
        return changed
