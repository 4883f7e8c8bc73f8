"""What a node can run on."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Precision = Literal["float32", "int16", "int8", "int4", "int16x4"]
"""int16: activations, with int8 weights; int4: weights, with int8 activations; int16x4: both."""

DType = np.dtype[Any]

FLOAT, INT8, INT16 = (np.dtype(t) for t in (np.float32, np.int8, np.int16))

ACTIVATION_DTYPE: dict[Precision, DType] = {
    "float32": FLOAT,
    "int16": INT16,
    "int8": INT8,
    "int4": INT8,
    "int16x4": INT16,
}

WITH_INT4_WEIGHTS: frozenset[Precision] = frozenset({"int4", "int16x4"})
"""Those whose weights are."""


def has(made: Precision, part: Precision) -> bool:
    """Whether what is `made` so is `part`, or has it: int16x4 has int16 and int4."""
    return made == part or (made == "int16x4" and part in ("int16", "int4"))
