"""Scaling and shifting in front of a convolution or FullyConnected go into its weights and bias."""

from __future__ import annotations

import numpy as np

from ...ir import Node
from ...ops.convert.fake_quantize import given_quantization
from .._links import Links
from .._pass import NodePass
from ..affine import LINEAR, Affine, as_affine, clamps, finite, input_factors, weights

MAX_SPREAD = 4.0
"""Largest ratio of two scales that may be folded. The input then has one int8 scale for all its
channels: with features scaled very differently, the ones that were scaled up would lose their bits.
"""


class FoldAffineForward(NodePass):
    """Add, Sub, Mul or Div by a constant a channel, then Conv2d, ConvTranspose2d or FullyConnected.

    1. The scale always folds, if the scales of channels are alike (MAX_SPREAD), or if the model
       quantizes what is scaled and channels stay apart: a depthwise convolution keeps its grids.
    2. The shift folds only if nothing is padded: a padded zero is not shifted.
    3. What is scaled must have no other reader and no activation in between, but may be reshaped,
       if the channels stay the last axis.
    """

    name = "affine folding forward"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in LINEAR:
            return False
        read = node.input(0)
        before = links.source(read)
        affine = None if before is None else as_affine(before)
        if before is None or affine is None or not links.only_reshaped(before.output, read):
            return False
        found = weights(node)
        if found is None or clamps(before) or not _folds(node, affine, links):
            return False
        w, b = found
        per_input = input_factors(affine.shift, node)
        b = b + (w * per_input).reshape(w.shape[0], -1).sum(axis=1)
        w = w * input_factors(affine.scale, node)
        if not finite(w, b):
            return False
        x = affine.x
        if x.shape != read.shape:
            x = links.emit(node, "Reshape", [x], {"shape": read.shape}, x.name)
        inputs = [
            x,
            links.constant(w.astype(np.float32), node.input(1).name),
            links.constant(b.astype(np.float32), f"{node.output.name}/bias"),
        ]
        links.rewire(node, inputs)
        return True


def _folds(node: Node, affine: Affine, links: Links) -> bool:
    sizes = np.abs(affine.scale)
    if sizes.min() == 0:
        return False
    maker = links.source(affine.x)
    given = maker is not None and given_quantization(maker) is not None
    apart = node.op == "Conv2d" and node.input(1).shape[-1] == 1
    if not (given and apart) and sizes.max() > MAX_SPREAD * sizes.min():
        return False
    if not np.any(affine.shift) or node.op == "FullyConnected":
        return True
    return node.op == "Conv2d" and not any(node.attrs["pads"])
