"""Dead code: nodes that no output depends on."""

from __future__ import annotations

from ...ir import Graph


class DeadCode:
    """Drops every node whose outputs are read by nobody. Graph inputs stay."""

    name = "dead code"

    def run(self, graph: Graph) -> bool:
        live = graph.output_values()
        kept = []
        for node in reversed(graph.nodes):
            if not live.isdisjoint(node.outputs):
                kept.append(node)
                live.update(v for v in node.inputs if v is not None)
        changed = len(kept) < len(graph.nodes)
        graph.nodes = kept[::-1]
        return changed
