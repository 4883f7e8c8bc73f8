"""Transposes of transposes, and those that do nothing."""

from __future__ import annotations

from ...ir import Node
from .._links import Links
from .._pass import NodePass
from ..axes import compose, is_identity


class MergeTransposes(NodePass):
    """1. A Transpose of a Transpose reads the first one's input. 2. An identity is dropped."""

    name = "merge transposes"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Transpose":
            return False
        changed = False
        first = links.producer(node.input(0), "Transpose")
        if first is not None:
            perm = compose(first.attrs["perm"], node.attrs["perm"])
            links.rewire(node, first.inputs, perm=perm)
            changed = True
        x = node.input(0)
        if is_identity(node.attrs["perm"]) and links.replaceable(node, x):
            links.replace(node, x)
            changed = True
        return changed
