"""Bias correction: subtracts the mean error of rounded weights from the bias.

A convolution is linear, so the mean over samples and positions of `(Wq - W) x` needs only the mean
of each input channel (except at borders, where padding replaces inputs). After Nagel et al. 2019,
"Data-Free Quantization through Weight Equalization and Bias Correction" (arXiv:1906.04721), section
4.2, with means measured on the samples instead of taken from BatchNorm.

Correcting for the measured means of the quantized model as well was tried: layer by layer, it
overfits the samples (worse on other samples for three of five models); all layers at once, it
oscillates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Node
from ...ops import is_a
from ...ops.conv.conv_transpose2d import ConvTranspose2d

Reals = NDArray[np.float64]


def mean_output(node: Node, weight: Array, means: Reals) -> Reals:
    """The mean of each output channel of `node` if its weights were `weight` [n, ..., c].

    `means` [input channels] are over samples and positions.
    """
    taps = weight.reshape(len(weight), -1, weight.shape[-1]).sum(axis=1)
    if is_a(node, ConvTranspose2d):  # one tap in stride_h * stride_w has an input
        taps = taps / np.prod(node.attrs["stride"])
    groups = int(node.attrs.get("groups", 1))
    of_group = means.reshape(groups, -1).repeat(len(weight) // groups, axis=0)
    result: Reals = (taps * of_group).sum(axis=1)
    return result
