"""Parts of one tensor, put together again in an order that one Copy can read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...ir import Node, Value
from ...ops.move.movement import MAPPED, as_copy, index_map
from .._links import Links
from .._pass import NodePass
from ..cleanup.fold_constants import MOVEMENT


class MergeParts(NodePass):
    """Concat of what is only moved, all of one tensor, becomes one Copy if that is one strided
    view: every second row and column on top of each other, as patches are merged and YOLO's Focus
    begins. Nobody else may read the parts.
    """

    name = "merge parts"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Concat" or len(node.inputs) < 2 or node.output.type.size > MAPPED:
            return False
        parts = [_origin(links, v) for v in node.dynamic_inputs]
        if len(parts) < len(node.inputs) or any(p is None for p in parts):
            return False
        sources, indices = zip(*(p for p in parts if p is not None), strict=True)
        if any(s is not sources[0] for s in sources):
            return False
        view = as_copy(np.concatenate(indices, axis=node.attrs["axis"]).ravel())
        if view is None:
            return False
        dims, strides, offset = view
        attrs = {"dims": dims, "strides": strides, "offset": offset, "shape": node.output.shape}
        links.replace(node, links.emit(node, "Copy", [sources[0]], attrs, node.output.name))
        return True


def _origin(links: Links, v: Value) -> tuple[Value, NDArray[np.int64]] | None:
    """What `v` is moved from, and where each of its elements is there; None if others read it."""
    shape = v.shape
    index: NDArray[np.int64] = np.arange(v.type.size)
    moved = False
    while (node := links.producer(v)) is not None and node.op in MOVEMENT:
        if v.type.size > MAPPED:
            return None
        if links.only_user(v) is None:
            return None if not moved else (v, index.reshape(shape))
        index = index_map(node)[index]
        v, moved = node.input(0), True
    return (v, index.reshape(shape)) if moved else None
