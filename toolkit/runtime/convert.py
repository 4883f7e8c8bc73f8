"""Arrays as users hold them <-> as the runtime holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calibration import numbers_of
from ...runtime_c._ffi import ffi, lib
from ..errors import UserError
from ..ir import Array
from ..numerics import is_real, is_whole
from .model import IoInfo

_SIGN = 128
"""Between the uint8 and the int8 of one real number, whose zero points are as far apart."""


def write_input(io: IoInfo, target: Array, x: Array, kernels: Any) -> None:
    """Write `x`, of the input's shape, into the runtime's memory, quantized by the table `kernels`.

    Raises UserError for a wrong type.
    """
    if io.is_text and x.dtype.kind in "OSU":
        target[...] = codes(io, x)
    elif io.is_quantized and x.dtype == io.dtype:
        target[...] = x
    elif is_real(io.onnx_dtype) and is_real(x.dtype):
        if io.is_quantized:
            _quantize(io, target, x, kernels)
        else:
            _write_floats(io, target, x)
    elif io.onnx_dtype.kind == "b" and (x.dtype == np.bool_ or x.dtype == np.uint8):
        target[...] = x != 0
    elif is_whole(io.onnx_dtype) and is_whole(x.dtype):
        _write_integers(io, target, x)
    else:
        also = f" (or {io.dtype}, quantized)" if io.is_quantized else ""
        raise UserError(f"input '{io.name}': expected {io.onnx_dtype}{also}, got {x.dtype}")


def to_user(io: IoInfo, raw: Array) -> Array:
    """A copy of `raw` in ONNX element type: quantized integers become floats."""
    if not io.is_quantized:
        return raw.astype(io.onnx_dtype)
    out: NDArray[np.float32] = np.empty(raw.shape, np.float32)
    x, raw = _pointer("float *", out), np.ascontiguousarray(raw)
    if io.dtype == np.uint8:
        raw = (raw ^ _SIGN).view(np.int8)
        lib.ek_dequantize_s8_f32(
            x, _pointer("int8_t *", raw), out.size, io.scale, io.zero_point - _SIGN
        )
    elif io.dtype == np.int16:
        lib.ek_dequantize_s16_f32(x, _pointer("int16_t *", raw), out.size, io.scale)
    else:
        q = _pointer("int8_t *", raw)
        lib.ek_dequantize_s8_f32(x, q, out.size, io.scale, io.zero_point)
    return out.astype(io.onnx_dtype, copy=False)


def codes(io: IoInfo, texts: Array) -> NDArray[np.int32]:
    """The numbers of labels; of a text that is none of them, one more than the last."""
    return numbers_of(texts, io.labels)


def row_of(io: IoInfo, values: Mapping[Any, Any]) -> Array:
    """The values by the names of the input's columns, as its row; 0 where there is none.

    Names that are no columns are passed over, as DictVectorizer does. UserError if there are none.
    """
    if not io.labels or io.is_text:
        raise UserError(f"input '{io.name}': its columns have no names; give an array")
    known = {str(key): value for key, value in values.items()}
    return np.array([[known.get(name, 0) for name in io.labels]], io.onnx_dtype)


def texts_of(io: IoInfo, numbers: Array) -> Array:
    """The labels that the numbers of an output stand for."""
    return np.array(io.labels)[numbers]


def _quantize(io: IoInfo, target: Array, x: Array, kernels: Any) -> None:
    real = np.ascontiguousarray(x, np.float32)
    values = _pointer("float *", real)
    if io.dtype == np.int16:
        q = _pointer("int16_t *", target)
        lib.ek_quantize_f32_s16(kernels, q, values, real.size, io.scale)
    else:
        unsigned = io.dtype == np.uint8
        q = _pointer("int8_t *", target)
        zero = io.zero_point - _SIGN if unsigned else io.zero_point
        lib.ek_quantize_f32_s8(kernels, q, values, real.size, io.scale, zero)
        if unsigned:
            target ^= _SIGN


def _write_floats(io: IoInfo, target: Array, x: Array) -> None:
    with np.errstate(over="ignore"):
        target[...] = x
    if x.dtype.itemsize > target.dtype.itemsize:
        beyond = np.isfinite(x) & ~np.isfinite(target)
        if np.any(beyond):
            raise UserError(
                f"input '{io.name}': {x[beyond].flat[0]} does not fit {target.dtype}, the type "
                "that the runtime computes in"
            )


def _write_integers(io: IoInfo, target: Array, x: Array) -> None:
    limits = np.iinfo(target.dtype)
    x = x if x.dtype.kind in "iu" else x.astype(target.dtype)
    if x.size and (x.min() < limits.min or x.max() > limits.max):
        raise UserError(
            f"input '{io.name}': values from {x.min()} to {x.max()} do not fit {target.dtype}, "
            "the type that the runtime computes in"
        )
    target[...] = x


def _pointer(kind: str, array: Array) -> Any:
    return ffi.from_buffer(kind, array)
