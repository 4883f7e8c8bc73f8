"""Work on all cores, in code that runs without the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_here = threading.local()


def cores() -> int:
    """The number of cores that this thread may use: one in what others work beside."""
    if getattr(_here, "beside_others", False):
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def on_cores(work: Callable[[T], R], items: Sequence[T], most: int | None = None) -> list[R]:
    """What `work` returns for each item, called for as many at a time as there are cores, `most` at
    most. Raises what the first item that fails raises."""
    many = len(items) if most is None else min(len(items), most)
    if many < 2 or (many := min(many, cores())) < 2:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # which imports logging, and few need

    with ThreadPoolExecutor(many, initializer=beside_others) as pool:
        return list(pool.map(work, items))


def beside_others() -> None:
    """Let this thread use one core from now on: others work on the rest."""
    _here.beside_others = True
