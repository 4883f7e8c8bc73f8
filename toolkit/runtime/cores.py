"""Work on all cores, in code that runs without the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_cores(work: Callable[[T], None], items: Iterable[T]) -> None:
    """Call `work` with each item, as many at a time as there are cores. Raises what the first item
    that fails raises."""
    from concurrent.futures import ThreadPoolExecutor  # which imports logging, and few need

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, items))
