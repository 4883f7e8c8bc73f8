"""What the leaves of a forest say in the file, and how nodes name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ._forest import Forest, LeafRow, Tree

_T = TypeVar("_T", int, LeafRow)

_OWN_BYTES = 0xFF
"""In place of two nibbles: two leaves in bytes of their own follow."""


@dataclass(frozen=True)
class Leaves:
    """`numbers` of each leaf of the forest, as nodes hold them in `payload` bytes.

    They are indices if `id_bytes` is not 0, else values. `groups`: how many values leaves have, and
    how many leaves have as many. `sections`: what the table holds of them.
    """

    numbers: Sequence[int]
    payload: int
    leaf_bytes: int
    id_bytes: int
    count: int
    groups: Sequence[tuple[int, int]]
    sections: Sequence[bytes]

    @property
    def nibbles(self) -> bool:
        """Whether two leaves share a byte where they can."""
        return self.id_bytes == 1

    @property
    def size(self) -> int:
        """Bytes of the sections."""
        return sum(len(part) for part in self.sections)

    def one(self, leaf: int) -> bytes:
        return self.numbers[leaf].to_bytes(self.payload, "little")

    def two(self, low: int, high: int) -> bytes:
        if not self.nibbles:
            return self.one(low) + self.one(high)
        both = self.numbers[low] | self.numbers[high] << 4
        if max(self.numbers[low], self.numbers[high]) < 16 and both != _OWN_BYTES:
            return bytes([both])
        return bytes([_OWN_BYTES]) + self.one(low) + self.one(high)


def leaves_of(forest: Forest) -> Iterator[Leaves]:
    """Every way to hold the leaves; none if there are too many."""
    uses = Counter(leaf for tree in forest.trees for leaf in _ends(tree))
    kind = np.dtype(f"<i{forest.leaf_bits // 8}" if forest.step else "<f4")
    if _is_plain(forest):
        values = np.array([row[0][1] if row else 0.0 for row in forest.leaves], kind)
        bits = values.view(f"<u{kind.itemsize}").tolist()
        yield Leaves(bits, kind.itemsize, kind.itemsize, 0, 0, (), ())
        order = _ordered(uses, bits)
        if (id_bytes := _id_bytes(len(order))) is not None:
            found = np.array(list(order), f"<u{kind.itemsize}").tobytes()
            numbers = [order.get(value, 0) for value in bits]
            yield Leaves(numbers, id_bytes, kind.itemsize, id_bytes, len(order), (), (found,))
        return
    rows = forest.leaves
    by_length = _ordered(uses, [len(row) for row in rows])
    distinct = sorted(_ordered(uses, rows), key=lambda row: by_length[len(row)])
    places = {row: i for i, row in enumerate(distinct)}
    if (id_bytes := _id_bytes(len(places))) is None:
        return
    lengths = Counter(len(row) for row in distinct)
    groups = [(length, lengths[length]) for length in by_length]
    entries = [entry for row in distinct for entry in row]
    sections = (
        np.array([value for _, value in entries], kind).tobytes(),
        np.array(groups, "<u2").tobytes(),
        np.array([t for t, _ in entries], "<u1" if forest.targets <= 256 else "<u2").tobytes(),
    )
    numbers = [places.get(row, 0) for row in rows]
    yield Leaves(numbers, id_bytes, kind.itemsize, id_bytes, len(entries), groups, sections)


def _id_bytes(count: int) -> int | None:
    return next((n for n in (1, 2) if count <= 1 << 8 * n), None)


def _ends(tree: Tree) -> Iterable[int]:
    if tree.root < 0:
        yield ~tree.root
    for split in tree.splits:
        yield from (~child for child in (split.low, split.high) if child < 0)


def _is_plain(forest: Forest) -> bool:
    """Whether every leaf of a tree scores the target of its turn alone."""
    return all(
        [target for target, _ in forest.leaves[leaf]] == [turn % forest.targets]
        for turn, tree in enumerate(forest.trees)
        for leaf in _ends(tree)
    )


def _ordered(uses: Counter[int], what: Sequence[_T]) -> dict[_T, int]:
    """The places of what leaves that are used have, most frequent first."""
    found: Counter[_T] = Counter()
    for leaf, count in uses.items():
        found[what[leaf]] += count
    return {value: place for place, (value, _) in enumerate(found.most_common())}
