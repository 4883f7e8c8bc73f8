"""Rounds weights layer by layer so that each layer's output stays close to the float model's.

For each node, in execution order, the inputs in the float model and in the model quantized so far
are observed. Its integer weights then minimize the output error on the quantized inputs, so they
also compensate errors of earlier layers as far as possible. The bias removes the remaining mean
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph, Node
from ...ops import is_a
from ...ops.conv.conv2d import Conv2d
from ...ops.matmul.fully_connected import FullyConnected
from ...progress import Progress
from ...runtime import return_freed
from ...runtime.cores import on_cores
from ...runtime.operators import any_registered
from ..outputs.kept_samples import Sample
from ..scheme.options import Ranges, RoundedWeights
from ..scheme.plan import Plan
from ..scheme.shared_weights import sharing_weights
from ..weights.layer_weights import LayerWeights
from ..weights.rate_distortion import Rate, RateProblem
from ..weights.weight_quantizer import QuantizedWeights, WeightQuantizer
from .carried_errors import carried_part
from .layer_executor import LayerExecutor
from .observed_inputs import (
    FloatInputs,
    LayerInputs,
    observe_floats,
    observe_inputs,
    spread_evenly,
    unit_of,
    windows_of,
)
from .rounded_layer import quadratic_form, real_weights, round_layer, through_clamp, with_bias
from .second_moments import PARTS, SecondMoments, moment_sums, second_moments, total

Reals = NDArray[np.float64]

WIDE = 512
"""From this number of weights per output channel on, a half of the samples is cross-validated on
half as many parts, each with as many samples as a part of the whole set. From twice this number on
the whole set has half as many parts, too: time grows with the cube."""
WIDEST = 1536
"""Maximum number of weights per output channel: time grows with its cube and memory with its
square, and the samples are too few to estimate the correlations of so many inputs."""
MATRICES = 5
"""Matrices of as many columns that are held at a time to round a layer."""
BESIDE = 1 << 24
"""Bytes that threads beside the first may take, or as many as the model's constants."""
SHARED = MATRICES << 20
"""Bytes of a layer's matrices from which on threads share what is to be done."""


def round_weights(
    plan: Plan,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    progress: Progress | None = None,
    method: str = "gptq",
) -> RoundedWeights:
    """The rounded weights of every node of `plan` with quantized weights, by output name and bits;
    `method` is "gptq" or "adaround".

    Layers that share weights are rounded to nearest, so that they continue to share them. The same
    plan, ranges and samples give the same integers.
    """
    few = spread_evenly(samples)
    return _round_for(plan, ranges, few, [range(len(few))], progress, method)[0]


def round_by_halves(
    plan: Plan,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    progress: Progress | None = None,
    method: str = "gptq",
) -> tuple[RoundedWeights, list[RoundedWeights]]:
    """`round_weights` on all samples, and on the even and odd ones.

    Inputs in the float model are observed once for all three. If `round_weights` on all samples
    uses every other one (at most SAMPLES), its result is that of the even ones.
    """
    halves = [range(first, len(samples), 2) for first in (0, 1)]
    few = spread_evenly(samples)
    if len(few) == len(samples):
        whole, *found = _round_for(plan, ranges, few, [range(len(few)), *halves], progress, method)
        return whole, found
    found = [round_weights(plan, ranges, samples[h.start :: 2], progress, method) for h in halves]
    if len(few) == len(halves[0]):
        return found[0], found
    return round_weights(plan, ranges, samples, progress, method), found


