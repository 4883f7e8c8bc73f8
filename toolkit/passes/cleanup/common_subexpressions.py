"""Common subexpressions: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ...ir import Graph, Node, Value


class CommonSubexpressions:
    """1. Constants with the same content become one value. 2. Nodes with the same operator, inputs
    and attributes become one node. Two outputs of the graph are not merged: each keeps its value.
    """

    name = "common subexpressions"

    def run(self, graph: Graph) -> bool:
        constants: dict[Hashable, Value] = {}
        nodes: dict[Hashable, Node] = {}
        outputs = graph.output_values()
        changed = False
        kept: list[Node] = []
        stands_for: dict[Value, Value] = {}
        for node in graph.nodes:
            inputs = [_first(v, stands_for, constants) for v in node.inputs]
            changed |= any(a is not b for a, b in zip(inputs, node.inputs, strict=True))
            node.inputs = inputs
            key = (node.op, tuple(id(v) for v in inputs), _key(node.attrs))
            twin = nodes.setdefault(key, node)
            if twin is node or not outputs.isdisjoint(node.outputs):
                kept.append(node)
                continue
            stands_for.update(zip(node.outputs, twin.outputs, strict=True))
            changed = True
        graph.nodes = kept
        return changed


def _first(
    v: Value | None, stands_for: dict[Value, Value], constants: dict[Hashable, Value]
) -> Value | None:
    if v is None or v.const is None:
        return v if v is None else stands_for.get(v, v)
    return constants.setdefault((_key(v.const), v.quant), v)


def _key(item: Any) -> Hashable:
    if isinstance(item, dict):
        return tuple(sorted((k, _key(v)) for k, v in item.items()))
    if isinstance(item, list | tuple):
        return tuple(_key(v) for v in item)
    if isinstance(item, Graph):
        return id(item)
    if isinstance(item, np.ndarray):
        return (item.dtype.str, item.shape, item.tobytes())
    return repr(item)
