"""Choosing from many things by few questions, each about a block of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def select_subset(
    items: Sequence[T], accept: Callable[[list[T]], bool], size: int, tries: int
) -> list[T]:
    """The items, in their order, that `accept` takes beside those before; those left when the
    `tries` are over are not taken.

    It is asked for `size` at once first, for twice as many as it has taken, for half of what it has
    not.
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
