"""Movement in front of a FullyConnected that only permutes features goes into its weights."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ...ir import Node, Value
from ...ops.move.movement import MAPPED, index_map
from .._links import Links
from .._pass import NodePass
from ..cleanup.fold_constants import MOVEMENT


class AbsorbPermutation(NodePass):
    """x, moved, then FullyConnected: if each row of what it reads is the same permutation of a row
    of x, the columns of its weights are permuted instead. (NCHW flattened for a classifier.)
    """

    name = "absorb permutation"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "FullyConnected":
            return False
        w = node.input(1).const
        found = _chain(links, node.input(0))
        if w is None or found is None:
            return False
        source, index = found
        shape = node.input(0).shape
        rows, k = prod(shape[:-1]), shape[-1]
        if source.type.size != rows * k:
            return False
        table = index.reshape(rows, k) - np.arange(rows)[:, None] * k
        order = table[0]
        if np.any(table != order) or np.any(np.sort(order) != np.arange(k)):
            return False
        moved = np.empty_like(w)
        moved[:, order] = w
        x = links.emit(node, "Reshape", [source], {"shape": shape}, node.input(0).name)
        weights = links.constant(moved, node.input(1).name)
        links.rewire(node, [x, weights, *node.inputs[2:]])
        return True


def _chain(links: Links, v: Value) -> tuple[Value, NDArray[np.int64]] | None:
    """(start of the chain of movement that makes v, its index map), if it copies anything."""
    if v.type.size > MAPPED:
        return None
    index: NDArray[np.int64] = np.arange(v.type.size)
    copies = False
    while (node := links.producer(v)) is not None and node.op in MOVEMENT:
        if v.type.size > MAPPED:
            return None
        copies |= node.op != "Reshape"
        index = index_map(node)[index]
        v = node.input(0)
    return (v, index) if copies else None
