"""Estimates the rounding noise of a group (groups.py) for given channel scales.

The noise is measured at the readers' outputs: from rounding the tensors, and from rounding the
readers' weights. For a LayerNorm, it is measured at the outputs of the LayerNorm's readers. For a
lookup table, it is multiplied by the squared slope of the table and the gain of the next group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ir import Graph, Node, Value
from ...numerics import INT8
from ...ops import definition, is_a
from ...ops.matmul.fully_connected import FullyConnected
from ...ops.norm.layer_norm import LayerNorm
from ...passes.affine import input_factors
from ..scheme.qparams import LEVELS
from ..weights.weight_quantizer import WeightFormat
from .channel_ranges import ChannelRanges
from .groups import EqualizationGroup, has_weights

Reals = NDArray[np.float64]


def noise_estimates(
    graph: Graph,
    groups: Sequence[EqualizationGroup],
    sizes: Mapping[str, ChannelRanges],
    forms: Mapping[str, WeightFormat],
) -> list[NoiseEstimate]:
    """The estimates of `groups`, which are in execution order. `forms` are the formats of weights
    of fewer than 8 bits, by their node's output."""
    consumers, producers = graph.consumers(), graph.producers()
    made: list[NoiseEstimate] = []
    gains: dict[str, Reals] = {}
    for group in reversed(groups):
        estimate = NoiseEstimate(group, sizes, consumers, producers, gains, forms)
        # Noise through a table on another tensor of this group is counted in this group.
        gains |= {v.name: np.zeros(group.channels) for v in group.tensor_of}
        gains |= dict.fromkeys((n.output.name for n in group.makers), estimate.gains())
        made.append(estimate)
    return made[::-1]


class NoiseEstimate:
    """The noise at the readers of a group if its channels are multiplied by s, relative to their
    outputs. `gains` are those of the groups after its tables, by the table's output.
    """

    def __init__(
        self,
        group: EqualizationGroup,
        sizes: Mapping[str, ChannelRanges],
        consumers: Mapping[Value, list[Node]],
        producers: Mapping[Value, Node],
        gains: Mapping[str, Reals],
        forms: Mapping[str, WeightFormat],
    ) -> None:
        self.group, self.sizes, self.forms = group, sizes, forms
        self.sums, self.products = set(group.sums), set(group.products)
        self.consumers, self.producers = consumers, producers
        self.tables = {v: sizes[v.name].behind_tables(gains) for v in group.tensors}
        self.signal = max(self._signal(), 1e-30)

    def gains(self) -> Reals:
        """The factor from a squared error in each channel to the squared error at the readers."""
        total: Reals = np.sum(list(self.tables.values()), axis=0)
        for node in self.group.readers:
            total += self._gain(node)
        return total

    def _gain(self, node: Node) -> Reals:
        if is_a(node, LayerNorm):
            size = self.sizes[self.group.tensor_of[node.input(0)].name]
            return size.inverse_variance * _scale(node) ** 2 * self._behind(node)
        w, groups = _real(weight_of(node)) ** 2, int(node.attrs.get("groups", 1))
        by_group = w.reshape(groups, len(w) // groups, -1, w.shape[-1]).sum(axis=(1, 2))
        gain: Reals = by_group.ravel()
        return gain

    def _signal(self) -> float:
        """The mean square at the readers, as if the channels were independent."""
        total = sum(float((t * self.sizes[v.name].power).sum()) for v, t in self.tables.items())
        for node in self.group.readers:
            if is_a(node, LayerNorm):
                total += float((_scale(node) ** 2 * self._behind(node)).sum())
            else:
                power = self.sizes[self.group.tensor_of[node.input(0)].name].power
                total += float((self._gain(node) * power).sum())
        return total

    def noise(self, s: Reals) -> float:
        """The noise relative to the mean square at the readers."""
        squares = self._squares_of_steps(s)
        total = sum(float((squares[v] * t / s**2).sum()) for v, t in self.tables.items())
        total += sum(self._at(node, s, squares) for node in self.group.readers)
        return total / self.signal

    def _at(self, node: Node, s: Reals, squares: Mapping[Value, float]) -> float:
        tensor = self.group.tensor_of[node.input(0)]
        square, size = squares[tensor], self.sizes[tensor.name]
        if is_a(node, LayerNorm):
            gain = _scale(node) / s
            return float(square * size.inverse_variance * (gain**2 * self._behind(node)).sum())
        w = _real(weight_of(node)) / input_factors(s, node)
        inputs = np.broadcast_to(input_factors(size.power * s * s, node), w.shape)
        form = self.forms.get(node.output.name, WeightFormat())
        return square * float((w * w).sum()) + _of_weights(w, inputs, form)

    def _step(self, v: Value, s: Reals) -> float:
        size = self.sizes[v.name]
        return float((size.high * s).max() - (size.low * s).min()) / LEVELS[INT8]

    def _squares_of_steps(self, s: Reals) -> dict[Value, float]:
        """The sum of squared steps over all roundings that each tensor contains."""
        squares: dict[Value, float] = {}
        for v in self.group.tensors:
            squares[v] = self._step(v, s) ** 2
            node = self.producers[v]
            if node in self.sums:
                squares[v] += sum(squares[self.group.tensor_of[w]] for w in node.dynamic_inputs)
            if node in self.products:
                x = self.group.tensor_of[next(w for w in node.inputs if w and w.type == v.type)]
                gain = self.sizes[v.name].power.sum() / max(self.sizes[x.name].power.sum(), 1e-30)
                squares[v] += squares[x] * float(gain)
        return squares

    def _behind(self, norm: Node) -> Reals:
        """The gain of the readers of a LayerNorm for noise in each of its output channels."""
        total = np.zeros(norm.output.shape[-1])
        for node in self.consumers.get(norm.output, []):
            if has_weights(node) and is_a(node, FullyConnected):
                total += (_real(weight_of(node)) ** 2).sum(axis=0)
        return total if total.any() else np.ones_like(total)


def _of_weights(w: Reals, inputs: Reals, form: WeightFormat) -> float:
    """The noise from rounding weights w, for mean squares of inputs; both are [n, ...]."""
    n, k = len(w), w[0].size
    size = form.group_size or k
    filled = ((0, 0), (0, -k % size))
    largest, power = (
        np.pad(v.reshape(n, k), filled).reshape(n, -1, size) for v in (np.abs(w), inputs)
    )
    steps = largest.max(axis=2) / form.limit
    return float((steps**2 * power.sum(axis=2)).sum())


def _scale(norm: Node) -> Reals:
    scale = norm.inputs[1].const if len(norm.inputs) > 1 and norm.inputs[1] else None
    return np.ones(1) if scale is None else scale.astype(np.float64).ravel()


def weight_of(node: Node) -> Value:
    at = definition(node.op).weight
    assert at is not None
    return node.input(at)


def _real(v: Value) -> Reals:
    assert v.const is not None
    return v.const.astype(np.float64)
