"""The checksums of a file, and where it holds them."""

from __future__ import annotations

import struct
import zlib

from .flat import Data, Table
from .schema import SLOTS


def checksum_position(data: Data) -> tuple[int, int, int]:
    """Byte positions of the checksums struct, of the blob's first byte, and of its end."""
    (root,) = struct.unpack_from("<I", data, 0)
    table = Table(data, root)
    blob, count = table.vector(table.field(SLOTS["Model"]["blob"]))
    return table.field(SLOTS["Model"]["checksums"]), blob, blob + count


def checksums(data: Data) -> tuple[int, int]:
    """(graph, blob) CRC-32 of a file, whatever it has stored."""
    at, blob, end = checksum_position(data)
    blanked = bytearray(data)
    blanked[at : at + 8] = bytes(8)
    graph = zlib.crc32(blanked[end:], zlib.crc32(blanked[:blob]))
    return graph, zlib.crc32(blanked[blob:end])
