"""The memory of this process."""

from __future__ import annotations

from ...runtime_c._ffi import lib


def trim_heap() -> None:
    """Give memory that was freed back to the system, where the C library would keep it.

    Between steps that each free much: what is left of one lies between what the next one needs.
    """
    lib.ek_trim_heap()
