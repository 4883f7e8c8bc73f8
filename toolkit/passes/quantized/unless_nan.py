"""What replaces NaN is dropped: integers hold none, and calibration refuses what makes one."""

from __future__ import annotations

from ...ir import Node, Value
from .._links import Links
from .._pass import NodePass


class UnlessNan(NodePass):
    """Where(y is NaN, x, y) is y. Exporters write so behind the softmax of attention, for rows of
    which every element is masked.
    """

    name = "no NaN"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Where":
            return False
        condition, _, y = (node.input(i) for i in range(3))
        if y.type != node.output.type or not _tells_nan(links, condition, y):
            return False
        if not links.replaceable(node, y):
            return False
        links.replace(node, y)
        return True


def _tells_nan(links: Links, condition: Value, y: Value) -> bool:
    """Whether `condition` is that y is not equal to itself."""
    negated = links.producer(condition, "Equal")
    if negated is None:
        return False
    equal, zero = links.producer(negated.input(0), "Equal"), negated.input(1).const
    itself = equal is not None and equal.input(0) is equal.input(1) is y
    return itself and zero is not None and not zero.any()