def _round_for(
    plan: Plan,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    chosen: Sequence[range],
    progress: Progress | None,
    method: str,
) -> list[RoundedWeights]:
    """`round_weights` on each subset of the samples in `chosen`, in one pass over the nodes."""
    through, nodes = method == "adaround", rounded_nodes(plan)
    rounds = [_Round(plan, ranges, some, samples, through) for some in chosen]
    floats = _Floats(plan.graph, samples, through)
    beside = max(BESIDE, sum(v.const.nbytes for v in plan.graph.values() if v.const is not None))
    for i, node in enumerate(nodes):
        if progress:
            progress("rounding weights", i, len(nodes))
        k = plan.linear[node].shape[1]
        # In order: plans share what is refused.
        made = [(one, found) for one in rounds if (found := one.made(node)) is not None]
        tasks: list[Callable[[], object]] = [
            partial(one.round, node, found, floats.of(node, found)) for one, found in made
        ]
        many = 1 if through else _threads(node, k, beside)
        for after in nodes[i + 1 : i + 2] if many > 1 else []:
            if (later := rounds[0].made(after)) is not None:
                tasks.insert(1, partial(floats.of, after, later))
        on_cores(lambda task: task(), tasks, many)
        floats.forget(node)
    if progress:
        progress("rounding weights", len(nodes), len(nodes))
    return [one.found for one in rounds]


def _threads(node: Node, k: int, beside: int) -> int:
    """How many threads may round the node for several subsets of the samples: one where there is
    so little to compute that they would wait for each other's Python."""
    if any_registered():  # operators that may not be thread-safe
        return 1
    held = _matrices(node, k)
    return 1 + beside // held if held >= SHARED else 1


def _matrices(node: Node, k: int) -> int:
    """The bytes of matrices that are held to round a node of k weights per output channel."""
    return MATRICES * 8 * windows_of(node).groups * k * k


class _Floats:
    """What is observed in the float model `graph`, until it is forgotten."""

    def __init__(self, graph: Graph, samples: Sequence[Sample], outputs: bool) -> None:
        self._graph, self._run, self._outputs = graph, LayerExecutor(samples), outputs
        self._known: dict[tuple[Node, float], FloatInputs] = {}

    def of(self, node: Node, made: Node) -> FloatInputs:
        """The inputs of the node, which is `made` in a quantized model."""
        key = node, unit_of(made.input(0))
        if key not in self._known:
            self._known[key] = observe_floats(node, self._graph, self._run, self._outputs, key[1])
        return self._known[key]

    def forget(self, node: Node) -> None:
        self._known = {key: held for key, held in self._known.items() if key[0] is not node}


