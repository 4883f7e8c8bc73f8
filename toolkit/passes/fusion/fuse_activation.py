"""A clamp (Relu, Relu6, Clip) becomes part of the operator in front of it."""

from __future__ import annotations

import numpy as np

from ...ir import Node
from .._links import Links
from .._pass import NodePass
from ..affine import LINEAR
from ..cleanup.fold_constants import MOVEMENT

FUSING = (*LINEAR, "Add", "Sub", "Mul", "LayerNorm")


class FuseActivation(NodePass):
    """1. Clip of a Clip is one Clip. 2. Clip behind an operator that can clamp its result (FUSING)
    is fused, also with movement in between, which does not change values. In each case nobody else
    may read what is clamped.
    """

    name = "activation fusion"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Clip":
            return False
        made_by = _maker(links, node)
        if made_by is None:
            return False
        keys = ("min", "max") if made_by.op == "Clip" else ("act_min", "act_max")
        low, high = made_by.attrs.get(keys[0], -np.inf), made_by.attrs.get(keys[1], np.inf)
        then = float(node.attrs["min"]), float(node.attrs["max"])
        # ONNX: where min > max, max wins.
        attrs = {k: min(max(v, then[0]), then[1]) for k, v in zip(keys, (low, high), strict=True)}
        if made_by.output is node.input(0):
            links.rewire(made_by, made_by.inputs, **attrs)
            links.take_over(made_by, node)
        else:
            links.rewire(made_by, made_by.inputs, **attrs)
            made_by.output.name = links.in_other_layout(node.output.name)
            links.replace(node, node.input(0))
        return True


def _maker(links: Links, node: Node) -> Node | None:
    """The operator that computes what `node` clamps, if it can clamp and nobody sees the rest."""
    v = node.input(0)
    while links.only_user(v) is not None:
        made_by = links.producer(v)
        if made_by is None:
            return None
        if made_by.op in FUSING and made_by.output.dtype == np.float32:
            return made_by
        if made_by.op == "Clip" and v is node.input(0):
            return made_by
        if made_by.op not in MOVEMENT:
            return None
        v = made_by.input(0)
    return None
