"""Inserts per-channel multiplications before and after lookup chains; the tables absorb them."""

from __future__ import annotations

from collections.abc import Iterable, Set

import numpy as np
from numpy.typing import NDArray

from ...format.schema import BinaryFn
from ...ir import Graph, Node, Value, constant
from ...ops import computes

Reals = NDArray[np.float64]


class ChannelFactors:
    """Inserts nodes into `graph`. The scaled tensor, which is stored in the file, keeps its name X;
    the tensor without the factors is named "X.unscaled"."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.producers = graph, graph.producers()
        self.names = {v.name for v in graph.values()}
        self.inserted: dict[Node, list[Node]] = {}
        self.plain: dict[Value, Value] = {}

    def behind(self, node: Node, s: Reals) -> None:
        """Multiply the output of `node`, the last node of a chain. The inserted node takes its
        name, which becomes the name of the table."""
        v = node.output
        node.outputs[0] = plain = self._unscaled(v)
        self._multiply(plain, s, v, node, node.name)

    def before(self, nodes: Iterable[Node], v: Value, s: Reals) -> None:
        """Multiply `v` for these readers. If `v` was scaled by `behind`, they read it unscaled."""
        if v not in self.plain:
            plain = self._unscaled(v)
            self._multiply(v, s, plain, self.producers[v], plain.name)
        for node in nodes:
            node.inputs = [self.plain[v] if w is v else w for w in node.inputs]

    def _unscaled(self, v: Value) -> Value:
        name = f"{v.name}.unscaled"
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.plain[v] = Value(name, v.type)
        return self.plain[v]

    def _multiply(self, x: Value, s: Reals, y: Value, after: Node, name: str) -> None:
        by = constant(s.astype(np.float32), f"{y.name}.factors")
        self.inserted.setdefault(after, []).append(Node(BinaryFn.Mul.name, [x, by], [y], {}, name))

    def nodes(self) -> list[Node]:
        """All nodes, with the inserted ones, in execution order."""
        return [m for n in self.graph.nodes for m in (n, *self.inserted.get(n, []))]


def unscaled(graph: Graph, names: Set[str]) -> dict[str, str]:
    """The tensors without factors that were inserted into a graph with these `names`, each with the
    scaled tensor, by their names."""
    found: dict[str, str] = {}
    for node in graph.nodes:
        if computes(node, BinaryFn.Mul) and node.input(1).const is not None:
            x, y = node.input(0).name, node.output.name
            found |= {x: y} if x not in names else {y: x} if y not in names else {}
    return found
