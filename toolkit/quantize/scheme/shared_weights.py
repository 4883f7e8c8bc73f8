"""Layers of one network that have the same weights, which a file holds once while they stay so."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from ...ir import Graph, Node
from ...ops import definition


def sharing_weights(graph: Graph) -> set[Node]:
    """The nodes whose constant weights another node has too, as of an unrolled recurrence."""
    alike: dict[tuple[str, tuple[int, ...], bytes], list[Node]] = {}
    for node in graph.nodes:
        at = definition(node.op).weight
        weight = None if at is None else node.input(at).const
        if weight is not None:
            digest = sha256(np.ascontiguousarray(weight).tobytes()).digest()
            alike.setdefault((node.op, weight.shape, digest), []).append(node)
    return {node for nodes in alike.values() if len(nodes) > 1 for node in nodes}
