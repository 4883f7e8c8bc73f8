"""A forest -> the table that the runtime walks (edge.fbs, TreeEnsemble)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._forest import Forest, LeafRow, Question, Tree

FAR_IS_LEAF, BOTH_ARE_LEAVES, FLAGS = 1, 2, 2
MEMBERS, NAN_LOW, MIRROR = 1 << 29, 1 << 30, 1 << 31
REPEAT = MIRROR | MEMBERS
"""Of a column of another feature, with the cuts of the last column that has its own."""
NODE_BYTES = (3, 4, 8)
_MOST_CUTS = {3: 255, 4: 255, 8: 8191}
_MOST_COLUMNS = {3: 256, 4: 256, 8: 1 << 16}
_MOST_IN_TREE = {3: 0xFFFF, 4: 0xFFFF, 8: 0xFFFFFFFF}
_MOST_ROWS = 0xFFFF


@dataclass(frozen=True)
class Table:
    """The bytes at TreeEnsemble.table, and the struct's other fields but the shapes."""

    data: bytes
    fields: dict[str, int]


def encode(forest: Forest, node_bytes: Sequence[int] = NODE_BYTES) -> Table:
    """The smallest table of the forest, with nodes of one of these sizes.

    Raises ValueError if it does not fit the format.
    """
    plain = _leaf_values(forest)
    best: Table | None = None
    for size, shared, one_list in product(node_bytes, (True, False), (False, True)):
        made = _encoded(forest, plain, size, shared, one_list)
        if made is not None and (best is None or len(made.data) < len(best.data)):
            best = made
    if best is None:
        raise ValueError(
            f"a forest of {forest.split_count} nodes does not fit: train a smaller one"
        )
    return best


def _leaf_values(forest: Forest) -> list[int] | None:
    """The target of each tree where its leaves score that one alone; None where any scores more."""
    found = []
    for tree in forest.trees:
        targets = {tuple(t for t, _ in forest.leaves[i]) for i in _leaves_of(tree)}
        if len(targets) != 1 or len(next(iter(targets))) != 1:
            return None
        found.append(next(iter(targets))[0])
    return found


def _leaves_of(tree: Tree) -> Iterator[int]:
    if tree.root < 0:
        yield ~tree.root
    for split in tree.splits:
        yield from (~child for child in (split.low, split.high) if child < 0)


def _encoded(
    forest: Forest, targets: list[int] | None, node_bytes: int, shared: bool, one_list: bool
) -> Table | None:
    """With leaves that all trees share or not, and one list of cuts for all features or one each;
    None if that does not fit."""
    layouts = [_Layout(tree) for tree in forest.trees]
    columns = _Columns(layouts, _MOST_CUTS[node_bytes], one_list)
    if one_list and not columns.is_one_list:
        return None
    if len(columns.words) > _MOST_COLUMNS[node_bytes]:
        return None
    rank_bits, column_bits = columns.bits(node_bytes)
    room = 8 * node_bytes - FLAGS - (0 if node_bytes == 8 else rank_bits + column_bits)
    most = (1 << min(room, 30)) - 1
    values = _values_of(forest, targets)
    lists = [_LeafList(values)] if shared else []
    words, sizes = [], []
    for layout in layouts:
        if not shared:
            lists.append(_LeafList(values))
        made = layout.words(columns, lists[-1])
        if max(link for _, _, _, link in made) > most:
            return None
        words += made
        sizes.append((len(made), 0 if shared else len(lists[-1].sequence)))
    if np.max(sizes) > _MOST_IN_TREE[node_bytes]:
        return None
    leaves = [i for each in lists for i in each.sequence]
    section = _Sections()
    section.add(np.array(columns.words, "<u4"))
    section.add(np.array(columns.cuts, "<i4"))
    section.add(forest.base.astype("<f4"))
    section.add(np.array(sizes, "<u4" if node_bytes == 8 else "<u2"))
    fields = {"trees": len(sizes), "nodes": len(words), "leaves": len(leaves)}
    fields |= {"columns": len(columns.words), "cuts": len(columns.cuts)}
    fields |= _add_leaves(section, forest, targets, leaves)
    section.add(_packed(words, node_bytes, rank_bits, column_bits))
    fields |= {"node_bytes": node_bytes, "rank_bits": rank_bits, "column_bits": column_bits}
    if fields.get("leaf_rows", 0) > _MOST_ROWS:
        return None
    return Table(bytes(section.data), fields)


