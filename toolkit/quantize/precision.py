"""What a node can run on."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Precision = Literal["float32", "int16", "int8", "int4"]
"""int16: activations, with int8 weights; int4: weights, with int8 activations."""

DType = np.dtype[Any]

FLOAT, INT8, INT16 = (np.dtype(t) for t in (np.float32, np.int8, np.int16))

ACTIVATIONS: dict[Precision, DType] = {
    "float32": FLOAT,
    "int16": INT16,
    "int8": INT8,
    "int4": INT8,
}
