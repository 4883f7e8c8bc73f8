"""Roundings to 16-bit floats, as exports with keep_io_types have them, are left to the integers."""

from __future__ import annotations

from ...ir import Node
from .._links import Links
from .._pass import NodePass

HALVES = (10, 16)
"""float16 and bfloat16 as TensorProto.DataType."""


class HalfRounding(NodePass):
    """A Cast to float16 or bfloat16, which are held as float32, is dropped: integers have wider
    steps.
    """

    name = "half rounding"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Cast" or node.attrs.get("element") not in HALVES:
            return False
        if node.input(0).type != node.output.type or not links.replaceable(node, node.input(0)):
            return False
        links.replace(node, node.input(0))
        return True
