"""Updates coded and applied in C: the decoder is the one that devices run."""

from __future__ import annotations

from ...runtime_c._ffi import ffi, lib

LITERAL, COPY, DIFFERENCE = 0, 1, 2
Run = tuple[int, int, int]
"""Kind, bytes, and where a copy or a difference begins in the new or the old file."""


def coded(runs: list[Run], new: bytes, old: bytes) -> bytes:
    """The coded bytes of runs that make up `new`."""
    table = ffi.new("ek_update_run[]", runs)
    most = 2 * len(new) + 1024 + 32 * len(runs)
    out = ffi.new("uint8_t[]", most)
    size = lib.ek_update_code(
        table, len(runs), ffi.from_buffer(new), ffi.from_buffer(old), out, most
    )
    return bytes(ffi.buffer(out, size))


def apply(update: bytes, old: bytes, capacity: int, piece: int = 4096) -> bytes | None:
    """What `update` makes of `old`, fed in pieces; None for any error, also beyond `capacity`."""
    out = ffi.new("uint8_t[]", max(capacity, 1))
    made = ffi.new("uint32_t *")
    status = lib.ek_update_apply(
        ffi.from_buffer(update), len(update), piece, ffi.from_buffer(old), len(old), out, capacity,
        made,
    )  # fmt: skip
    return bytes(ffi.buffer(out, made[0])) if status == lib.EK_OK else None
