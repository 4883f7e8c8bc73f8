"""What a user says of an operator of his own, in Python (docs/custom-operators.md)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ...ir import Array, Shape

OutputType = tuple[Any, Sequence[int]]
"""Element type, as numpy understands it, and shape."""


@dataclass(frozen=True)
class Operand:
    """An input or output: `value` is its array, where that is constant.

    Where it is quantized, as int8 or int16, real = scale * (q - zero_point); else the scale is 0.
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
    """A use of an operator. An absent optional input is None; `outputs` is empty for `infer`."""

    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def input(self, i: int) -> Operand:
        """Input `i`. Raises ValueError where it is absent."""
        operand = self.inputs[i] if i < len(self.inputs) else None
        if operand is None:
            raise ValueError(f"input {i} is missing")
        return operand


class CustomOp:
    """An operator that edgekit does not have. Derive a class, and hand it over by `--op FILE.py` or
    `register_op`.

    domain, op_type  of the ONNX node
    version          that of the C, which is found by name and version
    attributes       by name: the letter of `struct` and the value where a node says none. They are
                     what the file holds, and C finds a struct of them in this order
    integers         element types, "int8" and "int16", that `integer` computes on; else the
                     operator stays float32 in a quantized model, between Dequantize and Quantize
    same_scale       integer inputs and output have one scale and zero point: for what moves or
                     selects elements
    """

    domain: ClassVar[str] = ""
    op_type: ClassVar[str] = ""
    version: ClassVar[int] = 1
    attributes: ClassVar[Mapping[str, tuple[str, Any]]] = {}
    integers: ClassVar[Sequence[str]] = ()
    same_scale: ClassVar[bool] = False

    def infer(self, call: CustomCall) -> Sequence[OutputType]:
        """(element type, shape) of each output. Raise ValueError for inputs that do not fit."""
        raise NotImplementedError("it has no `infer`")

    def compute(self, call: CustomCall, *inputs: Any, **_: Any) -> Any:
        """The output of a float model, or a tuple of several, of arrays as `call.inputs` says."""
        raise NotImplementedError("it has no `compute`")

    def integer(self, call: CustomCall, *inputs: Any, **_: Any) -> Any:
        """The output of a quantized model, of integers whose scales `call` has. C gives the same to
        the bit."""
        raise NotImplementedError("it has no `integer`")

    def output_quantization(self, call: CustomCall, dtype: str) -> tuple[float, int] | None:
        """(scale, zero point) that the output has as "int8" or "int16"; None: by calibration."""
        return None

    def pack(self, call: CustomCall) -> bytes:
        """What C finds as `attributes`; by default a struct of the values of `attributes`."""
        return _packed(
            [(code, call.attributes[name]) for name, (code, _) in self.attributes.items()]
        )

    def unpack(self, data: bytes) -> dict[str, Any]:
        """The attributes of bytes that `pack` wrote: where there is no C, a file is run by them."""
        if type(self).pack is not CustomOp.pack:
            raise NotImplementedError("it has a `pack` and no `unpack`; give its C file as well")
        return dict(zip(self.attributes, _unpacked(self.attributes.values(), data), strict=True))

    def scratch(self, call: CustomCall) -> int:
        """Bytes that C works with while it runs."""
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
