"""What tensors lose in the steps of their quantization, in C (runtime_c/binding/toolkit.h).

Values and steps are float32, sums float64 in an order that no number of threads changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime_c._ffi import ffi, lib
from ..ir import Array, QuantParams
from .linear_algebra import Reals, pointer

BINS: int = lib.EK_STEP_BINS


def energy(x: Array) -> float:
    """The sum of squares of float32 numbers."""
    return float(lib.ek_energy_f32(_floats(x), x.size))


def add_step_errors(
    x: Array, floor: Array | None, quant: QuantParams, sums: Reals, bins: NDArray[np.int64]
) -> int:
    """Add what `quant` holds for x to sums [3]: the squares of x, of its errors, and of those
    beyond the range, whose number is returned. Values below `floor`, of the same shape, count as
    that. `bins` [BINS] counts values in equal parts of the range."""
    given = _floats(x), _floor(floor), x.size, _steps(quant)
    into = pointer("double", sums), pointer("int64_t", bins)
    return int(lib.ek_step_errors_f32(*given, *into))


def add_weighted_errors(
    y: Array, x: Array, floor: Array | None, quant: QuantParams, sums: Reals, shift: Reals
) -> None:
    """Add the errors of y [..., channels], beside x, to shift [channels], and their squares and
    those of what `quant` holds for y to sums [2]; `floor` as above."""
    given = _floats(y), _floats(x), _floor(floor), x.size // len(shift), len(shift), _steps(quant)
    lib.ek_weighted_errors_f32(*given, pointer("double", sums), pointer("double", shift))


def _steps(q: QuantParams) -> Any:
    return ffi.new("ek_steps *", (1 / q.scalar, q.scalar, q.zero_point, q.qmin, q.qmax))


def _floor(floor: Array | None) -> Any:
    return ffi.NULL if floor is None else _floats(floor)


def _floats(array: Array) -> Any:
    return pointer("float", np.ascontiguousarray(array, np.float32))
