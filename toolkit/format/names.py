"""Names of operators, front coded: most repeat the start of an earlier one (docs/format.md)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

_FAR = 15  # names to look back
_MOST = 0xFF  # bytes repeated


def encode(names: Sequence[str]) -> bytes:
    """Each name: a byte of 16 * (how many names ago one began alike) + the bytes that differ, up to
    15; where it did, in how many bytes; the bytes that differ, ended by NUL if they are 15 or more.
    """
    return _encoded(tuple(names))


@lru_cache(maxsize=16)  # a search writes many files with the same names
def _encoded(names: tuple[str, ...]) -> bytes:
    raw = [name.encode() for name in names]
    out = bytearray()
    for i, name in enumerate(raw):
        alike = [_alike(name, raw[i - back]) for back in range(1, min(i, _FAR) + 1)]
        same = max(alike, default=0)
        rest = name[same:]
        length = min(len(rest), _FAR)
        out += bytes([(alike.index(same) + 1) << 4 | length, same] if same else [length])
        out += rest + b"\0" * (length == _FAR)
    return bytes(out)


def decode(data: bytes) -> list[str]:
    """The names. Raises ValueError or IndexError for bytes that are none."""
    names: list[bytes] = []
    at = 0
    while at < len(data):
        back, length = data[at] >> 4, data[at] & 15
        start = b""
        if back:
            at += 1
            start = names[-back][: data[at]]
        end = data.index(0, at + 1) if length == _FAR else at + 1 + length
        names.append(start + data[at + 1 : end])
        at = end + (length == _FAR)
    return [name.decode() for name in names]


def _alike(a: bytes, b: bytes) -> int:
    """In how many first bytes, of those that a byte can count."""
    n = min(len(a), len(b), _MOST)
    differing = int.from_bytes(a[:n], "big") ^ int.from_bytes(b[:n], "big")
    return n - (differing.bit_length() + 7) // 8
