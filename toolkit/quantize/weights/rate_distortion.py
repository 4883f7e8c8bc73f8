"""Entropy-constrained rounding: minimizes output noise plus a price on the bits of the Huffman
code.

The rounding that minimizes noise + price * bits is that of gptq.py with a price on each integer
(entropy-constrained quantization: Chou, Lookabaugh and Gray 1989, doi:10.1109/29.17498; in video
coding, Sullivan and Wiegand 1998, doi:10.1109/79.733497). Code lengths and integers are iterated:
the code of the last rounding sets the prices of the next.

The step of a channel expresses the weight of its noise: one price is optimal for all channels if
each step is inversely proportional to the square root of that weight. Rows are therefore solved in
units of their steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import fixed_point
from ...weight_codecs.huffman import code_bits
from . import gptq

Reals = NDArray[np.float64]

LIMIT = 127
PRICE = 0.14
"""The price of a bit, in squared steps times the geometric mean of the input power. At high rates,
a finer step reduces noise by 2 ln 2 / 12 = 0.116 squared steps per bit."""
MULTIPLIER_BITS = 8
"""Bits of the requantization multipliers of these layers; the integers compensate the error."""
ROUNDS = 3
"""Number of roundings, each priced by the code of the previous one."""


@dataclass(frozen=True, eq=False)
class Rate:
    """The weight steps of a layer, one per output channel [n]."""

    steps: Reals


class RateProblem:
    """The rows of one layer, for any rate; b and h as defined in gptq.py."""

    def __init__(self, b: Reals, h: Reals) -> None:
        diagonal = np.diagonal(gptq.cholesky(h), axis1=1, axis2=2)
        self.power: Reals = np.exp(2 * np.log(diagonal).mean(axis=1))
        """The geometric mean of the conditional input power, given the inputs after it [g]."""
        g = self.power[:, None, None]
        self.b, self.h = b / g, h / g
        self.planes = gptq.Planes(self.b, self.h)

    def solve(self, rate: Rate, floor: Reals, ratio: float) -> tuple[Reals, Reals]:
        """(integers [g, n, k], scales [g * n]) for the steps of `rate`, at least `floor`.

        Scales are adapted to the integers, which the price shrinks towards 0. The requantization
        table stores `ratio` times the scales, in MULTIPLIER_BITS.
        """
        scales = np.maximum(rate.steps, floor)
        unit = scales.reshape(*self.b.shape[:2], 1)
        b, ones = self.b / unit, np.ones_like(self.b)
        z = self.planes.nearest(ones, LIMIT, None, unit)
        for _ in range(ROUNDS):
            z = self.planes.nearest(ones, LIMIT, _price(z), unit)
        vh = gptq.descend(z, b, self.h, ones, LIMIT, _price(z))
        fitted = scales * gptq.best_factor(z, b, vh, ones).reshape(-1)
        fitted = _on_table(np.maximum(fitted, floor), floor, ratio)
        steps = (fitted / scales).reshape(unit.shape) * ones
        gptq.descend(z, b, self.h, steps, LIMIT, _price(z))
        return z, fitted

    def noise(self, z: Reals, scales: Reals, wanted: Reals, steps: Reals) -> float:
        """The output noise of the difference from the `wanted` weights [g, n, k], in units of
        `steps` [g * n], which weight the rows."""
        shape = (*z.shape[:2], 1)
        off = (z * scales.reshape(shape) - wanted) / steps.reshape(shape)
        return float((gptq.product(off, self.h) * off).sum())


def _on_table(scales: Reals, floor: Reals, ratio: float) -> Reals:
    """The nearest scales, at least `floor`, whose multipliers have MULTIPLIER_BITS."""
    found: Reals = fixed_point.of_bits(scales * ratio, MULTIPLIER_BITS)
    more = fixed_point.of_bits(found * (1 + 2.0 ** (1 - MULTIPLIER_BITS)), MULTIPLIER_BITS)
    return np.where(found < floor * ratio, more, found) / ratio


def _price(z: Reals) -> Reals:
    return PRICE * code_bits(z.astype(np.int8))


def coded_bytes(z: Reals | NDArray[np.int8]) -> float:
    """The approximate size of the integers in their Huffman code."""
    w = z.astype(np.int8)
    return float(code_bits(w)[w.astype(np.int64) + LIMIT].sum() / 8)
