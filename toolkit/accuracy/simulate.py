"""Float graphs that round as a file does, wholly or in part: what each rounding costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ..format.describe import op_type
from ..format.model import NUMPY_OF
from ..ir import Array, Graph, Node, QuantParams, Value
from ..quantize.scheme.prepare import copied
from ..quantize.scheme.simulation import Simulation, swapped
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
    graph = copied(twin.graph)
    for node in list(graph.nodes):
        name = node.output.name
        if twin.constants.get(name):
            inputs = swapped(node.inputs, twin.constants[name])
            y = Value(f"{name}.w", node.output.type)
            graph.nodes.insert(
                graph.nodes.index(node) + 1, Node(node.op, inputs, [y], dict(node.attrs), y.name)
            )
    return graph


class _Simulation(Simulation):
    def __init__(self, twin: Twin, rounding: Rounding) -> None:
        self.twin = twin
        quant = {n: rounding.quant.get(n) or twin.quant[n] for n in rounding.tensors}
        mine = rounding.constants
        constants = {n: {**twin.constants[n], **mine.get(n, {})} for n in rounding.weights}
        super().__init__(twin.graph, quant, constants, rounding.factors)

    def read(self, node: Node, v: Value) -> Value:
        if v.const is not None or v.dtype != FLOAT:
            return v
        name, now = self.names.get(v, v.name), self.rounded.get(v, v)
        op = self.twin.runs_as.get(node.output.name)
        if op is None or op.name in self.twin.floats:
            return now
        form = f"{name}.{NUMPY_OF[self.twin.model.tensors[op.inputs[0]].dtype].name}"
        for extra in (f"{name}.for.{op.name}", form):
            if extra in self.quant:
                return self.rounding_of(now, extra)
        root = self.twin.roots.get(op.name, name)
        inside = op_type(op.kind) == "Lut" and root not in (name, form)
        return v if inside else now  # nothing within a table is rounded
