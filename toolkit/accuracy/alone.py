"""Layers rounded one at a time: each runs from where it is in the network on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from ..ir import Graph, Node, Value
from ..quantize import CandidateEvaluator, Score
from ..quantize.reconstruction.layer_executor import LayerExecutor
from .rounding_simulation import Rounding, simulated
from .simulated_model import SimulatedModel, base_of


def scores_alone(
    model: SimulatedModel,
    everything: Rounding,
    names: Iterable[str],
    trials: CandidateEvaluator,
    done: Callable[[int], None],
) -> dict[str, Score]:
    """The score of each of the tensors `names` rounded alone, as `everything` says, and the weights
    that make it; `done` is told how many there are so far.

    What lies before a layer is run once for all behind it.
    """
    names, found = list(names), dict[str, Score]()
    places = {p.value.name: -1 for p in model.graph.inputs}
    places |= {v.name: i for i, n in enumerate(model.graph.nodes) for v in n.outputs}
    runs = LayerExecutor([k.inputs for k in trials.kept])
    for name in sorted(names, key=lambda n: places.get(base_of(n), -1)):
        only = Rounding(everything.weights & {name}, everything.tensors & {name})
        graph = simulated(model, only)
        first = _first_change(model.graph, graph)
        found[name] = trials.measure(graph) if first is None else _score(runs, graph, first, trials)
        done(len(found))
    return {name: found[name] for name in names}


def _score(runs: LayerExecutor, graph: Graph, first: Node, trials: CandidateEvaluator) -> Score:
    made = {v.name: v for n in graph.nodes for v in n.outputs}
    tensors = [t for t in dict.fromkeys(p.tensor for p in trials.points) if t in made]
    deque(runs.run_to(graph, first, []), maxlen=0)
    outputs = runs.run_on(graph, [made[t] for t in tensors])
    return trials.measure_outputs(dict(zip(tensors, found, strict=True)) for found in outputs)


def _first_change(graph: Graph, changed: Graph) -> Node | None:
    """The first node of a changed copy that is not as in `graph`; None where none is."""
    for node, other in zip(graph.nodes, changed.nodes, strict=False):
        if not _alike(node, other):
            return other
    return None


def _alike(node: Node, other: Node) -> bool:
    if node.op != other.op or node.attrs.keys() != other.attrs.keys():
        return False
    pairs = zip([*node.inputs, *node.outputs], [*other.inputs, *other.outputs], strict=False)
    counts = len(node.inputs) == len(other.inputs) and len(node.outputs) == len(other.outputs)
    attrs = all(other.attrs[k] is v for k, v in node.attrs.items())
    return counts and attrs and all(_same(v, w) for v, w in pairs)


def _same(v: Value | None, w: Value | None) -> bool:
    if v is None or w is None or v.const is not None or w.const is not None:
        return v is w
    return v.name == w.name and v.type == w.type and v.quant == w.quant
