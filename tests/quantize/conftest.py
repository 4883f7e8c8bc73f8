from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.ops import definition

FLOAT = 1  # TensorProto.FLOAT


class GraphMaker:
    """Builds small float graphs: `y = g.conv(g.input("x", 1, 4, 4, 2), 8)`."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.rng = np.random.default_rng(7)

    def input(self, name: str, *shape: int) -> Value:
        value = Value(name, TensorType(np.dtype(np.float32), shape))
        self.graph.inputs.append(Port(name, value, FLOAT, shape))
        return value

    def emit(self, op: str, *inputs: Value | None, name: str = "", **attrs: Any) -> Value:
        node = Node(op, list(inputs), [], attrs, name or f"{op.lower()}{len(self.graph.nodes)}")
        types = definition(op).infer(node)
        node.outputs = [
            Value(node.name if i == 0 else f"{node.name}.{i}", t) for i, t in enumerate(types)
        ]
        self.graph.nodes.append(node)
        return node.output

    def const(self, array: Any) -> Value:
        return constant(np.asarray(array, np.float32), f"c{len(self.graph.nodes)}")

    def conv(self, x: Value, channels: int, kernel: int = 3, name: str = "", **attrs: Any) -> Value:
        groups = attrs.get("groups", 1)
        w = self.rng.normal(size=(channels, kernel, kernel, x.shape[-1] // groups)) * 0.3
        given = {
            "stride": (1, 1), "dilation": (1, 1), "groups": 1,
            "pads": (kernel // 2,) * 4,
            "act_min": -np.inf, "act_max": np.inf,
        } | attrs  # fmt: skip
        b = self.rng.normal(size=channels) * 0.1
        return self.emit("Conv2d", x, self.const(w), self.const(b), name=name, **given)

    def output(self, *values: Value) -> Graph:
        self.graph.outputs += [Port(v.name, v, FLOAT, v.shape) for v in values]
        return self.graph


@pytest.fixture
def g() -> GraphMaker:
    return GraphMaker()