class _Round:
    """Weights rounded node by node on the `chosen` samples."""

    def __init__(
        self,
        plan: Plan,
        ranges: Ranges,
        chosen: range,
        samples: Sequence[Mapping[str, Array]],
        through: bool,
    ) -> None:
        self.plan, self.ranges, self.chosen, self.through = plan, ranges, chosen, through
        self.run = LayerExecutor([samples[i] for i in chosen])
        self.parts = max(2, PARTS * len(chosen) // len(samples))
        self.found: dict[tuple[str, int], QuantizedWeights] = {}
        self._graph: Graph | None = None

    def made(self, node: Node) -> Node | None:
        """A node after the layers rounded so far; None if its weights are not changed."""
        graph = self._emitted()
        if node not in self.plan.linear:
            return None
        made = next(n for n in graph.nodes if n.outputs and n.output.name == node.output.name)
        return None if made.input(0).quant is None or made.output.quant is None else made

    def observe(self, node: Node, made: Node, floats: FloatInputs) -> _Seen:
        """The inputs of the node, which is `made` now."""
        x, y = made.input(0).quant, made.output.quant
        assert x is not None and y is not None
        inputs = observe_inputs(node, floats, self._emitted(), self.run, self.chosen)
        linear = self.plan.linear[node]
        return _Seen(inputs, linear, linear.floor(x, y), x.scalar / y.scalar)

    def round(self, node: Node, made: Node, floats: FloatInputs) -> None:
        """Round the weights of the node, which is `made` now. Rounds may do so in threads."""
        seen = self.observe(node, made, floats)
        linear = seen.linear
        if _matrices(node, linear.shape[1]) > BESIDE:
            return_freed()  # by smaller matrices, whose places these do not fit in
        parts = moment_sums(seen.inputs, self._parts(linear.shape[1]))
        carried, whole = carried_part(linear.rows, parts)
        about = second_moments(whole)
        del whole
        rate = self.plan.options.rates.get(node.output.name) if linear.form.bits == 8 else None
        if rate is not None:
            problem = RateProblem(*quadratic_form(linear, about, carried))
            z, scales = problem.solve(rate, seen.floor, seen.ratio)
            grid = WeightQuantizer(linear.form, linear.shape[1], scales)
            rounded = with_bias(linear, about, grid, z)
        else:
            rounded = round_layer(linear, seen.floor, about, carried)
            if self.through:
                rounded = through_clamp(linear, rounded, seen.inputs, about, carried, made)
        self.found[node.output.name, linear.form.bits] = rounded
        self._replace(node, made, rounded)

    def _parts(self, k: int) -> int:
        """On how many parts a node of k weights per output channel is cross-validated."""
        if k <= WIDE:
            return PARTS
        return self.parts if k <= 2 * WIDE else PARTS // 2

    def _emitted(self) -> Graph:
        """The graph with the weights found so far; nodes that it refuses stay so in `plan`."""
        if self._graph is None:
            self.plan = self.plan.with_rounded(self.found)
            self._graph, _ = self.plan.emit(self.ranges, trial=True)
        return self._graph

    def _replace(self, node: Node, made: Node, rounded: QuantizedWeights) -> None:
        """Put the rounded weights of one node into the graph, or emit it again if they are
        refused."""
        found, graph = self.plan.with_weights(node, made, rounded), self._emitted()
        if found is None:
            self._graph = None
        else:
            graph.nodes[graph.nodes.index(made)] = found


@dataclass(frozen=True)
class _Seen:
    """The inputs of a node with weights `linear`. Weight scales are at least `floor`, and are
    multiplied by `ratio` in the requantization table."""

    inputs: LayerInputs
    linear: LayerWeights
    floor: Reals
    ratio: float


def rounded_nodes(plan: Plan) -> list[Node]:
    """The nodes whose weights are rounded by layer reconstruction, in execution order."""
    shared = sharing_weights(plan.graph)
    return [
        n
        for n, u in plan.linear.items()
        if is_a(n, Conv2d, FullyConnected) and u.shape[1] <= WIDEST and n not in shared
    ]


@dataclass(frozen=True)
class NodeRates:
    """A node whose weights `linear` can be compressed at any rate. Weight scales are at least
    `floor`, and are multiplied by `ratio` in the requantization table; `seen` are its input
    moments."""

    node: Node
    linear: LayerWeights
    floor: Reals
    ratio: float
    seen: SecondMoments
    problem: RateProblem

    def at(self, rate: Rate) -> tuple[QuantizedWeights, float]:
        """Its weights at a rate, and their noise in units of that rate's steps."""
        z, scales = self.problem.solve(rate, self.floor, self.ratio)
        noise = self.problem.noise(z, scales, real_weights(self.linear, self.seen), rate.steps)
        grid = WeightQuantizer(self.linear.form, self.linear.shape[1], scales)
        return with_bias(self.linear, self.seen, grid, z), noise


def nodes_at_rates(
    plan: Plan,
    ranges: Ranges,
    samples: Sequence[Mapping[str, Array]],
    wanted: Callable[[Node], bool],
    progress: Progress,
) -> Iterator[NodeRates]:
    """The `wanted` nodes among `rounded_nodes` that have 8-bit weights, in the current graph of
    `plan`."""
    few = spread_evenly(samples)
    floats, one = _Floats(plan.graph, few, False), _Round(plan, ranges, range(len(few)), few, False)
    nodes = [n for n in rounded_nodes(plan) if wanted(n)]
    for i, node in enumerate(nodes):
        progress("measuring rates", i, len(nodes))
        made = one.made(node)
        if made is None or one.plan.linear[node].form.bits < 8:
            continue
        seen = one.observe(node, made, floats.of(node, made))
        floats.forget(node)
        about = second_moments(total(moment_sums(seen.inputs, PARTS)))
        problem = RateProblem(*quadratic_form(seen.linear, about, 0.0))
        yield NodeRates(node, seen.linear, seen.floor, seen.ratio, about, problem)
    progress("measuring rates", len(nodes), len(nodes))
