"""Weights of a few bits each, several a byte, the lowest first; each row begins with a byte.

An int8 weight is such an integer times the multiplier, 1 to 16, of its group of a channel's
weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._codec import Encoded, Storage

MOST_MULTIPLIER = 16


@dataclass(frozen=True)
class Packed:
    """Integers of 4 or 2 bits in [-limit, limit]."""

    bits: int
    limit: int

    def encode(self, w: NDArray[np.int8], storage: Storage, depthwise: bool) -> Encoded:
        group = storage.group
        multipliers = storage.multipliers if group else None
        z = w.astype(np.int16)
        if group:
            wanted = (len(w), -(-w.shape[1] // group))
            if multipliers is None or multipliers.shape != wanted:
                raise ValueError(f"multipliers are not {list(wanted)}")
            if multipliers.min() < 1 or multipliers.max() > MOST_MULTIPLIER:
                raise ValueError("multipliers outside [1, 16]")
            z, rest = np.divmod(z, _spread(multipliers, group, w.shape[1]))
            if rest.any():
                raise ValueError("weights that their multipliers do not divide")
        if np.abs(z).max(initial=0) > self.limit:
            reach = f"[-{self.limit}, {self.limit}]"
            raise ValueError(f"weights that are no integers of {self.bits} bits in {reach}")
        return Encoded(self._packed(z.T if depthwise else z), multipliers, group)

    def decode(
        self,
        blob: bytes,
        weights: int,
        auxiliary: int,
        group: int,
        shape: tuple[int, int],
        depthwise: bool,
    ) -> NDArray[np.int8]:
        n, k = shape
        rows, count = (k, n) if depthwise else (n, k)
        many, half = 8 // self.bits, 1 << (self.bits - 1)
        size = rows * -(-count // many)
        data = np.frombuffer(blob, np.uint8, size, weights).reshape(rows, -1, 1)
        parts = data >> (np.arange(many) * self.bits) & (2 * half - 1)
        z = ((parts.reshape(rows, -1)[:, :count] ^ half).astype(np.int8) - half).astype(np.int8)
        z = z.T if depthwise else z
        if not group:
            return z
        groups = -(-k // group)
        multipliers = np.frombuffer(blob, np.uint8, n * groups, auxiliary).reshape(n, groups)
        return effective(z, group, multipliers)

    def _packed(self, rows: NDArray[np.int16]) -> NDArray[np.uint8]:
        many = 8 // self.bits
        even = np.zeros((rows.shape[0], -(-rows.shape[1] // many) * many), np.uint8)
        even[:, : rows.shape[1]] = rows & (1 << self.bits) - 1
        parts = even.reshape(len(rows), -1, many) << (np.arange(many, dtype=np.uint8) * self.bits)
        packed: NDArray[np.uint8] = np.bitwise_or.reduce(parts, axis=2)
        return packed


def effective(
    z: NDArray[np.int8], group: int, multipliers: NDArray[np.uint8] | None
) -> NDArray[np.int8]:
    """The int8 weights [n, k] of integers [n, k]."""
    if not group or multipliers is None:
        return z
    return (z.astype(np.int16) * _spread(multipliers, group, z.shape[1])).astype(np.int8)


def _spread(multipliers: NDArray[np.uint8], group: int, k: int) -> NDArray[np.int16]:
    """[n, k]: of each weight."""
    return np.repeat(multipliers, group, axis=1)[:, :k].astype(np.int16)
