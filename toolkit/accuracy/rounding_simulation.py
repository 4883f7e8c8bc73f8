"""Float graphs that round as a file does, wholly or in part: what each rounding costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ..format.describe import TABLES
from ..format.model import NUMPY_OF
from ..ir import Array, Graph, Node, QuantParams, TensorType, Value
from ..ops.convert.quantize import converted
from ..plan.regions import copied
from ..quantize.scheme.prepare import copy_graph
from ..quantize.scheme.simulation import Simulation, swapped
from .simulated_model import FLOAT, SimulatedModel


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

    def only(self, weights: Collection[str], tensors: Collection[str]) -> Rounding:
        """The same, but all else stays float."""
        return replace(
            self,
            weights=self.weights & frozenset(weights),
            tensors=self.tensors & frozenset(tensors),
        )

    def without(self, weights: Collection[str], tensors: Collection[str]) -> Rounding:
        """The same, but these stay float."""
        return replace(
            self,
            weights=self.weights - frozenset(weights),
            tensors=self.tensors - frozenset(tensors),
        )


def sources(simulated_model: SimulatedModel) -> Rounding:
    """All that the file rounds; tensors that only move what is rounded already are left out."""
    moved = {n.output.name for n in simulated_model.graph.nodes if simulated_model.moves(n)}
    return Rounding(
        frozenset(name for name, found in simulated_model.constants.items() if found),
        frozenset(simulated_model.quant) - moved,
    )


def simulated(simulated_model: SimulatedModel, rounding: Rounding) -> Graph:
    """The float graph of `simulated_model`, rounded so, of lasting nodes; its tensors keep their
    names."""
    return _Simulation(simulated_model, rounding).run()


def with_weighted_copies(
    simulated_model: SimulatedModel, everything: Rounding, names: Collection[str]
) -> Graph:
    """The float graph, and beside each node with weights that makes one of these tensors another
    with those of `everything`: both read the float input. The second's output is called "X.w"."""
    graph = copy_graph(simulated_model.graph)
    for node in list(graph.nodes):
        name = node.output.name
        if name in names and simulated_model.constants.get(name):
            inputs = swapped(node.inputs, _constants(simulated_model, everything, name))
            y = Value(f"{name}.w", node.output.type)
            graph.nodes.insert(
                graph.nodes.index(node) + 1, Node(node.op, inputs, [y], dict(node.attrs), y.name)
            )
    return graph


def with_copies(simulated_model: SimulatedModel, names: Collection[str]) -> Graph:
    """The float graph, in which each of these tensors is a copy where the file rounds it."""
    return _Copies(simulated_model, Rounding(tensors=frozenset(names))).run()


def with_each_alone(
    simulated_model: SimulatedModel, everything: Rounding, names: Collection[str]
) -> Graph:
    """The same, and "X.alone" in front of each: what it is where it alone is rounded, as
    `everything` says, and the weights that make it."""
    return _EachAlone(simulated_model, everything, names).run()


def _constants(model: SimulatedModel, rounding: Rounding, name: str) -> dict[int, Array]:
    return {**model.constants[name], **rounding.constants.get(name, {})}


class _Simulation(Simulation):
    lasting = True

    def __init__(self, simulated_model: SimulatedModel, rounding: Rounding) -> None:
        self.simulated_model = simulated_model
        quant = {n: rounding.quant.get(n) or simulated_model.quant[n] for n in rounding.tensors}
        constants = {n: _constants(simulated_model, rounding, n) for n in rounding.weights}
        once = simulated_model.once if self.lasting else None
        super().__init__(simulated_model.graph, quant, constants, rounding.factors, once)

    def read(self, node: Node, v: Value) -> Value:
        name, now = v.name, self.now(v)
        if v.const is not None or v.dtype != FLOAT:
            return now
        op = self.simulated_model.runs_as.get(node.output.name)
        if op is None or op.name in self.simulated_model.floats:
            return now
        form = f"{name}.{NUMPY_OF[self.simulated_model.model.tensors[op.inputs[0]].dtype].name}"
        for extra in (f"{name}.for.{op.name}", form):
            if extra in self.quant:
                return self.rounding_of(now, extra)
        root = self.simulated_model.roots.get(op.name, name)
        inside = op.kind in TABLES and root not in (name, form)
        return self.made.get(v, v) if inside else now  # nothing within a table is rounded


class _Copies(_Simulation):
    lasting = False

    def rounding_of(self, v: Value, name: str) -> Value:
        if name not in self._inserted:
            self._inserted[name] = Value(name, v.type)
            self.nodes.append(copied(v, self._inserted[name]))
        return self._inserted[name]


class _EachAlone(_Copies):
    def __init__(
        self, simulated_model: SimulatedModel, everything: Rounding, names: Collection[str]
    ) -> None:
        super().__init__(simulated_model, Rounding(tensors=frozenset(names)))
        self.everything = everything

    def rounding_of(self, v: Value, name: str) -> Value:
        if name not in self._inserted:
            alone, x = f"{name}.alone", v
            rounds = name in self.everything.tensors
            if name in self.everything.weights:
                x = self._with_own_weights(self.nodes[-1], name, f"{name}.w" if rounds else alone)
            if rounds:
                quant = self.quant[name]
                q = Value(f"{name}.q", TensorType(quant.dtype, v.shape), None, quant)
                self.nodes += [converted(x, q), converted(q, Value(alone, v.type))]
        return super().rounding_of(v, name)

    def _with_own_weights(self, node: Node, name: str, called: str) -> Value:
        """What the node that was last added makes by the file's weights."""
        constants = _constants(self.simulated_model, self.everything, name)
        inputs = swapped(node.inputs, constants)
        y = Value(called, node.output.type)
        self.nodes.append(Node(node.op, inputs, [y], dict(node.attrs), y.name))
        return y
