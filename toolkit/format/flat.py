"""Tables of a FlatBuffer, read in place: as little of the format as the reader needs.

Source: FlatBuffers internals, https://flatbuffers.dev/internals/. Nothing is proved here:
struct.error comes of positions outside of the data.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """The table at byte `pos` of `data`."""

    data: bytes | bytearray
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


def follow(data: bytes | bytearray, at: int) -> int:
    """Where the offset at `at` points."""
    (offset,) = struct.unpack_from("<I", data, at)
    return at + int(offset)
