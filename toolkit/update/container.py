"""The container of updates (docs/updates.md), and the runtime's decoder in this process."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import sha256

from ..errors import UserError
from ..runtime.updates import apply, coded
from .runs import runs

MAGIC = b"EKU1"
_SIZES = struct.Struct("<4sIII")
_DIGEST = 32
_HASH_SAID = 12
"""Digits of a hash in an error: enough to tell files apart."""


@dataclass(frozen=True)
class Header:
    """What an update says of itself: sizes in bytes, SHA-256 in hex; `old` is "" for a pack."""

    old_bytes: int
    new_bytes: int
    coded_bytes: int
    new: str
    old: str


def made(new: bytes, old: bytes = b"") -> bytes:
    """The update that makes `new` of `old`; of nothing, a pack."""
    stream = coded(runs(new, old), new, old)
    head = _SIZES.pack(MAGIC, len(old), len(new), len(stream)) + sha256(new).digest()
    return head + (sha256(old).digest() if old else b"") + stream


def header(update: bytes, name: str) -> Header:
    """The header of the file called `name`. Raises UserError if it is no update, or cut off."""
    if update[:4] != MAGIC:
        raise UserError(
            f"{name}: is not a pack or an update; create one with edgekit pack or edgekit diff"
        )
    size = _SIZES.size + _DIGEST
    if len(update) >= size:
        _, old_bytes, new_bytes, coded_bytes = _SIZES.unpack_from(update)
        end = size + (_DIGEST if old_bytes else 0)
        if len(update) == end + coded_bytes:
            new, old = update[_SIZES.size : size].hex(), update[size:end].hex()
            return Header(old_bytes, new_bytes, coded_bytes, new, old)
    raise UserError(f"{name}: is damaged or incomplete; copy it again")


def applied(update: bytes, old: bytes | None, name: str, old_name: str = "") -> bytes:
    """What the update called `name` makes of `old`, by the decoder that devices run.

    Raises UserError for another old file than it was made for, and for a damaged update.
    """
    said = header(update, name)
    if said.old_bytes and old is None:
        wanted = said.old[:_HASH_SAID]
        raise UserError(f"{name}: needs the old file, SHA-256 {wanted}...; give it with --old")
    if not said.old_bytes and old is not None:
        raise UserError(f"{name}: is a pack, which needs no old file; omit --old")
    if said.old_bytes and (found := sha256(old or b"").hexdigest()) != said.old:
        raise UserError(
            f"{old_name}: is not the file that {name} was made for: its SHA-256 is "
            f"{found[:_HASH_SAID]}..., not {said.old[:_HASH_SAID]}...; pass that one with --old"
        )
    data = apply(update, old or b"", said.new_bytes)
    if data is None:
        raise UserError(f"{name}: is damaged: its SHA-256 does not match; copy it again")
    return data
