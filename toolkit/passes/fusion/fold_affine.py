"""Scaling and shifting behind a convolution or FullyConnected go into its weights and bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Node
from ...ops._opdef import Activation
from .._links import Links
from .._pass import NodePass
from ..affine import LINEAR, Affine, as_affine, clamps, finite, weights


class FoldAffine(NodePass):
    """Conv2d, ConvTranspose2d or FullyConnected, then Add, Sub, Mul or Div by a constant a channel.

    This is how BatchNormalization, and a bias added by a node of its own, disappear. The linear
    node must have no other reader; it gets the activation of the second node. With one of its own,
    it takes only what the activation lets through: positive factors behind a ReLU.
    Reshapes in between may be, if the channels stay the last axis.
    """

    name = "affine folding"

    def rewrite(self, links: Links, node: Node) -> bool:
        affine = as_affine(node)
        linear = None if affine is None else links.source(affine.x)
        if affine is None or linear is None or linear.op not in LINEAR:
            return False
        if clamps(linear) and not _passes_a_clamp(affine, linear):
            return False
        if not links.only_reshaped(linear.output, affine.x):
            return False
        found = weights(linear)
        if found is None:
            return False
        w, b = found
        w = w * affine.scale.reshape(-1, *(1,) * (w.ndim - 1))
        b = b * affine.scale + affine.shift
        if not finite(w, b):
            return False
        inputs = [
            linear.input(0),
            links.constant(w.astype(np.float32), linear.input(1).name),
            links.constant(b.astype(np.float32), f"{node.output.name}/bias"),
        ]
        links.rewire(linear, inputs, **_clamp_of_both(linear, node))
        if affine.x is linear.output:
            links.take_over(linear, node)
        else:
            linear.output.name = links.in_other_layout(node.output.name)
            links.replace(node, affine.x)
        return True


def _passes_a_clamp(affine: Affine, linear: Node) -> bool:
    """Whether scaling first and clamping then gives the same: no shift, and no bound but 0."""
    clamp = Activation.of(linear)
    if np.any(affine.shift) or not np.all(affine.scale > 0):
        return False
    return all(bound == 0 or np.isinf(bound) for bound in (clamp.low, clamp.high))


def _clamp_of_both(linear: Node, node: Node) -> dict[str, Any]:
    first, then = Activation.of(linear), Activation.of(node)
    low, high = (min(max(bound, then.low), then.high) for bound in (first.low, first.high))
    return {"act_min": low, "act_max": high}
