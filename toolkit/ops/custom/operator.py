"""The Python interface of custom operators (docs/custom-operators.md)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...ir import Array, Shape

OutputType = tuple[Any, Sequence[int]]
"""Element type (anything that numpy accepts) and shape."""


@dataclass(frozen=True)
class Operand:
    """An input or output. `value` is its array if it is constant.

    If it is quantized (int8 or int16), real = scale * (q - zero_point); otherwise the scale is 0.
    """

    shape: Shape
    dtype: np.dtype[Any]
    scale: float = 0.0
    zero_point: int = 0
    value: Array | None = None

    @property
    def is_quantized(self) -> bool:
        return self.scale > 0


@dataclass(frozen=True)
class CustomCall:
    """The arguments of an operator. An absent optional input is None; in `infer`, `outputs` is
    empty."""

    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def input(self, i: int) -> Operand:
        """Input `i`. Raises ValueError if it is absent."""
        operand = self.inputs[i] if i < len(self.inputs) else None
        if operand is None:
            raise ValueError(f"input {i} is missing")
        return operand


class CustomOp:
    """Base class of custom operators. Register a derived class with `--op FILE.py` or
    `register_op`.

    domain, op_type  of the ONNX node
    version          must equal the version of the C code
    attributes       name: (format of `struct`, default value or None if it is required). They are
                     stored in the file; C receives a struct of them in this order
    integers         element types ("int8", "int16") that `integer` supports. Without them the
                     operator stays float32 in a quantized model, between Dequantize and Quantize
    same_scale       integer inputs and output share one scale and zero point: for operators that
                     move or select elements
    """

    domain: ClassVar[str] = ""
    op_type: ClassVar[str] = ""
    version: ClassVar[int] = 1
    attributes: ClassVar[Mapping[str, tuple[str, Any]]] = {}
    integers: ClassVar[Sequence[str]] = ()
    same_scale: ClassVar[bool] = False

    def infer(self, call: CustomCall) -> Sequence[OutputType]:
        """(element type, shape) of each output. Raise ValueError for unsupported inputs."""
        raise NotImplementedError("it has no `infer`")

    def compute(self, call: CustomCall, *inputs: Any, **_: Any) -> Any:
        """The float output, or a tuple of several, for arrays described by `call.inputs`."""
        raise NotImplementedError("it has no `compute`")

    def integer(self, call: CustomCall, *inputs: Any, **_: Any) -> Any:
        """The integer output for quantized inputs, with the scales in `call`. The C code must give
        the same bytes."""
        raise NotImplementedError("it has no `integer`")

    def output_quantization(self, call: CustomCall, dtype: str) -> tuple[float, int] | None:
        """(scale, zero point) of the output for dtype "int8" or "int16"; None: calibrated."""
        return None

    def pack(self, call: CustomCall) -> bytes:
        """The `attributes` passed to C; by default a struct of the values of `attributes`."""
        return _packed(
            [(code, call.attributes[name]) for name, (code, _) in self.attributes.items()]
        )

    def unpack(self, data: bytes) -> dict[str, Any]:
        """The attributes from bytes written by `pack`, to run a file without C code."""
        if type(self).pack is not CustomOp.pack:
            raise NotImplementedError("it has a `pack` and no `unpack`; give its C file as well")
        return dict(zip(self.attributes, _unpacked(self.attributes.values(), data), strict=True))

    def scratch(self, call: CustomCall) -> int:
        """Scratch size of the C function in bytes."""
        return 0


def _layout(codes: Sequence[str]) -> tuple[list[int], int]:
    """Where each field lies, at a multiple of its size as in C, and the bytes of all."""
    offsets, at, align = [], 0, 1
    for code in codes:
        size = struct.calcsize(f"<{code[-1]}")
        at = -(-at // size) * size
        offsets.append(at)
        at, align = at + struct.calcsize(f"<{code}"), max(align, size)
    return offsets, -(-at // align) * align


def _packed(fields: Sequence[tuple[str, Any]]) -> bytes:
    offsets, size = _layout([code for code, _ in fields])
    out = bytearray(size)
    for at, (code, value) in zip(offsets, fields, strict=True):
        values = value if isinstance(value, list | tuple | np.ndarray) else (value,)
        struct.pack_into(f"<{code}", out, at, *values)
    return bytes(out)


def _unpacked(fields: Any, data: bytes) -> list[Any]:
    codes = [code for code, _ in fields]
    offsets, size = _layout(codes)
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes of attributes where {size} are expected")
    found = [
        struct.unpack_from(f"<{code}", data, at) for at, code in zip(offsets, codes, strict=True)
    ]
    return [list(v) if len(code) > 1 else v[0] for code, v in zip(codes, found, strict=True)]
