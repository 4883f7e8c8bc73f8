"""Float graphs that simulate all or some roundings of a quantized graph.

A tensor is rounded by a Quantize and a Dequantize after it, weights are replaced by rounded
constants. The operators in between compute in float32, which matches the sums of an int8 kernel
except for the two roundings of its requantization.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...format.schema import BinaryFn
from ...ir import (
    Array,
    Graph,
    Node,
    QuantParams,
    SharedArrays,
    TensorType,
    Value,
    constant,
)
from ...numerics import FLOAT
from ...ops.convert.quantize import converted
from .prepare import copy_graph


class Simulation:
    """A copy of `graph` in which these are rounded; its tensors keep their names.

    quant      how tensors are rounded, by their names
    constants  what nodes read in place of their constants, by the node's output and by operand
    factors    per channel (last axis): the tensor is multiplied by them before it is rounded, and
               divided after
    """

    def __init__(
        self,
        graph: Graph,
        quant: Mapping[str, QuantParams],
        constants: Mapping[str, Mapping[int, Array]],
        factors: Mapping[str, Array] | None = None,
    ) -> None:
        self.graph = copy_graph(graph)
        self.quant, self.constants, self.factors = quant, constants, factors or {}
        self.nodes: list[Node] = []
        self.names: dict[Value, str] = {}
        self.rounded: dict[Value, Value] = {}
        self._inserted: dict[str, Value] = {}

    def run(self) -> Graph:
        shared = SharedArrays()
        for port in self.graph.inputs:
            self._round(port.value)
        for node in self.graph.nodes:
            name = node.output.name
            inputs = [v if v is None else self.read(node, v) for v in node.inputs]
            others = self.constants.get(name, {})
            node.inputs = swapped(inputs, {i: shared(array) for i, array in others.items()})
            self.nodes.append(node)
            for v in node.outputs:
                self._round(v)
        for port in self.graph.outputs:
            port.value = self.rounded.get(port.value, port.value)
        self.graph.nodes = self.nodes
        return self.graph

    def read(self, node: Node, v: Value) -> Value:
        """What stands for `v` where `node` reads it."""
        return self.rounded.get(v, v)

    def _round(self, v: Value) -> None:
        name = self.names[v] = v.name
        if name in self.quant and v.dtype == FLOAT:
            v.name = f"{name}.raw"
            self.rounded[v] = self.rounding_of(v, name)

    def rounding_of(self, v: Value, name: str) -> Value:
        """`v` rounded as the tensor `name` is, under that name."""
        if name in self._inserted:
            return self._inserted[name]
        quant, factors, x = self.quant[name], self.factors.get(name), v
        if factors is not None:
            x = self._times(x, factors, f"{name}.scaled")
        q = Value(f"{name}.q", TensorType(quant.dtype, v.shape), None, quant)
        y = Value(name, v.type)
        self.nodes.append(converted(x, q))
        if factors is None:
            self.nodes.append(converted(q, y))
        else:
            scaled = Value(f"{name}.rounded", v.type)
            self.nodes.append(converted(q, scaled))
            y = self._times(scaled, 1 / factors, name)
        self._inserted[name] = y
        return y

    def _times(self, x: Value, factors: Array, name: str) -> Value:
        y = Value(name, x.type)
        by = constant(factors.astype(FLOAT), f"{name}.factors")
        self.nodes.append(Node(BinaryFn.Mul.name, [x, by], [y], {}, name))
        return y


def swapped(inputs: list[Value | None], constants: Mapping[int, Array]) -> list[Value | None]:
    """The inputs of a node with other constants, by operand."""
    new = [*inputs, *[None] * (max(constants, default=-1) + 1 - len(inputs))]
    for i, array in constants.items():
        old = new[i]
        name = f"{inputs[1].name}.bias" if old is None and inputs[1] is not None else ""
        new[i] = constant(array, name if old is None else old.name)
    return new
