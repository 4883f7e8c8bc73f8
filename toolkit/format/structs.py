"""Structs of edge.fbs to bytes and back, by flattened field name."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from .schema import STRUCTS

Number = int | float

NO_BLOB = 0xFFFFFFFF
"""Offset in the blob of what is not there."""


def float_bits(value: float) -> int:
    """The bits of a float32 as a signed integer: how a float lies in a field that is one."""
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return int(bits)


def pack(name: str, fields: Mapping[str, Number]) -> bytes:
    """Bytes of struct `name`; fields called reserved may be left out, no other.

    Raises ValueError naming the field that is missing, unknown or out of its type's range.
    """
    code, names, _, _ = STRUCTS[name]
    unknown = set(fields) - set(names)
    if unknown:
        raise ValueError(f"{name} has no field {', '.join(sorted(unknown))}")
    values = []
    for field in names:
        if field not in fields and field != "reserved":
            raise ValueError(f"{name}.{field} is missing")
        values.append(fields.get(field, 0))
    try:
        return struct.pack(code, *values)
    except struct.error as why:
        for field, value, letter in zip(names, values, code[1:], strict=True):
            try:
                struct.pack("<" + letter, value)
            except struct.error:
                raise ValueError(f"{name}.{field} = {value} does not fit its type") from why
        raise


def unpack(name: str, data: bytes | memoryview, offset: int = 0) -> dict[str, Number]:
    """Fields of the struct `name` at `offset`, without the reserved ones."""
    code, names, _, _ = STRUCTS[name]
    values = struct.unpack_from(code, data, offset)
    return {n: v for n, v in zip(names, values, strict=True) if n != "reserved"}


def size(name: str) -> int:
    """Bytes of struct `name`."""
    return STRUCTS[name][2]
