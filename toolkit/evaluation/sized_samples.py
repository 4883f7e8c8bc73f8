"""Samples of a model whose dimensions vary: those of one size first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...calibration import Samples
from ..dynamic import Sizes
from ..errors import UserError
from ..ir import Array


class SizedSamples:
    """`samples`, which are read twice: those of the size that most have, then the others; all else
    is theirs. `size` is that size, the largest of several."""

    def __init__(self, samples: Samples, sizes: Sizes) -> None:
        if not samples.reiterable:
            raise UserError(
                f"{samples.description}: samples of a model whose dimensions vary are read more "
                "than once; give a list, not a generator"
            )
        self._samples, self._sizes = samples, sizes
        found = [sizes.of(feed) for feed in samples]
        counts = Counter(found)
        self.size = max(counts, key=lambda size: (counts[size], size))
        self.alike_count = counts[self.size]
        self._order = sorted(range(len(found)), key=lambda i: found[i] != self.size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        yield from self.alike()
        for feed in self._samples:
            if self._sizes.of(feed) != self.size:
                yield feed

    def alike(self) -> Iterator[Mapping[str, Array]]:
        """Those of the size."""
        for feed in self._samples:
            if self._sizes.of(feed) == self.size:
                yield feed

    def names(self, wanted: Collection[int]) -> dict[int, str]:
        """As those of the samples, of places in this order."""
        found = self._samples.names([self._order[i] for i in wanted])
        return {i: found[self._order[i]] for i in wanted if self._order[i] in found}

    def note(self) -> str:
        """What to know of a quantization by these samples."""
        others = len(self) - self.alike_count
        return (
            f"quantized at {self._sizes.text(self.size)}, with {self.alike_count} samples of that "
            f"size; the other {others} set ranges only"
        )