def _values_of(forest: Forest, targets: list[int] | None) -> list[Hashable]:
    """What leaves have to share to be one entry of the list: a value, or a row."""
    if targets is None:
        return list(range(len(forest.leaves)))
    return [row[0][1] if row else 0.0 for row in forest.leaves]


def _add_leaves(
    section: _Sections, forest: Forest, targets: list[int] | None, leaves: Sequence[Any]
) -> dict[str, int]:
    kind = f"<i{forest.leaf_bits // 8}" if forest.step else "<f4"
    fields = {"leaf_bytes": np.dtype(kind).itemsize}
    if targets is not None:
        turns = [t % forest.targets for t in range(len(targets))]
        if targets != turns:
            section.add(np.array(targets, "<u2"))
        section.add(np.array(leaves, kind))
        return fields | {"tree_targets": int(targets != turns)}
    rows: list[LeafRow] = [forest.leaves[i] for i in dict.fromkeys(leaves)]
    at = {i: k for k, i in enumerate(dict.fromkeys(leaves))}
    entries = [entry for row in rows for entry in row]
    section.add(np.array([v for _, v in entries], kind))
    section.add(np.array([t for t, _ in entries], "<u2"))
    section.add(np.cumsum([0, *(len(row) for row in rows)]).astype("<u4"))
    section.add(np.array([at[i] for i in leaves], "<u4").astype("<u2"))
    return fields | {"leaf_rows": len(rows), "entries": len(entries)}


class _Sections:
    """Arrays one behind the other, each at a multiple of 4 bytes."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, array: NDArray[Any]) -> None:
        self.data += bytes(-len(self.data) % 4) + array.tobytes()


class _LeafList:
    """The leaves that nodes link to; of a node with two leaves they are neighbours."""

    def __init__(self, values: Sequence[Hashable]) -> None:
        self._values = values
        self.sequence: list[Any] = []
        self._single: dict[Hashable, int] = {}
        self._pairs: dict[tuple[Hashable, Hashable], int] = {}

    def single(self, leaf: int) -> int:
        value = self._values[leaf]
        if value not in self._single:
            self._append(value)
        return self._single[value]

    def pair(self, near: int, far: int) -> int:
        a, b = self._values[near], self._values[far]
        if (a, b) not in self._pairs:
            if not self.sequence or self.sequence[-1] != a:
                self._append(a)
            self._append(b)
        return self._pairs[a, b]

    def _append(self, value: Hashable) -> None:
        at = len(self.sequence)
        if at:
            self._pairs.setdefault((self.sequence[-1], value), at - 1)
        self._single.setdefault(value, at)
        self.sequence.append(value)


_Word = tuple[int, int, int, int]  # flags, limit, column, link


class _Layout:
    """A tree's splits in the order of the file: a node's near child is the next node.

    The near child is the low one, unless that alone is a leaf: then the column is mirrored.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.order: list[int] = []
        stack = [tree.root] if tree.root >= 0 else []
        while stack:
            at = stack.pop()
            self.order.append(at)
            near, far = self._ends(at)
            stack += [child for child in (far, near) if child >= 0]

    def _ends(self, at: int) -> tuple[int, int]:
        split = self._tree.splits[at]
        return (split.high, split.low) if self._mirrored(at) else (split.low, split.high)

    def _mirrored(self, at: int) -> bool:
        split = self._tree.splits[at]
        return split.low < 0 <= split.high

    def questions(self) -> Iterator[tuple[Question, bool]]:
        for at in self.order:
            yield self._tree.splits[at].question, self._mirrored(at)

    def words(self, columns: _Columns, leaves: _LeafList) -> list[_Word]:
        """The nodes; a tree that is a leaf is a node with that leaf on both sides."""
        if not self.order:
            leaf = ~self._tree.root
            return [(FAR_IS_LEAF | BOTH_ARE_LEAVES, 0, 0, leaves.pair(leaf, leaf))]
        place = {at: k for k, at in enumerate(self.order)}
        found = []
        for k, at in enumerate(self.order):
            near, far = self._ends(at)
            column, limit = columns.place(self._tree.splits[at].question, self._mirrored(at))
            if near < 0:
                flags, link = FAR_IS_LEAF | BOTH_ARE_LEAVES, leaves.pair(~near, ~far)
            elif far < 0:
                flags, link = FAR_IS_LEAF, leaves.single(~far)
            else:
                flags, link = 0, place[far] - k
            found.append((flags, limit, column, link))
        return found


