"""ONNX element types by number, for those that must not import onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMPY: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    4: np.dtype(np.uint16),
    5: np.dtype(np.int16),
    6: np.dtype(np.int32),
    7: np.dtype(np.int64),
    9: np.dtype(np.bool_),
    10: np.dtype(np.float16),
    11: np.dtype(np.float64),
    12: np.dtype(np.uint32),
    13: np.dtype(np.uint64),
    16: np.dtype(np.float32),  # bfloat16, which numpy lacks
}
"""TensorProto.DataType -> what numpy calls it."""


def numpy_dtype(onnx_dtype: int) -> np.dtype[Any]:
    """The element type users see; float32 for the kinds of float that numpy lacks."""
    return NUMPY.get(onnx_dtype, np.dtype(np.float32))
