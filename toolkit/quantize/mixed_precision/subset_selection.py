"""Selection of items by few tests, each of a block of items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def select_subset(
    items: Sequence[T], accept: Callable[[list[T]], bool], size: int, tries: int
) -> list[T]:
    """The items, in order, that `accept` takes in addition to those before; items left after
    `tries` tests are not taken.

    The first test has `size` items; after success the next block is twice as large, after failure
    half as large.
    """
    taken: list[T] = []
    at = 0
    for _ in range(tries):
        some = items[at : at + size]
        if not some:
            break
        if accept([*taken, *some]):
            taken += some
            at, size = at + len(some), 2 * size
        elif len(some) > 1:
            size = len(some) // 2
        else:
            at += 1
    return taken
