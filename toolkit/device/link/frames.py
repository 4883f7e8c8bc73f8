"""Frames of link.h: seq, command, length, data and their CRC-32, in COBS with a 0 behind."""

from __future__ import annotations

import struct
import zlib

HELLO, WRITE, STEP, READ, CRC, RESET = range(1, 7)
OUTPUT = 0xFFFF
PAYLOAD = 240
VERSION = 1

_ANSWER = 0x80


def stuffed(body: bytes) -> bytes:
    """COBS of fewer than 255 bytes, with the 0 that ends a frame."""
    return b"".join(bytes([len(run) + 1]) + run for run in body.split(b"\0")) + b"\0"


def unstuffed(frame: bytes) -> bytes | None:
    """What COBS without its 0 stands for; None if it is damaged."""
    found, at = [], 0
    while at < len(frame):
        code = frame[at]
        if not code or at + code > len(frame):
            return None
        found.append(frame[at + 1 : at + code])
        at += code
    return b"\0".join(found)


def request(seq: int, command: int, data: bytes) -> bytes:
    """A frame to the board."""
    body = struct.pack("<BBH", seq, command, len(data)) + data
    return stuffed(body + struct.pack("<I", zlib.crc32(body)))


def answer(frame: bytes, seq: int, command: int) -> tuple[int, bytes] | None:
    """Status and data of the board's answer to that request; None for any other frame."""
    body = unstuffed(frame)
    if body is None or len(body) < 9:
        return None
    of, to, length = struct.unpack_from("<BBH", body)
    (crc,) = struct.unpack("<I", body[-4:])
    if length != len(body) - 8 or zlib.crc32(body[:-4]) != crc:
        return None
    if (of, to) != (seq, command | _ANSWER):
        return None
    return struct.unpack_from("<b", body, 4)[0], body[5:-4]
