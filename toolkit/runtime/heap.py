"""What the C library keeps of freed memory (runtime_c/binding/toolkit.h)."""

from __future__ import annotations

from ...runtime_c._ffi import lib


def return_freed() -> None:
    """Give it back to the system.

    glibc keeps up to 64 MiB once an array of 32 MiB was freed, and all that lies below what is in
    use. Called between phases that hold much: it takes a few milliseconds, and what is allocated
    next comes from the system anew.
    """
    lib.ek_return_freed()


def share_heap() -> None:
    """Let the threads that start from now on use the process's heap.

    glibc gives each of them one, and each keeps what was needed at most. For a process that is ours
    alone: many small arrays at a time would wait for each other.
    """
    lib.ek_share_heap()
