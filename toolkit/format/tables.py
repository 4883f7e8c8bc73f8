"""Tables of requantization: tight, in the fewest bits, as files that people exchange hold them, and
wide, as kernels read them (docs/format.md; the C reader is runtime_c/src/model/requant_table.c)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..fixed_point import MOST_ONCE
from .schema import DType, OpKind, RecurrentCell

Ints = NDArray[np.int64]
Params = Mapping[str, int | float]

MULTIPLIER_BITS = 20
"""Of multipliers that the quantizer makes: it moves scales of weights to where these are exact.

With 15 bits, half a byte a channel less, networks that were tuned for other multipliers lost up to
1 dB of the outputs' SQNR; with 20 none lost more than 0.05 dB.
"""

_WIDTH = {DType.Int8: 31, DType.Int16: 23}
"""Bits of a multiplier as kernels get it."""
_MOST_SHIFT = {DType.Int8: 30, DType.Int16: 62}


@dataclass(frozen=True)
class Table:
    """bias int64 [biases], multiplier int64 [n], shift int64 [n]."""

    bias: Ints
    multiplier: Ints
    shift: Ints

    def wide(self) -> NDArray[np.uint8]:
        """int32 bias, int32 multiplier, int8 or uint8 shift."""
        words = np.concatenate([self.bias, self.multiplier]).astype("<i4")
        return np.concatenate([words.view(np.uint8), self.shift.astype(np.uint8)])

    def tight(self, element: DType) -> tuple[NDArray[np.uint8], dict[str, int | float]]:
        """(bits, the field that says how many). ValueError for what the toolkit makes never."""
        width = _WIDTH[element]
        exponent, mantissa = self.shift, self.multiplier
        if element is DType.Int8:  # those that round once have their exponent in the multiplier
            below = width - np.frexp(mantissa.astype(np.float64))[1].astype(np.int64)
            exponent, mantissa = exponent - below, mantissa << below
            if np.any((below > 0) != _once(exponent)) or np.any(below[self.shift != 0]):
                raise ValueError("a multiplier that is not as the arithmetic has it")
        base = int(exponent.min())
        bias_bits = 1 + int(np.maximum(self.bias, ~self.bias).max()).bit_length()
        shift_bits = int(exponent.max() - base).bit_length()
        zeros = next(z for z in range(width) if np.any(mantissa >> z & 1))
        rest = width - zeros - 1
        bits = [_bits(self.bias, bias_bits), _bits(mantissa >> zeros, rest)]
        bits.append(_bits(exponent - base, shift_bits))
        how = bias_bits + 64 * shift_bits + 512 * (base + 64) + 65536 * rest
        return np.packbits(np.concatenate(bits), bitorder="little"), {"requant.tight": how}


GATES_OF = {RecurrentCell.Rnn: 1, RecurrentCell.Gru: 3, RecurrentCell.Lstm: 4}

WIDE: dict[str, int | float] = {"requant.tight": 0}
"""The field of a wide table."""


def is_tight(params: Params) -> bool:
    return bool(params.get("requant.tight", 0))


def table_of(kind: OpKind, element: DType, params: Params, blob: bytes) -> Table:
    """The table of an operator with weights on integers. ValueError where the blob ends in it."""
    biases, n = _counts(kind, element, params)
    at = int(params["requant.table"])
    if not is_tight(params):
        words = np.frombuffer(blob, "<i4", biases + n, at).astype(np.int64)
        signed = np.int8 if element is DType.Int8 else np.uint8
        shift = np.frombuffer(blob, signed, n, at + 4 * len(words)).astype(np.int64)
        return Table(words[:biases], words[biases:], shift)
    how, width = int(params["requant.tight"]), _WIDTH[element]
    bias_bits, shift_bits, base = how & 63, how >> 6 & 7, (how >> 9 & 127) - 64
    rest = how >> 16
    total = biases * bias_bits + n * (rest + shift_bits)
    data = np.frombuffer(blob, np.uint8, -(-total // 8), at)
    bits = np.unpackbits(data, bitorder="little")[:total]
    of_bias, of_rest, of_shift = np.split(bits, [biases * bias_bits, biases * bias_bits + n * rest])
    value, top = _numbers(of_bias, bias_bits, biases), 1 << (bias_bits - 1)
    multiplier = (_numbers(of_rest, rest, n) | 1 << rest) << (width - 1 - rest)
    shift = np.minimum(_numbers(of_shift, shift_bits, n) + base, _MOST_SHIFT[element])
    if element is DType.Int8:
        once = _once(shift)
        multiplier, shift = multiplier >> np.where(once, -shift, 0), np.where(once, 0, shift)
    return Table((value ^ top) - top, multiplier, shift)


def _once(exponent: Ints) -> NDArray[np.bool_]:
    """Whether the exponents of int8's ratios are those of multipliers without a shift."""
    return (exponent < 0) & (exponent >= -MOST_ONCE)


def _counts(kind: OpKind, element: DType, params: Params) -> tuple[int, int]:
    """(biases, channels) of a table."""
    if kind == OpKind.FullyConnected:
        return int(params["n"]), int(params["n"])
    if kind == OpKind.Recurrent:
        rows = GATES_OF[RecurrentCell(int(params["cell"]))] * int(params["hidden"])
        return rows, rows
    n = int(params["geometry.out_c"])
    if kind == OpKind.ConvTranspose2d and element is DType.Int8:
        return n * int(params["geometry.stride_h"] * params["geometry.stride_w"]), n
    return n, n


def _bits(values: Ints, count: int) -> NDArray[np.uint8]:
    """The lowest `count` bits of each, the lowest first."""
    return (values[:, None] >> np.arange(count) & 1).astype(np.uint8).ravel()


def _numbers(bits: NDArray[np.uint8], count: int, n: int) -> Ints:
    found: Ints = bits.reshape(n, count).astype(np.int64) @ (np.int64(1) << np.arange(count))
    return found
