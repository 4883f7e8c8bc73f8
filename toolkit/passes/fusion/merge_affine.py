"""Constants that are multiplied or added one after the other become one."""

from __future__ import annotations

import numpy as np

from ...ir import Node
from .._links import Links
from .._pass import NodePass
from ..affine import clamps, constant_side


class MergeAffine(NodePass):
    """1. Mul by 1 and Add of 0 are dropped. 2. Mul of a Mul, and Add of an Add, by constants, are
    one, if the constants' product or sum is no larger than the tensor.
    """

    name = "merge constants"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in ("Add", "Mul"):
            return False
        neutral = 1.0 if node.op == "Mul" else 0.0
        side = constant_side(node)
        if side is None:
            return False
        x, c = node.input(1 - side), node.input(side)
        if c.const is not None and np.all(c.const == neutral) and not clamps(node):
            if x.shape != node.output.shape:
                return False
            links.replace(node, x)
            return True
        inner = links.private(x, node.op)
        at = None if inner is None else constant_side(inner)
        if inner is None or at is None or clamps(inner):
            return False
        first, then = inner.input(at).const, c.const
        assert first is not None and then is not None
        a, b = first.astype(np.float64), then.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            both = (a * b if node.op == "Mul" else a + b).astype(np.float32)
        if not np.all(np.isfinite(both)) or both.size > max(first.size, then.size):
            return False
        inputs = [inner.input(1 - at), links.constant(both, c.name)]
        if np.broadcast_shapes(inputs[0].shape, both.shape) != node.output.shape:
            return False
        links.rewire(node, inputs)
        return True
