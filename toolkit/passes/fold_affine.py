"""Scaling and shifting behind a convolution or FullyConnected go into its weights and bias."""

from __future__ import annotations

import numpy as np

from ..ir import Node
from ._links import Links
from ._pass import NodePass
from .affine import LINEAR, activation_attrs, as_affine, clamps, finite, weights


class FoldAffine(NodePass):
    """Conv2d, ConvTranspose2d or FullyConnected, then Add, Sub, Mul or Div by a constant a channel.

    This is how BatchNormalization, and a bias added by a node of its own, disappear. The linear
    node must have no other reader and no activation of its own; it gets that of the second node.
    """

    name = "affine folding"

    def rewrite(self, links: Links, node: Node) -> bool:
        affine = as_affine(node)
        linear = None if affine is None else links.producer(affine.x)
        if affine is None or linear is None or linear.op not in LINEAR:
            return False
        if links.only_user(affine.x) is None or clamps(linear):
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
        links.take_over(linear, node)
        return True
