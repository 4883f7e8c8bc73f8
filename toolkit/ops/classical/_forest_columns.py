"""The ranks that a forest needs: of each feature by cuts, of sets, as NaN goes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from ._forest import Question

MEMBERS, NAN_LOW, SAME_CUTS = 1 << 29, 1 << 30, 1 << 31
_MOST_KEYS = (1 << 13) - 1
GUESSES = 64

_Asked = tuple[int, bool, tuple[int, ...] | None]  # feature, nan_low, members


@dataclass
class Columns:
    """Their words, the cuts of those that have their own, and of each question (column, limit)."""

    words: list[int]
    cuts: list[int]
    places: dict[Question, tuple[int, int]]

    @property
    def size(self) -> int:
        """Bytes of all."""
        return 4 * (len(self.words) + len(self.cuts)) + len(self.guesses)

    @property
    def index_bits(self) -> int:
        return (len(self.words) - 1).bit_length()

    @property
    def guess_bits(self) -> int:
        """By which the distance of a key from the first cut is shifted to an index of `guesses`."""
        if not self._is_one_list:
            return 0
        return max(1, (self.cuts[-1] - self.cuts[0]).bit_length() - 6)

    @property
    def guesses(self) -> list[int]:
        """Where to begin to look for a rank: the cuts below the keys of each interval."""
        bits = self.guess_bits
        starts = [self.cuts[0] + (i << bits) for i in range(GUESSES if bits else 0)]
        return [min(bisect_left(self.cuts, key), len(self.cuts) - 1) for key in starts]

    @property
    def _is_one_list(self) -> bool:
        """Whether guesses are worth their bytes: many columns have the same cuts, and few."""
        shared = sum(word >> 31 for word in self.words)
        return shared == len(self.words) - 1 >= 8 and 4 <= len(self.cuts) <= 256

    @classmethod
    def of(cls, questions: Sequence[Question], most: int, one_list: bool) -> Columns | None:
        """With at most so many cuts in a column; None for `one_list`, the same cuts for all
        features, if these are too many.

        Integers often have few. Raises ValueError for a set that the format cannot hold.
        """
        asked: dict[_Asked, set[int]] = {}
        for q in questions:
            asked.setdefault((q.feature, q.nan_low, q.members), set()).add(q.cut)
        every = sorted({cut for of, cuts in asked.items() if of[2] is None for cut in cuts})
        if one_list and not 0 < len(every) <= min(most, _MOST_KEYS):
            return None
        made = cls([], [], {})
        for of, cuts in sorted(asked.items(), key=lambda item: _order(item[0])):
            if of[2] is not None:
                made._add(of, list(of[2]), [0], MEMBERS)
                continue
            ordered = every if one_list else sorted(cuts)
            shared = SAME_CUTS if one_list and made.words else 0
            for i in range(0, len(ordered), min(most, _MOST_KEYS)):
                some = ordered[i : i + min(most, _MOST_KEYS)]
                made._add(of, some, some, shared)
        if not made.words:
            made._add((0, False, None), [], [], 0)
        return made

    def _add(self, of: _Asked, keys: list[int], cuts: list[int], flags: int) -> None:
        feature, nan_low, members = of
        if len(keys) > _MOST_KEYS:
            raise ValueError(f"a set of {len(keys)} members: {_MOST_KEYS} are supported")
        own = 0 if flags & SAME_CUTS else len(keys) << 16
        for limit, cut in enumerate(cuts):
            self.places[Question(feature, nan_low, cut, members)] = len(self.words), limit
        self.words.append(feature | own | flags | (NAN_LOW if nan_low else 0))
        self.cuts += keys if own else []


def _order(of: _Asked) -> tuple[bool, int, bool, tuple[int, ...]]:
    """Sets last: behind the one list of cuts there are no other cuts of features."""
    feature, nan_low, members = of
    return members is not None, feature, nan_low, members or ()
