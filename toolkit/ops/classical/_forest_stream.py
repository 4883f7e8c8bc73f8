"""The nodes of a forest as a stream of bytes, in preorder, low children first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ._forest import Forest, Tree
from ._forest_columns import Columns
from ._forest_leaves import Leaves

TWO_LEAVES, HIGH_LEAF, FAR_APART, LOW_LEAF = range(4)
_STEPS = 128
"""That the verifier goes down a tree, for each of its bytes (tree_check.h)."""


@dataclass(frozen=True)
class Form:
    """How nodes are written. Behind LOW_LEAF come links of the first `inline` leaves, as high
    children, and then of the distances `links`."""

    node_bytes: int
    link_bits: int
    leaves: Leaves
    inline: int
    links: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """Of the size of a tree, and of a distance that has no link."""
        return 2 if self.node_bytes == 2 else 4

    @property
    def most_bytes(self) -> int:
        """That a tree may have."""
        return (1 << 16) - 1 if self.node_bytes == 2 else (1 << 28) - 1


@dataclass(frozen=True)
class Shape:
    """A tree's splits, children before their parents, and what a tree that is a leaf has."""

    tree: Tree
    order: Sequence[int]


def shapes_of(forest: Forest) -> list[Shape]:
    """Raises ValueError for a tree that is too deep to be verified."""
    return [_shape(tree) for tree in forest.trees]


def _shape(tree: Tree) -> Shape:
    steps = 0
    for _, depth, high in _preorder(tree):
        steps += depth * high
    if steps > _STEPS * 2 * max(1, len(tree.splits)):
        raise ValueError(f"a tree of {len(tree.splits)} nodes is too deep: train with max_depth")
    return Shape(tree, [at for at, _, _ in _preorder(tree)][::-1])


def _preorder(tree: Tree) -> Iterator[tuple[int, int, bool]]:
    """Splits, their depth, and whether each begins behind a low subtree."""
    stack = [(tree.root, 0, False)] if tree.root >= 0 else []
    while stack:
        at, depth, high = stack.pop()
        yield at, depth, high
        split = tree.splits[at]
        if split.high >= 0:
            stack.append((split.high, depth + 1, split.low >= 0))
        if split.low >= 0:
            stack.append((split.low, depth + 1, False))


def sizes_of(shapes: Sequence[Shape], form: Form) -> tuple[list[int], Counter[int]]:
    """Of each tree its bytes, and how often high subtrees begin so far behind low ones."""
    found, apart = [], Counter[int]()
    for shape in shapes:
        tree, sizes = shape.tree, _subtrees(shape, form)
        if not shape.order:
            found.append(form.node_bytes + len(form.leaves.two(~tree.root, ~tree.root)))
            continue
        found.append(sizes[tree.root])
        apart.update(
            sizes[split.low] for split in tree.splits if split.low >= 0 and split.high >= 0
        )
    return found, apart


def high_leaves(shapes: Sequence[Shape], leaves: Leaves) -> list[int]:
    """How many bytes links of the first leaves would save."""
    found = Counter[int]()
    for shape in shapes:
        for split in shape.tree.splits:
            if split.high < 0 <= split.low:
                found[leaves.numbers[~split.high]] += leaves.payload
    return [found[i] for i in range(256)] if leaves.id_bytes else []


def _subtrees(shape: Shape, form: Form) -> dict[int, int]:
    """The bytes of the subtree of each split."""
    sizes: dict[int, int] = {}
    leaves, links = form.leaves, frozenset(form.links)
    for at in shape.order:
        split = shape.tree.splits[at]
        low, high = split.low, split.high
        if low < 0 and high < 0:
            more = len(leaves.two(~low, ~high))
        elif low < 0 or high < 0:
            inline = high < 0 and leaves.numbers[~high] < form.inline
            more = (0 if inline else leaves.payload) + sizes[max(low, high)]
        else:
            more = sizes[low] + sizes[high] + (0 if sizes[low] in links else form.size_bytes)
        sizes[at] = form.node_bytes + more
    return sizes


def stream(shapes: Sequence[Shape], columns: Columns, form: Form) -> bytes:
    """The trees, one after another."""
    link_of = {distance: LOW_LEAF + 1 + form.inline + i for i, distance in enumerate(form.links)}
    leaves, column_bits = form.leaves, columns.index_bits
    limit_at = column_bits + form.link_bits
    data = bytearray()
    for shape in shapes:
        tree, sizes = shape.tree, _subtrees(shape, form)
        if not shape.order:
            data += bytes(form.node_bytes) + leaves.two(~tree.root, ~tree.root)
        for at in reversed(shape.order):
            split = tree.splits[at]
            low, high = split.low, split.high
            if low < 0 and high < 0:
                link, behind = TWO_LEAVES, leaves.two(~low, ~high)
            elif high < 0 and leaves.numbers[~high] < form.inline:
                link, behind = LOW_LEAF + 1 + leaves.numbers[~high], b""
            elif high < 0:
                link, behind = HIGH_LEAF, leaves.one(~high)
            elif low < 0:
                link, behind = LOW_LEAF, leaves.one(~low)
            elif sizes[low] in link_of:
                link, behind = link_of[sizes[low]], b""
            else:
                link, behind = FAR_APART, sizes[low].to_bytes(form.size_bytes, "little")
            column, limit = columns.places[split.question]
            word = column | link << column_bits | limit << limit_at
            data += word.to_bytes(form.node_bytes, "little") + behind
    return bytes(data)
