"""Weights and biases of one node as integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..ir import Node, QuantParams, Value, constant
from ..ops import definition
from .bias_correction import mean_output
from .qparams import channel_scales, quantize_weight

Reals = NDArray[np.float64]

BIAS_LIMIT = 2.0**28
"""The largest bias in units of the accumulator: leaves room for the sum and the zero point."""
FINE = 256.0
"""Units of the accumulator per output step for a channel whose weights are all zero."""


class Linear:
    """The constants of a node with weights, quantized for any scales of its input and output.

    With `means` of its input's channels, the mean error of the rounded weights is taken out of
    the bias.
    """

    def __init__(self, node: Node, means: Reals | None, search_scales: bool) -> None:
        op = definition(node.op)
        assert op.weight is not None
        self.node, self.means = node, means
        self.weight = node.input(op.weight)
        has_bias = op.bias is not None and op.bias < len(node.inputs)
        self.bias = node.inputs[op.bias] if has_bias and op.bias is not None else None
        assert self.weight.const is not None
        self.real = self.weight.const.astype(np.float64)
        self.scales = channel_scales(self.real, search_scales)
        bias = None if self.bias is None else self.bias.const
        self.real_bias = np.zeros(len(self.real)) if bias is None else bias.astype(np.float64)
        self._rounded: tuple[Reals, NDArray[np.int8], Reals] | None = None

    def quantize(self, x: QuantParams, y: QuantParams) -> tuple[Value, Value | None]:
        """int8 weight and int32 bias for these input and output quantizations."""
        scales = _legal(self.scales, self.real_bias, x.scalar, y.scalar)
        weight, bias = self._round(scales)
        per_channel = QuantParams(tuple(map(float, scales)), 0, 0, -127, 127)
        w = constant(weight, self.weight.name, per_channel)
        if self.bias is None and not bias.any():
            return w, None
        unit = scales * x.scalar
        name = f"{self.weight.name}.bias" if self.bias is None else self.bias.name
        q = np.rint(bias / unit).astype(np.int32)
        return w, constant(q, name, QuantParams(tuple(map(float, unit)), 0, 0))

    def _round(self, scales: Reals) -> tuple[NDArray[np.int8], Reals]:
        """Rounded weights and the real bias that goes with them."""
        if self._rounded is None or not np.array_equal(self._rounded[0], scales):
            weight, bias = quantize_weight(self.real, scales), self.real_bias
            if self.means is not None:
                rounded = weight * scales.reshape(-1, *[1] * (weight.ndim - 1))
                bias = bias - mean_output(self.node, rounded - self.real, self.means)
            self._rounded = scales, weight, bias
        return self._rounded[1:]


def _legal(scales: Reals, bias: Reals, x: float, y: float) -> Reals:
    """Scales that keep the bias within int32 and are never 0.

    A channel of zeros is its bias alone, which wants steps finer than the output's; a bias too
    large for tiny weights makes their steps coarser, which the output cannot show.
    """
    scales = np.where(scales > 0, scales, y / x / FINE)
    return np.maximum(scales, np.abs(bias) / x / BIAS_LIMIT)
