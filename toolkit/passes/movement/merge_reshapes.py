"""Reshapes of reshapes, and those that do nothing."""

from __future__ import annotations

from ...ir import Node
from .._links import Links
from .._pass import NodePass


class MergeReshapes(NodePass):
    """1. A Reshape of a Reshape reads the first one's input. 2. An identity is dropped."""

    name = "merge reshapes"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Reshape":
            return False
        changed = False
        first = links.producer(node.input(0), "Reshape")
        if first is not None:
            links.rewire(node, first.inputs)
            changed = True
        x = node.input(0)
        if node.output.shape == x.shape and links.replaceable(node, x):
            links.replace(node, x)
            changed = True
        return changed
