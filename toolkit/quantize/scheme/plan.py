"""A float graph prepared for quantization: analysed once, emitted for any ranges."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from ...ir import Graph, Node, Value
from ...numerics import INT8, INT16, WEIGHT_TYPES, DType, Precision
from ...ops import definition
from ...ops._opdef import Activation
from ...ops.convert.fake_quantize import arrives_quantized
from ..weights.layer_weights import LayerWeights
from ..weights.weight_quantizer import QuantizedWeights, WeightFormat
from .detection_head import distances, joins_of_shares, joins_of_sizes
from .divisors import restored_outputs, shares_of_sums, with_divisors
from .emit import ROOM_INT16, Constants, Emitter, Quants, with_weights
from .exponential_outputs import exponential_outputs
from .given import Steps, given_ranges, grid_steps, is_given
from .lookup_chains import find_chains
from .masked_outputs import masked_outputs
from .options import Decision, Options, Range, Ranges, RoundedWeights
from .prepare import prepare
from .qparams import activation_params, widen
from .quantizable_groups import QuantizableGroup, find_quantizable_groups, unscaled
from .reuse import Nothing, Reuse
from .saturation import masked_sums, narrowed, without_masks
from .shared_scales import ScaleGroup, SharedScales, share_scales
from .table_accuracy import TableAccuracy, whole_numbers


class Plan:
    """The structure of a graph's quantization, independent of the final ranges.

    `ranges` determine which tensors share a quantization, and are the ranges of int16 tensors,
    which have steps to spare: use min-max ranges. `seen` are the extremes, not widened to include
    0.
    """

    def __init__(
        self, graph: Graph, ranges: Ranges, options: Options, seen: Ranges | None = None
    ) -> None:
        self.options = options
        self.graph = prepare(graph)
        self.fixed = given_ranges(self.graph)
        ranges = {**ranges, **self.fixed}
        self.given = is_given(self.graph)
        self.tables = TableAccuracy(seen or ranges)
        self.refused: dict[tuple[Node, Precision], str] = (
            {}
            if self.given
            else joins_of_sizes(self.graph, ranges)
            | joins_of_shares(self.graph, ranges)
            | masked_outputs(self.graph, ranges)
            | exponential_outputs(self.graph)
            | restored_outputs(self.graph, self.tables.seen)
            | shares_of_sums(self.graph)
            | whole_numbers(self.graph)
            | distances(self.graph)
        )
        self.wide = ranges
        self.whole: Constants = {}
        self._linears: dict[tuple[Node, WeightFormat], LayerWeights] = {}
        self._reuse, self._narrowed = Reuse(), Reuse()
        self._chains = find_chains(self.graph)
        self._analyse()

    def mixed(self, options: Options) -> Plan:
        """The plan of the same graph with these options, which may differ only in `wide`,
        `precision`, `weight_group`, `means` and `rounded`."""
        other = copy(self)
        other.options = options
        other.refused = dict(self.refused)
        if options.means is not self.options.means:
            other._linears = {
                (node, form): linear.with_means(options.means.get(node.input(0).name))
                for (node, form), linear in self._linears.items()
            }
        other._analyse()
        return other

    def elsewhere(self, graph: Graph, smaller: bool = False) -> Plan:
        """The plan of the same model at other tensor sizes (the float `graph`), with these weights
        and refusals. At a `smaller` size, constants keep their grids from this plan."""
        other = copy(self)
        other.whole = _constants(self.graph) if smaller else {}
        other.graph = prepare(graph)
        nodes = {n.output.name: n for n in other.graph.nodes}
        other._reuse, other._narrowed = Reuse(), Reuse()
        other._chains = find_chains(other.graph)
        other.fixed = given_ranges(other.graph)
        other.refused = {
            (nodes[name], precision): why
            for (node, precision), why in self.refused.items()
            if (name := node.output.name) in nodes
        }
        other._linears = {
            (nodes[name], form): linear.of(nodes[name])
            for (node, form), linear in self._linears.items()
            if (name := node.output.name) in nodes
        }
        other._analyse()
        return other

    def _analyse(self) -> None:
        self._params = Reuse()  # plans that differ only in rounding have equal ranges
        self.coarse = frozenset(unscaled(self.graph))
        self.groups = find_quantizable_groups(
            self.graph, self._chains, self.wide, self.options, self.refused
        )
        held = {p.value: p.held for p in (*self.graph.inputs, *self.graph.outputs) if p.held}
        outputs = self.graph.output_values()
        self.scales: SharedScales = share_scales(self.groups, outputs, self.wide, held)
        self.linear = {u.node: self._linear(u) for u in self.groups if _has_weights(u)}
        self.readers: dict[Value, list[QuantizableGroup]] = {}
        for u in self.groups:
            for v in u.inputs:
                self.readers.setdefault(v, []).append(u)
        self._clamps = {
            u.node.output: Activation.of(u.node) for u in self.groups if u.integer and not u.chain
        }
        self._followed = self._followed_outputs()
        self._sums = masked_sums(self.groups, self.readers, outputs, self.wide)
        self._wide = without_masks(self._sums, self.readers, outputs, self.wide)

    def _followed_outputs(self) -> dict[Value, str]:
        """The names of the outputs that states follow."""
        outputs = {p.name: p.value.name for p in self.graph.outputs}
        return {p.value: outputs[p.follows] for p in self.graph.inputs if p.follows}

    def free_scale_groups(self) -> list[ScaleGroup]:
        """The scale groups whose ranges can be chosen."""
        scale_groups = self.scales.groups
        return [s for s in scale_groups if s.dtype == INT8 and s.fixed is None and s.readers]

    def params(self, ranges: Ranges) -> Quants:
        """The quantization parameters of every tensor."""
        found: Quants = {}
        outputs = self.outputs
        narrow = without_masks(self._sums, self.readers, outputs, {**ranges, **self.fixed})
        for scale_group in self.scales.groups:
            total: Range | None = None
            known = self._wide if scale_group.dtype == INT16 else narrow
            for v in scale_group.readers or scale_group.members:
                low, high = self._range_of(v, known, scale_group.dtype)
                if act := self._clamps.get(v):
                    low, high = max(low, min(act.low, 0.0)), min(high, max(act.high, 0.0))
                readers = self.readers.get(v, [])
                low, high = narrowed((low, high), v, readers, outputs, known, self._narrowed)
                total = (low, high) if total is None else widen(total, (low, high))
            assert total is not None
            quant = scale_group.fixed or activation_params(*total, scale_group.dtype)
            found.update({(v, scale_group.dtype): quant for v in scale_group.members})
        return found

    def _range_of(self, v: Value, known: Ranges, dtype: DType) -> Range:
        """The range of `v`. A state includes the range of the output that it follows. int16 ranges
        are widened, as other samples, and states over time, may exceed the calibrated range."""
        low, high = known[v.name]
        output = self._followed.get(v)
        if output is not None:
            low, high = widen((low, high), known.get(output, (low, high)))
        if dtype != INT16 or not (output is not None or self._has_steps_to_spare(v)):
            return low, high
        return low * ROOM_INT16, high * ROOM_INT16

    def _has_steps_to_spare(self, v: Value) -> bool:
        """Whether an int16 range may be doubled: not if features of very different scales share it,
        nor before a table, whose entries cover the whole range, unless few samples say little of
        how far others reach."""
        readers = self.readers.get(v, [])
        return (
            v.name not in self.fixed
            and v.name not in self.coarse
            and (self.options.spare or not any(u.chain and u.integer for u in readers))
        )

    @property
    def outputs(self) -> set[Value]:
        return self.graph.output_values()

    def _linear(self, group: QuantizableGroup) -> LayerWeights:
        node, options = group.node, self.options
        group_size = 0 if node.output.name in options.ungrouped else options.weight_group
        bits = group.weight_bits
        form = WeightFormat(bits, group_size if WEIGHT_TYPES[bits].groups else 0)
        if (node, form) not in self._linears:
            means = options.means.get(node.input(0).name)
            steps = self._given_steps(node) if form.bits == 8 else None
            self._linears[node, form] = LayerWeights(
                node,
                means,
                options.search_scales,
                form,
                steps,
                options.kept.get(node.output.name),
            )
        rounded = options.rounded.get((node.output.name, form.bits))
        return self._linears[node, form].with_rounded(rounded)

    def _given_steps(self, node: Node) -> Steps | None:
        """The steps of weights that the model contains as integers."""
        weight = node.input(definition(node.op).weight or 0).const
        if not self.given or weight is None:
            return None
        return grid_steps(weight.reshape(len(weight), -1), WEIGHT_TYPES[8].limit)

    @property
    def has_rounded(self) -> bool:
        """Whether any weights are not rounded to nearest."""
        held = {(node.output.name, linear.form.bits) for node, linear in self.linear.items()}
        return not held.isdisjoint(self.options.rounded)

    def with_rounded(self, rounded: RoundedWeights) -> Plan:
        """The same plan with other `Options.rounded`."""
        other = copy(self)
        other.options = replace(self.options, rounded=rounded)
        other.linear = {u.node: other._linear(u) for u in self.groups if _has_weights(u)}
        return other

    def forget_trials(self) -> None:
        """Drop the nodes cached for trials, of this plan and all mixed from it: tens of MiB."""
        self._reuse.clear()

    def emit(self, ranges: Ranges, trial: bool = False) -> tuple[Graph, list[Decision]]:
        """The quantized graph, and the decisions.

        The graph of a `trial` shares nodes with other trials and must not be modified. A node whose
        integers would overflow, or whose table or divisor would be inaccurate, is refused at its
        precision, which changes the plan.
        """
        while True:
            emitter = Emitter(
                self.graph,
                self.groups,
                self.scales,
                self.linear,
                self.tables,
                self.wide,
                self._reuse if trial else Nothing(),
                self.given,
                self.whole,
            )
            params = partial(self.params, ranges)
            graph = emitter.run(self._params("all", tuple(ranges.items()), params))
            if not emitter.refused:
                return graph, emitter.decisions
            refused = emitter.refused
            if not self.given:
                refused = with_divisors(refused, self.graph, self.groups, self.readers)
            self.refused.update(refused)
            self._analyse()

    def with_weights(self, node: Node, made: Node, rounded: QuantizedWeights) -> Node | None:
        """`made`, the emitted form of `node`, with these weights; None if `emit` refuses it."""
        found = with_weights(made, self.linear[node].with_rounded(rounded))
        return None if definition(node.op).accumulator_problem(found) else found


def _constants(graph: Graph) -> Constants:
    return {
        (node.output.name, i): v.const
        for node in graph.nodes
        for i, v in enumerate(node.inputs)
        if v is not None and v.const is not None
    }


def _has_weights(group: QuantizableGroup) -> bool:
    return group.integer and group.chain is None and definition(group.node.op).weight is not None


def quantize_graph(
    graph: Graph, ranges: Ranges, options: Options | None = None
) -> tuple[Graph, list[Decision]]:
    """The int8 graph for `ranges` (real minimum and maximum by tensor name), and the decisions.

    The float32 `graph` is not modified; tensors keep their names. A node without an int8 form, or
    without known ranges, stays float32 between Dequantize and Quantize.
    """
    ranges = {k: (float(np.float32(a)), float(np.float32(b))) for k, (a, b) in ranges.items()}
    return Plan(graph, ranges, options or Options()).emit(ranges)


def as_given(graph: Graph) -> tuple[Graph, list[Decision]]:
    """The integer graph of a model that contains quantization parameters, and the decisions; a
    graph without any is returned unchanged.

    Scales, zero points and weights are preserved. Nodes without quantization stay float32.
    """
    if not arrives_quantized(graph):
        return graph, []
    return quantize_graph(graph, {})