class _Columns:
    """The ranks that a forest needs: of each feature by cuts, of sets, as NaN goes, mirrored.

    `one_list`: all features have the same cuts, if these are not too many; integers often have.
    """

    def __init__(self, layouts: Sequence[_Layout], most_cuts: int, one_list: bool) -> None:
        asked: dict[tuple[int, bool, tuple[int, ...] | None], dict[int, set[bool]]] = {}
        for layout in layouts:
            for q, mirrored in layout.questions():
                cuts = asked.setdefault((q.feature, q.nan_low, q.members), {})
                cuts.setdefault(q.cut, set()).add(mirrored)
        self.words: list[int] = []
        self.cuts: list[int] = []
        self._most_rank = 0
        self._has_list = False
        self._places: dict[tuple[Question, bool], tuple[int, int]] = {}
        every = sorted({cut for of, cuts in asked.items() if of[2] is None for cut in cuts})
        self.is_one_list = one_list = one_list and 0 < len(every) <= most_cuts
        ordered_columns = sorted(asked.items(), key=_order)
        if one_list:  # behind the list there are no other cuts
            ordered_columns.sort(key=lambda item: item[0][2] is not None)
        for (feature, nan_low, members), cuts in ordered_columns:
            word = feature | (NAN_LOW if nan_low else 0)
            if members is not None:
                self._add(word | MEMBERS, list(members), [0], cuts, (feature, nan_low, members))
                continue
            ordered = every if one_list else sorted(cuts)
            if one_list and self._has_list:
                word |= REPEAT
            for i in range(0, len(ordered), most_cuts):
                some = ordered[i : i + most_cuts]
                self._add(word, some, some, cuts, (feature, nan_low, None))
                self._has_list = True
        if not self.words:
            self.words.append(0)

    def _add(
        self,
        word: int,
        keys: list[int],
        cuts: list[int],
        asked: dict[int, set[bool]],
        of: tuple[int, bool, tuple[int, ...] | None],
    ) -> None:
        """A column, and its mirror if a split asks for that."""
        feature, nan_low, members = of
        if len(keys) >= 1 << 13:
            raise ValueError(f"a set of {len(keys)} members: {(1 << 13) - 1} are supported")
        straight = len(self.words)
        repeats = word & REPEAT == REPEAT
        self.words.append(word if repeats else word | len(keys) << 16)
        self.cuts += [] if repeats else keys
        if any(True in asked.get(cut, ()) for cut in cuts):
            self.words.append(MIRROR)
        for limit, cut in enumerate(cuts):
            q = Question(feature, nan_low, cut, members)
            self._places[q, False] = straight, limit
            self._places[q, True] = straight + 1, len(cuts) - 1 - limit
        self._most_rank = max(self._most_rank, len(cuts) - 1)

    def place(self, q: Question, mirrored: bool) -> tuple[int, int]:
        """(column, limit): the near way is that of ranks of at most the limit."""
        return self._places[q, mirrored]

    def bits(self, node_bytes: int) -> tuple[int, int]:
        """Of a limit, and of a column."""
        if node_bytes > 3:
            return (8, 8) if node_bytes == 4 else (16, 16)
        return self._most_rank.bit_length(), (len(self.words) - 1).bit_length()


def _order(item: tuple[Any, Any]) -> tuple[Any, ...]:
    feature, nan_low, members = item[0]
    return feature, nan_low, members is not None, members or ()


def _packed(
    words: Sequence[_Word], node_bytes: int, rank_bits: int, column_bits: int
) -> NDArray[Any]:
    flags, limit, column, link = np.array(words, np.int64).T
    if node_bytes == 8:
        return np.stack([flags | link << FLAGS, column | limit << 16], 1).astype("<u4")
    column_at = FLAGS + rank_bits
    w = flags | limit << FLAGS | column << column_at | link << column_at + column_bits
    octets: NDArray[Any] = w.astype("<u4").view(np.uint8).reshape(-1, 4)
    return octets[:, :node_bytes]
