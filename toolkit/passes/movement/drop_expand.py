"""An Expand in front of an operator that broadcasts by itself is dropped."""

from __future__ import annotations

import numpy as np

from ...ir import Node
from ...ops import definition
from .._links import Links
from .._pass import NodePass

DIMS = 4
"""Axes along which the runtime's operators can step."""


class DropExpand(NodePass):
    """Expand, then an operator that broadcasts: it reads the smaller tensor, if the result keeps
    its shape and has at most DIMS axes.
    """

    name = "drop expand"

    def rewrite(self, links: Links, node: Node) -> bool:
        if not definition(node.op).broadcasts or len(node.output.shape) > DIMS:
            return False
        changed = False
        for i in range(len(node.inputs)):
            expand = links.producer(node.input(i), "Expand")
            if expand is None:
                continue
            inputs = [expand.input(0) if j == i else v for j, v in enumerate(node.inputs)]
            shapes = [v.shape for v in inputs if v is not None]
            if np.broadcast_shapes(*shapes) == node.output.shape:
                links.rewire(node, inputs)
                changed = True
        return changed
