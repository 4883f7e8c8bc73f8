"""Samples of a model whose dimensions vary, by the one size at which candidates are judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from ...calibration import Samples
from ..dynamic import Sizes
from ..errors import UserError
from ..ir import Array


class SizedSamples:
    """`samples`, which are read several times: those of `size`, then larger ones, which `cut` makes
    that size, then the others; all else is theirs.

    `size` is the largest that half of them have or are cut to; where there is none, that of most.
    Nothing is cut where some input has no dimension that varies: it may
    say how long others are, or where something is in them.
    """

    def __init__(self, samples: Samples, sizes: Sizes) -> None:
        if not samples.reiterable:
            raise UserError(
                f"{samples.description}: with variable dimensions, samples are read more than "
                "once; pass a list, not a generator"
            )
        self._samples, self._sizes = samples, sizes
        self._cuts = True
        found = []
        for feed in samples:
            self._cuts = self._cuts and {name for name, _ in sizes.axes} >= set(feed)
            found.append(sizes.of(feed))

        def judged(size: Sequence[int]) -> int:
            return sum(n == size or self._covers(n, size) for n in found)

        most = {size: judged(size) for size in set(found)}
        half = [size for size in most if 2 * most[size] >= len(found)]
        self.size = max(half or most, key=lambda n: (0 if half else most[n], prod(n), n))
        ranks = [self._rank(n) for n in found]
        self._counts = [ranks.count(rank) for rank in range(3)]
        self._order = sorted(range(len(found)), key=ranks.__getitem__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for rank in range(3):
            yield from (f for f in self._samples if self._rank(self._sizes.of(f)) == rank)

    def _covers(self, sizes: Sequence[int], size: Sequence[int]) -> bool:
        return self._cuts and all(n >= least for n, least in zip(sizes, size, strict=True))

    def _rank(self, sizes: Sequence[int]) -> int:
        return 0 if sizes == self.size else 1 if self._covers(sizes, self.size) else 2

    def cut(self, feed: Mapping[str, Array]) -> Mapping[str, Array] | None:
        """The beginning of a larger sample, of `size`; None of one that is smaller."""
        if self._rank(self._sizes.of(feed)) == 2:
            return None
        found = dict(feed)
        for (name, axis), symbol in self._sizes.axes.items():
            found[name] = found[name].take(range(self.size[symbol]), axis)
        return found

    def names(self, wanted: Collection[int]) -> dict[int, str]:
        """As those of the samples, of places in this order."""
        found = self._samples.names([self._order[i] for i in wanted])
        return {i: found[self._order[i]] for i in wanted if self._order[i] in found}

    @property
    def evaluated(self) -> str:
        """The samples that the figures at `size` are measured on."""
        alike, larger, _ = self._counts
        cut = f" and {larger} larger ones truncated to it" if larger else ""
        return f"evaluated on {alike} samples of that size{cut}"

    def note(self) -> str:
        """What to know of a quantization by these samples."""
        _, larger, others = self._counts
        rest = "all samples at their own sizes" if larger else f"the other {others}"
        return f"quantized at {self._sizes.text(self.size)}, {self.evaluated}; ranges from {rest}"

    def verdict_note(self) -> str:
        """A note on a verdict that was measured on these samples."""
        return f"verdict at {self._sizes.text(self.size)}, {self.evaluated}"
