"""Scaling and shifting behind a convolution or FullyConnected go into its weights and bias."""

from __future__ import annotations

import numpy as np

from ...ir import Node
from .._links import Links
from .._pass import NodePass
from ..affine import LINEAR, activation_attrs, as_affine, clamps, finite, weights


class FoldAffine(NodePass):
    """Conv2d, ConvTranspose2d or FullyConnected, then Add, Sub, Mul or Div by a constant a channel.

    This is how BatchNormalization, and a bias added by a node of its own, disappear. The linear
    node must have no other reader and no activation of its own; it gets that of the second node.
    Reshapes in between may be, if the channels stay the last axis.
    """

    name = "affine folding"

    def rewrite(self, links: Links, node: Node) -> bool:
        affine = as_affine(node)
        linear = None if affine is None else links.source(affine.x)
        if affine is None or linear is None or linear.op not in LINEAR or clamps(linear):
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
        links.rewire(linear, inputs, **activation_attrs(node))
        if affine.x is linear.output:
            links.take_over(linear, node)
        else:
            linear.output.name = links.in_other_layout(node.output.name)
            links.replace(node, affine.x)
        return True
