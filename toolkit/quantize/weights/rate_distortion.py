"""Weights rounded for what they make and for the bits that they take in an entropy code.

Where each integer costs the bits of its code, the rounding that minimizes noise + price * bits is
that of gptq.py with a price on integers (entropy-constrained quantization: Chou, Lookabaugh and
Gray 1989, doi:10.1109/29.17498; in video coding, Sullivan and Wiegand 1998, doi:10.1109/79.733497).
Code lengths and integers follow one another: those of the last rounding price the next.

The step of a channel says what its noise weighs: an even price is best for all channels where each
step is inverse to the square root of that. So rows are solved in units of their steps.
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
"""Of a bit, in squared steps at the geometric mean of the power that meets a weight. Where bits are
many, half the step's noise for each bit, 2 ln 2 / 12 = 0.116, is what a finer step costs."""
MULTIPLIER_BITS = 8
"""Of the multipliers of such layers: their integers are few, and make up for 1 in 512."""
ROUNDS = 3
"""Of roundings by the code of the one before."""


@dataclass(frozen=True, eq=False)
class Rate:
    """How coarse the weights of a layer are: their steps, one an output channel [n]."""

    steps: Reals


class RateProblem:
    """The rows of one layer, for any rate: b, h as gptq.py has them."""

    def __init__(self, b: Reals, h: Reals) -> None:
        diagonal = np.diagonal(gptq.cholesky(h), axis1=1, axis2=2)
        self.power: Reals = np.exp(2 * np.log(diagonal).mean(axis=1))
        """The geometric mean of what meets a weight when those after it make up for it [g]."""
        g = self.power[:, None, None]
        self.b, self.h = b / g, h / g
        self.planes = gptq.Planes(self.b, self.h)

    def solve(self, rate: Rate, floor: Reals, ratio: float) -> tuple[Reals, Reals]:
        """(integers [g, n, k], scales [g * n]) for the steps of `rate`, which are `floor` at least.

        Scales are adapted to the integers, which a price draws towards 0. `ratio` times them is
        what the table of requantization holds, in MULTIPLIER_BITS.
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
        """What rows are off their `wanted` weights [g, n, k], in units of `steps` [g * n], which
        say what each row weighs."""
        shape = (*z.shape[:2], 1)
        off = (z * scales.reshape(shape) - wanted) / steps.reshape(shape)
        return float((gptq.product(off, self.h) * off).sum())


def _on_table(scales: Reals, floor: Reals, ratio: float) -> Reals:
    """The nearest scales, no less than `floor`, that make multipliers of few bits."""
    found: Reals = fixed_point.of_bits(scales * ratio, MULTIPLIER_BITS)
    more = fixed_point.of_bits(found * (1 + 2.0 ** (1 - MULTIPLIER_BITS)), MULTIPLIER_BITS)
    return np.where(found < floor * ratio, more, found) / ratio


def _price(z: Reals) -> Reals:
    return PRICE * code_bits(z.astype(np.int8))


def coded_bytes(z: Reals | NDArray[np.int8]) -> float:
    """Of integers in their Huffman code, about."""
    w = z.astype(np.int8)
    return float(code_bits(w)[w.astype(np.int64) + LIMIT].sum() / 8)
