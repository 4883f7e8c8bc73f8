"""What the C library keeps of freed memory (runtime_c/binding/toolkit.h)."""

from __future__ import annotations

from ...runtime_c._ffi import lib


def return_freed() -> None:
    """Give it back to the system.

    glibc keeps up to 64 MiB once an array of 32 MiB was freed, and all that lies below what is in
    use. Called before phases whose arrays are of other sizes: it takes a few milliseconds, and what
    is allocated next comes from the system anew.
    """
    lib.ek_return_freed()


def share_heap() -> None:
    """Let the threads that start from now on use the process's heap, which keeps what is freed for
    the next array of up to 32 MiB.

    glibc gives each thread a heap of its own, which keeps the most memory that it needed, and
    large arrays come from the system, which clears them. Only for a process of our own: threads
    that share a heap wait for each other to allocate small arrays.
    """
    lib.ek_share_heap()
