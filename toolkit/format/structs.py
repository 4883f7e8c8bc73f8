"""Structs of edge.fbs to bytes and back, by flattened field name."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache

from .schema import STRUCTS

Number = int | float

NO_BLOB = 0xFFFFFFFF
"""Offset in the blob of what is not there."""


_MAY_LACK = frozenset({"reserved"})


def float_bits(value: float) -> int:
    """The bits of a float32 as a signed integer: how a float lies in a field that is one."""
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return int(bits)


def pack(name: str, fields: Mapping[str, Number]) -> bytes:
    """Bytes of struct `name`; fields called reserved may be left out, no other.

    Raises ValueError naming the field that is missing, unknown or out of its type's range.
    """
    code, names, _, _ = STRUCTS[name]
    if fields.keys() - _MAY_LACK != _needed(name):
        raise ValueError(_wrong(name, fields))
    values = [fields.get(field, 0) for field in names]
    try:
        return struct.pack(code, *values)
    except struct.error as why:
        for field, value, letter in zip(names, values, code[1:], strict=True):
            try:
                struct.pack("<" + letter, value)
            except struct.error:
                raise ValueError(f"{name}.{field} = {value} does not fit its type") from why
        raise


@cache
def _needed(name: str) -> frozenset[str]:
    return frozenset(STRUCTS[name][1]) - _MAY_LACK


def _wrong(name: str, fields: Mapping[str, Number]) -> str:
    unknown = fields.keys() - set(STRUCTS[name][1])
    if unknown:
        return f"{name} has no field {', '.join(sorted(unknown))}"
    missing = next(f for f in STRUCTS[name][1] if f not in fields and f not in _MAY_LACK)
    return f"{name}.{missing} is missing"


def unpack(name: str, data: bytes | bytearray | memoryview, offset: int = 0) -> dict[str, Number]:
    """Fields of the struct `name` at `offset`, without the reserved ones."""
    code, names, _, _ = STRUCTS[name]
    values = struct.unpack_from(code, data, offset)
    return {n: v for n, v in zip(names, values, strict=True) if n != "reserved"}


def size(name: str) -> int:
    """Bytes of struct `name`."""
    return STRUCTS[name][2]
