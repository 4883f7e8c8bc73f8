"""Functions of two int32 tensors, modulo 2^32: what index arithmetic computes with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...format.schema import BinaryFn
from ...ir import Array, Value

Int = NDArray[np.int64]


def _divide(a: Int, b: Int) -> Int:
    """Towards zero; by zero it is 0."""
    whole = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.where(b == 0, 0, np.where((a < 0) != (b < 0), -whole, whole))


FUNCTIONS: dict[BinaryFn, Callable[[Int, Int], Int]] = {
    BinaryFn.Add: np.add,
    BinaryFn.Sub: np.subtract,
    BinaryFn.Mul: np.multiply,
    BinaryFn.Div: _divide,
    BinaryFn.Min: np.minimum,
    BinaryFn.Max: np.maximum,
}


def is_int32(v: Value) -> bool:
    """Whether the runtime holds `v` as int32: constants may still have 64 bits."""
    return bool(v.dtype == np.int32 or v.dtype == np.int64)


def compute(fn: BinaryFn, a: Int, b: Int) -> Array:
    """The function of numbers of 32 bits, as int32."""
    exact = FUNCTIONS[fn](a, b)
    return exact.astype(np.uint64).astype(np.uint32).view(np.int32)
