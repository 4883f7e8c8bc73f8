"""Tables of a FlatBuffer, read in place: as little of the format as the reader needs.

Source: FlatBuffers internals, https://flatbuffers.dev/internals/. Nothing is proved here:
struct.error comes of positions outside of the data.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

Data = bytes | bytearray | memoryview

_COUNT = struct.Struct("<I")
COUNT_BYTES = _COUNT.size
"""Before a vector's elements."""


@dataclass(frozen=True)
class Table:
    """The table at byte `pos` of `data`."""

    data: Data
    pos: int

    def field(self, slot: int) -> int:
        """The position of a field; 0 where it is left out."""
        (back,) = struct.unpack_from("<i", self.data, self.pos)
        begin = self.pos - back
        if begin < 0:
            raise struct.error("a table's list of fields lies before the file")
        (size,) = struct.unpack_from("<H", self.data, begin)
        at = 4 + 2 * slot
        if at >= size:
            return 0
        (offset,) = struct.unpack_from("<H", self.data, begin + at)
        return self.pos + int(offset) if offset else 0

    def vector(self, at: int) -> tuple[int, int]:
        """Of the field at `at`: the position of the first element, and how many there are."""
        begin = follow(self.data, at)
        (count,) = struct.unpack_from("<I", self.data, begin)
        return begin + 4, int(count)


def follow(data: Data, at: int) -> int:
    """Where the offset at `at` points."""
    (offset,) = struct.unpack_from("<I", data, at)
    return at + int(offset)


Vector = tuple[int, bytes | bytearray]
"""How many elements there are, of 4 bytes at most each, and their bytes."""


def with_vectors(begin: bytes, fields: Sequence[int], vectors: Sequence[Vector]) -> bytes:
    """A file that begins so, and the vectors of these fields behind that, each copied once."""
    head = bytearray(begin)
    parts: list[bytes | bytearray] = [head]
    end = len(head)
    for field, (size, vector) in zip(fields, vectors, strict=True):
        _COUNT.pack_into(head, field, end - field)
        pad = bytes(-len(vector) % _COUNT.size)
        parts += [_COUNT.pack(size), vector, pad]
        end += _COUNT.size + len(vector) + len(pad)
    return b"".join(parts)
