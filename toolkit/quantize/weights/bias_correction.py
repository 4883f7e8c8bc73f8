"""The mean error that rounding a node's weights makes, to be taken out of its bias.

A convolution is linear, so the mean over samples and places of `(Wq - W) x` needs only the mean of
each input channel (borders, where padding takes the place of inputs, aside). After Nagel et al.
2019, "Data-Free Quantization through Weight Equalization and Bias Correction" (arXiv:1906.04721),
section 4.2, with means measured on the samples instead of those of BatchNorm.

Correcting for the measured means of the quantized model as well was tried: layer by layer it fits
the samples (worse on others for three of five models), all layers at once it oscillates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...ir import Node
from ...ops import is_a
from ...ops.conv.conv_transpose2d import ConvTranspose2d

Reals = NDArray[np.float64]


def mean_output(node: Node, weight: Reals, means: Reals) -> Reals:
    """Mean of each output channel of `node`, were `weight` [n, ..., c] its weights.

    `means` [channels of the input] are over samples and places.
    """
    taps = weight.reshape(len(weight), -1, weight.shape[-1]).sum(axis=1)
    if is_a(node, ConvTranspose2d):  # of all taps, one in stride_h * stride_w meets an input
        taps = taps / np.prod(node.attrs["stride"])
    groups = int(node.attrs.get("groups", 1))
    of_group = means.reshape(groups, -1).repeat(len(weight) // groups, axis=0)
    result: Reals = (taps * of_group).sum(axis=1)
    return result
