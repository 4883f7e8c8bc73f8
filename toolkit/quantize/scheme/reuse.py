"""A cache for parts of quantized graphs that do not change while other ranges are tried."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 3
"""Number of most recent results kept per owner."""


class Reuse:
    """Cached results of each owner, by their inputs."""

    def __init__(self) -> None:
        self._known: dict[Hashable, dict[Hashable, Any]] = {}

    def __call__(self, owner: Hashable, made_from: Hashable, make: Callable[[], T]) -> T:
        """The cached result of `owner` for `made_from`, or a new one from `make`."""
        known = self._known.setdefault(owner, {})
        if made_from in known:
            known[made_from] = found = known.pop(made_from)  # most recent last
            return found  # type: ignore[no-any-return]
        found = make()
        while len(known) >= MOST:
            known.pop(next(iter(known)))
        known[made_from] = found
        return found

    def clear(self) -> None:
        """Drop all results."""
        self._known.clear()


class Nothing(Reuse):
    """A cache that stores nothing."""

    def __call__(self, owner: Hashable, made_from: Hashable, make: Callable[[], T]) -> T:
        return make()
