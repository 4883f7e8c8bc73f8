"""Constant folding: movement of constants is done now."""

from __future__ import annotations

from ...ir import Node
from ...ops import definition
from ...ops.move.movement import MAPPED
from .._links import Links
from .._pass import NodePass

MOVEMENT = frozenset(("Transpose", "Reshape", "Slice", "Expand", "Copy"))


class FoldConstants(NodePass):
    """A movement node on a constant becomes a constant, unless it is an output of the graph.

    All other arithmetic on constants was folded by the importer, with ONNX's own meaning.
    """

    name = "constant folding"

    def rewrite(self, links: Links, node: Node) -> bool:
        x = node.inputs[0] if node.inputs else None
        if node.op not in MOVEMENT or x is None or x.const is None or links.is_output(node.output):
            return False
        if node.output.type.size > max(MAPPED, x.type.size):  # an Expand
            return False
        moved = definition(node.op).integer(node, [x.const])[0]
        value = links.constant(moved, x.name)
        value.quant = x.quant
        links.replace(node, value)
        return True
