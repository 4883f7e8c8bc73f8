"""Chains of movement become one Copy, or one Reshape if all elements stay in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...ir import Node, Value
from ...ops.move.movement import MAPPED, as_copy, index_map
from .._links import Links
from .._pass import NodePass
from ..cleanup.fold_constants import MOVEMENT


class MergeMovement(NodePass):
    """1. Movement that keeps every element in its place is a Reshape.
    2. The longest chain of movement in front of a node that is one strided view is one Copy.
    A start of the chain with several readers is computed anew by each, if that copies no more
    elements: each reader takes a part (a channel shuffle that is split), or moves them anyway.
    """

    name = "merge movement"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in MOVEMENT or (node.op == "Reshape" and _only_renames(links, node)):
            return False
        if node.output.type.size > MAPPED:
            return False
        best: tuple[Value, NDArray[np.int64]] | None = None
        index = index_map(node)
        current, length = node, 0
        while True:
            source = current.input(0)
            ordered = index.size == source.type.size and bool(
                np.all(index == np.arange(index.size))
            )
            if (ordered and node.op != "Reshape") or (length and as_copy(index) is not None):
                best = (source, index)
            before = links.producer(source)
            if before is None or before.op not in MOVEMENT or not _may_repeat(links, before):
                break
            if source.type.size > MAPPED:
                break
            index = index_map(before)[index]
            current, length = before, length + 1
        if best is None:
            return False
        _become(links, node, *best)
        return True


def _only_renames(links: Links, node: Node) -> bool:
    """Whether a Reshape is better left alone: it is inside a chain, or behind no movement."""
    before = links.producer(node.input(0))
    if before is None or before.op not in MOVEMENT:
        return True
    users = links.users(node.output)
    return not links.is_output(node.output) and all(u.op in MOVEMENT for u in users)


def _may_repeat(links: Links, node: Node) -> bool:
    """Whether the readers of `node` may each do its movement themselves."""
    return node.op == "Reshape" or _whole_readers(links, node.output) <= 1


def _whole_readers(links: Links, v: Value) -> int:
    """Readers that would need a copy of all of `v`: those that move nothing themselves."""
    count = int(links.is_output(v))
    users = links.users(v)
    count += int(any(u.op not in MOVEMENT for u in users))
    return count + sum(_whole_readers(links, u.output) for u in set(users) if u.op == "Reshape")


def _become(links: Links, node: Node, source: Value, index: NDArray[np.int64]) -> None:
    shape = node.output.shape
    if index.size == source.type.size and np.all(index == np.arange(index.size)):
        node.op, node.attrs = "Reshape", {"shape": shape}
    else:
        view = as_copy(index)
        assert view is not None
        dims, strides, offset = view
        node.op = "Copy"
        node.attrs = {"dims": dims, "strides": strides, "offset": offset, "shape": shape}
    links.rewire(node, [source])
