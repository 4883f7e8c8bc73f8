"""Float graphs that round as a file does, wholly or in part: what each rounding costs.

A tensor is rounded by a Quantize and a Dequantize behind it, a weight by taking the file's. The
operators in between compute in float32, so the sums of an int8 kernel are met but for the two
roundings of its requantization.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ..format.describe import op_type
from ..format.model import NUMPY_OF
from ..ir import Array, Graph, Node, QuantParams, TensorType, Value, constant
from ..quantize import prepare
from .twin import FLOAT, Twin


@dataclass(frozen=True)
class Rounding:
    """What is rounded: the constants of nodes and tensors, both by tensor name.

    quant      parameters other than the file's
    factors    per channel (last axis): the tensor is multiplied by them before it is rounded, and
               divided after, as if weights had been equalized so
    constants  other constants than the file's, by operand, for nodes in `weights`
    """

    weights: frozenset[str] = frozenset()
    tensors: frozenset[str] = frozenset()
    quant: Mapping[str, QuantParams] = field(default_factory=dict)
    factors: Mapping[str, Array] = field(default_factory=dict)
    constants: Mapping[str, Mapping[int, Array]] = field(default_factory=dict)

    def without(self, weights: Collection[str], tensors: Collection[str]) -> Rounding:
        """The same, but these stay float."""
        return replace(
            self,
            weights=self.weights - frozenset(weights),
            tensors=self.tensors - frozenset(tensors),
        )


def sources(twin: Twin) -> Rounding:
    """All that the file rounds; tensors that only move what is rounded already are left out."""
    moved = {n.output.name for n in twin.graph.nodes if twin.moves(n)}
    return Rounding(
        frozenset(name for name, found in twin.constants.items() if found),
        frozenset(twin.quant) - moved,
    )


def simulated(twin: Twin, rounding: Rounding) -> Graph:
    """The float graph of `twin`, rounded so; its tensors keep their names."""
    return _Simulation(twin, rounding).run()


def with_weighted(twin: Twin) -> Graph:
    """The float graph, and beside each node with weights one with the file's: both read the float
    input. The second's output is called "X.w"."""
    graph = prepare(twin.graph)
    for node in list(graph.nodes):
        name = node.output.name
        if twin.constants.get(name):
            inputs = swapped(node.inputs, twin.constants[name])
            y = Value(f"{name}.w", node.output.type)
            graph.nodes.insert(
                graph.nodes.index(node) + 1, Node(node.op, inputs, [y], dict(node.attrs), y.name)
            )
    return graph


def swapped(inputs: list[Value | None], constants: Mapping[int, Array]) -> list[Value | None]:
    """The inputs of a node with other constants, by operand."""
    new = [*inputs, *[None] * (max(constants, default=0) + 1 - len(inputs))]
    for i, array in constants.items():
        old = new[i]
        name = f"{inputs[1].name}.bias" if old is None and inputs[1] is not None else ""
        new[i] = constant(array, name if old is None else old.name)
    return new


class _Simulation:
    def __init__(self, twin: Twin, rounding: Rounding) -> None:
        self.twin, self.rounding = twin, rounding
        self.graph = prepare(twin.graph)
        self.nodes: list[Node] = []
        self.rounded: dict[Value, Value] = {}
        self.names: dict[Value, str] = {}
        self.inserted: dict[str, Value] = {}

    def run(self) -> Graph:
        for port in self.graph.inputs:
            self._round(port.value)
        for node in self.graph.nodes:
            name = node.output.name
            inputs = [v if v is None else self._read(node, v) for v in node.inputs]
            if name in self.rounding.weights:
                mine = self.rounding.constants.get(name, {})
                inputs = swapped(inputs, {**self.twin.constants[name], **mine})
            node.inputs = inputs
            self.nodes.append(node)
            for v in node.outputs:
                self._round(v)
        for port in self.graph.outputs:
            port.value = self.rounded.get(port.value, port.value)
        self.graph.nodes = self.nodes
        return self.graph

    def _read(self, node: Node, v: Value) -> Value:
        """What stands for `v` where `node` reads it."""
        if v.const is not None or v.dtype != FLOAT:
            return v
        name, now = self.names.get(v, v.name), self.rounded.get(v, v)
        op = self.twin.runs_as.get(node.output.name)
        if op is None or op.name in self.twin.floats:
            return now
        form = f"{name}.{NUMPY_OF[self.twin.model.tensors[op.inputs[0]].dtype].name}"
        for extra in (f"{name}.for.{op.name}", form):
            if extra in self.rounding.tensors:
                return self._rounding_of(now, extra)
        root = self.twin.roots.get(op.name, name)
        inside = op_type(op.kind) == "Lut" and root not in (name, form)
        return v if inside else now  # nothing within a table is rounded

    def _round(self, v: Value) -> None:
        name = self.names[v] = v.name
        if name in self.rounding.tensors and v.dtype == FLOAT:
            v.name = f"{name}.raw"
            self.rounded[v] = self._rounding_of(v, name)

    def _rounding_of(self, v: Value, name: str) -> Value:
        """`v` rounded as the file's tensor `name`, under that name."""
        if name in self.inserted:
            return self.inserted[name]
        quant = self.rounding.quant.get(name) or self.twin.quant[name]
        factors, x = self.rounding.factors.get(name), v
        if factors is not None:
            x = self._times(x, factors, f"{name}.scaled")
        q = Value(f"{name}.q", TensorType(quant.dtype, v.shape), None, quant)
        y = Value(name, v.type)
        self.nodes.append(Node("Quantize", [x], [q], {}, q.name))
        if factors is None:
            self.nodes.append(Node("Dequantize", [q], [y], {}, name))
        else:
            scaled = Value(f"{name}.rounded", v.type)
            self.nodes.append(Node("Dequantize", [q], [scaled], {}, scaled.name))
            y = self._times(scaled, 1 / factors, name)
        self.inserted[name] = y
        return y

    def _times(self, x: Value, factors: Array, name: str) -> Value:
        y = Value(name, x.type)
        by = constant(factors.astype(FLOAT), f"{name}.factors")
        self.nodes.append(Node("Mul", [x, by], [y], {}, name))
        return y
