"""Masks in front of a softmax or ArgMax become sums with finite numbers, whose range integers can
do without.

How far below the others a masked element is does not matter: its exponential is 0, and it is not
the largest.
"""

from __future__ import annotations

import numpy as np

from ...ir import Node, Value
from .._links import Links
from .._pass import NodePass
from ..cleanup.fold_constants import MOVEMENT

MASK = -1e4
"""What masks: exp(MASK) is 0 in float32, and no score is near it."""

MASKED = -1000.0
"""What is added to an element to mask it, or chosen instead of it, is this or less."""

COMPARING = ("Softmax", "LogSoftmax", "ArgMax")


class FiniteMasks(NodePass):
    """Of what a softmax or ArgMax reads, through sums and whatever moves elements:

    1. A constant below MASK, such as minus infinity, becomes MASK; so does what a Pad adds.
    2. Where(condition, x, c) with a constant c that masks becomes x + Where(condition, 0, MASK),
       if all that reads it compares elements.
    """

    name = "finite masks"

    def rewrite(self, links: Links, node: Node) -> bool:
        return node.op in COMPARING and _finite(links, node, 0)


def _finite(links: Links, reader: Node, at: int) -> bool:
    """Make finite what `reader` reads at input `at`; whether anything changed."""
    v = reader.input(at)
    if v.const is not None:
        return _raised(links, reader, at)
    node = links.producer(v)
    if node is None or v.dtype != np.float32 or links.is_output(v):
        return False
    if _moves(node):
        raised = node.op == "Pad" and node.attrs["value"] < MASK
        if raised:
            node.attrs["value"] = MASK
        return _finite(links, node, 0) or raised
    if node.op == "Add":
        return any([_finite(links, node, i) for i in (0, 1)])
    if node.op == "Where":
        masks = [i for i in (1, 2) if _is_mask(node.input(i))]
        if len(masks) == 1 and node.input(3 - masks[0]).const is None:
            return _only_compared(links, v) and _as_sum(links, node, masks[0])
        return any([_raised(links, node, i) for i in (1, 2)])
    return False


def _moves(node: Node) -> bool:
    return node.op in MOVEMENT or node.op in ("Gather", "Pad")


def _only_compared(links: Links, v: Value) -> bool:
    """Whether only COMPARING operators read `v`, through sums and whatever moves elements."""
    return not links.is_output(v) and all(
        node.op in COMPARING
        or ((_moves(node) or node.op == "Add") and _only_compared(links, node.output))
        for node in links.users(v)
    )


def _is_mask(v: Value) -> bool:
    return v.const is not None and bool(np.all(v.const <= MASKED))


def _raised(links: Links, node: Node, at: int) -> bool:
    v = node.input(at)
    if v.const is None or not np.any(v.const < MASK):
        return False
    raised = links.constant(np.maximum(v.const, np.float32(MASK)), v.name)
    links.rewire(node, [raised if i == at else w for i, w in enumerate(node.inputs)])
    return True


def _as_sum(links: Links, node: Node, at: int) -> bool:
    """`node` picks a mask at input `at`, and x at the other."""
    condition, x = node.input(0), node.input(3 - at)
    if np.broadcast_shapes(condition.shape, x.shape) != node.output.shape:
        return False
    name = f"{node.output.name}/mask"
    none = links.constant(np.zeros(1, np.float32), f"{name}/none")
    least = links.constant(np.full(1, MASK, np.float32), f"{name}/least")
    chosen = [condition, least, none] if at == 1 else [condition, none, least]
    mask = links.emit(node, "Where", chosen, {}, name)
    links.replace(node, links.emit(node, "Add", [x, mask], {}, node.output.name))
    return True
