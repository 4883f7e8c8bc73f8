"""A forest -> the table that the runtime walks (edge.fbs, TreeEnsemble)."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ._forest import Forest
from ._forest_columns import Columns
from ._forest_leaves import Leaves, leaves_of
from ._forest_stream import LOW_LEAF, Form, Shape, high_leaves, shapes_of, sizes_of, stream

NODE_BYTES = (2, 3, 4)
_MOST_COLUMNS = 0xFFFF
_LINK_BITS = range(2, 9)
_LIMIT_BITS = range(1, 14)
_ROUNDS = 4
_TRIED = 3
"""Numbers of bits for links, the largest."""
_ENOUGH = 5
"""Bits for links with which larger nodes gain nothing."""


@dataclass(frozen=True)
class Table:
    """The bytes at TreeEnsemble.table, the bytes that a run needs, and the numbers of its head."""

    data: bytes
    scratch: int
    head: dict[str, int]


def encode(forest: Forest, sizes: Sequence[int] = NODE_BYTES) -> Table:
    """The smallest table of the forest, with nodes of one of these sizes.

    Raises ValueError if it does not fit the format.
    """
    shapes = shapes_of(forest)
    asked = [split.question for tree in forest.trees for split in tree.splits]
    columns = [
        (bits, made)
        for bits, one_list in product(_LIMIT_BITS, (False, True))
        if (made := Columns.of(asked, (1 << bits) - 1, one_list)) is not None
    ]
    best: tuple[int, Columns, Form, list[int]] | None = None
    for node_bytes in sizes:
        by_links: dict[int, Columns] = {}
        for bits, made in sorted(columns, key=lambda pair: pair[1].size):
            if len(made.words) <= _MOST_COLUMNS:
                by_links.setdefault(_link_bits(node_bytes, bits, made), made)
        tried = [bits for bits in sorted(by_links)[-_TRIED:] if bits in _LINK_BITS]
        for link_bits, leaves in product(tried, leaves_of(forest)):
            if (found := _with_links(shapes, leaves, node_bytes, link_bits)) is None:
                continue
            made = by_links[link_bits]
            total = sum(found[1]) + made.size + leaves.size + (1 << link_bits)
            if best is None or total < best[0]:
                best = total, made, *found
        if best is not None and max(tried) >= _ENOUGH:
            break
    if best is None:
        raise ValueError(
            f"a forest of {forest.split_count} nodes does not fit: train a smaller one"
        )
    return _table(forest, shapes, *best[1:])


def _link_bits(node_bytes: int, limit_bits: int, columns: Columns) -> int:
    return min(8 * node_bytes - limit_bits - columns.index_bits, max(_LINK_BITS))


def _with_links(
    shapes: Sequence[Shape], leaves: Leaves, node_bytes: int, link_bits: int
) -> tuple[Form, list[int]] | None:
    """The form whose links save most, and the bytes of each tree; None if these are too many.

    What a subtree takes depends on which distances are links: a few rounds settle that.
    """
    best: tuple[Form, list[int]] | None = None
    form = Form(node_bytes, link_bits, leaves, 0, ())
    for _ in range(_ROUNDS):
        sizes, apart = sizes_of(shapes, form)
        if max(sizes) > form.most_bytes:
            return None
        if best is None or sum(sizes) < sum(best[1]):
            best = form, sizes
        form = _chosen_links(shapes, form, apart)
    return best


def _chosen_links(shapes: Sequence[Shape], form: Form, apart: Counter[int]) -> Form:
    """Links for the first leaves, and for the distances that are most frequent."""
    room = (1 << form.link_bits) - LOW_LEAF - 1
    frequent = [(n, d) for d, n in apart.most_common(room) if d < 256]
    saved = [n * form.size_bytes for n, _ in frequent] + [0] * (room - len(frequent))
    by_leaf = high_leaves(shapes, form.leaves)
    inline = 0
    while inline < min(len(by_leaf), room) and by_leaf[inline] > saved[room - 1 - inline]:
        inline += 1
    links = sorted(d for _, d in frequent[: room - inline])
    return Form(form.node_bytes, form.link_bits, form.leaves, inline, tuple(links))


def _table(
    forest: Forest,
    shapes: Sequence[Shape],
    columns: Columns,
    form: Form,
    sizes: Sequence[int],
) -> Table:
    leaves = form.leaves
    data = stream(shapes, columns, form)
    links = [0, 0, 0, leaves.payload, *[0] * form.inline, *form.links]
    head = {
        "trees": len(sizes), "stream": len(data), "values": leaves.count, "cuts": len(columns.cuts),
        "columns": len(columns.words), "groups": len(leaves.groups),
        "node_bytes": form.node_bytes, "column_bits": columns.index_bits,
        "link_bits": form.link_bits, "leaf_bytes": leaves.leaf_bytes, "id_bytes": leaves.id_bytes,
        "aggregate": int(forest.aggregate),
        "guess_bits": columns.guess_bits if form.node_bytes == 2 else 0, "reserved": 0,
    }  # fmt: skip
    parts: Iterable[bytes] = (
        struct.pack("<f4I2H8B", np.float32(forest.step), *head.values()),
        np.array(columns.words, "<u4").tobytes(),
        np.array(columns.cuts, "<i4").tobytes(),
        forest.base.astype("<f4").tobytes(),
        *leaves.sections,
        bytes(links + [0] * ((1 << form.link_bits) - len(links))),
        bytes(columns.guesses if form.node_bytes == 2 else []),
        np.array(sizes, f"<u{form.size_bytes}").tobytes(),
        data,
    )
    ranks = len(columns.words) * (2 if form.node_bytes == 2 else 4)
    sums = 4 * forest.targets if leaves.leaf_bytes < 4 else 0
    return Table(_joined(parts), -(-ranks // 4) * 4 + sums, head)


def _joined(parts: Iterable[bytes]) -> bytes:
    """Each at a multiple of 4 bytes."""
    data = bytearray()
    for part in parts:
        data += bytes(-len(data) % 4) + part
    return bytes(data)
