"""Parts of quantized graphs that stay what they are while the ranges of others are tried."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 3
"""Of what one owner had made, the latest that are kept."""


class Reuse:
    """What was made for each owner, by what it was made from."""

    def __init__(self) -> None:
        self._known: dict[Hashable, dict[Hashable, Any]] = {}

    def __call__(self, owner: Hashable, made_from: Hashable, make: Callable[[], T]) -> T:
        """What was made for `owner` from the same, or else is by `make`."""
        known = self._known.setdefault(owner, {})
        if made_from in known:
            known[made_from] = found = known.pop(made_from)  # the latest last
            return found  # type: ignore[no-any-return]
        found = make()
        while len(known) >= MOST:
            known.pop(next(iter(known)))
        known[made_from] = found
        return found


class Nothing(Reuse):
    """Makes everything anew."""

    def __call__(self, owner: Hashable, made_from: Hashable, make: Callable[[], T]) -> T:
        return make()
