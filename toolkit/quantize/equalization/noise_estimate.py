"""Estimates the rounding noise of a group (groups.py) for given channel scales.

The noise is measured at the readers' outputs: from rounding the tensors, and from rounding the
readers' weights. For a LayerNorm, it is measured at the outputs of the LayerNorm's readers. For a
lookup table, it is multiplied by the squared slope of the table and the gain of the next group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
        self.gain_of = {n: self._gain(n) for n in group.readers}
        self.signal = max(self._signal(), 1e-30)

    def gains(self) -> Reals:
        """The factor from a squared error in each channel to the squared error at the readers."""
        total: Reals = np.sum(list(self.tables.values()), axis=0)
        for node in self.group.readers:
            total += self.gain_of[node]
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
                total += float((self.gain_of[node] * power).sum())
        return total

    def noises(self, tried: Sequence[Reals]) -> list[float]:
        """The noise for each of some s, relative to the mean square at the readers."""
        squares = [self._squares_of_steps(s) for s in tried]
        totals = [
            sum(float((square[v] * t / s**2).sum()) for v, t in self.tables.items())
            for s, square in zip(tried, squares, strict=True)
        ]
        for node in self.group.readers:  # what is known of its weights goes before the next one's
            tensor, noise_at = self.group.tensor_of[node.input(0)], self._at(node)
            for i, s in enumerate(tried):
                totals[i] += noise_at(s, squares[i][tensor])
        return [total / self.signal for total in totals]

    def _at(self, node: Node) -> Callable[[Reals, float], float]:
        """The noise at a reader by s and the square of its input's steps."""
        gain, power = self.gain_of[node], self.sizes[self.group.tensor_of[node.input(0)].name].power
        if is_a(node, LayerNorm):
            return lambda s, square: square * float((gain / s**2).sum())
        form = self.forms.get(node.output.name, WeightFormat())
        of_weights = _of_weights(node, power, form)
        return lambda s, square: square * float((gain / s**2).sum()) + of_weights(s)

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


def _of_weights(node: Node, power: Reals, form: WeightFormat) -> Callable[[Reals], float]:
    """The noise from rounding a node's weights by s, for the mean squares `power` of its inputs."""
    if form.group_size:
        return lambda s: _of_blocks(node, power, form, s)
    w, groups = weight_of(node).const, int(node.attrs.get("groups", 1))
    assert w is not None
    positions = w[0].size // w.shape[-1]
    largest = np.abs(w.reshape(len(w), positions, -1)).max(axis=1)
    largest = largest.reshape(groups, -1, largest.shape[1])

    def noise(s: Reals) -> float:
        of = s.reshape(groups, 1, -1)
        tops = (largest / of.astype(largest.dtype)).max(axis=2).astype(np.float64)  # s: power of 2
        squares = (tops**2).sum(axis=1) / form.limit**2
        return float((squares * (power * s**2).reshape(groups, -1).sum(axis=1)).sum() * positions)

    return noise


def _of_blocks(node: Node, power: Reals, form: WeightFormat, s: Reals) -> float:
    """`_of_weights` for weights with a scale per block."""
    w = _real(weight_of(node)) / input_factors(s, node)
    inputs = np.broadcast_to(input_factors(power * s * s, node), w.shape)
    n, k, size = len(w), w[0].size, form.group_size
    filled = ((0, 0), (0, -k % size))
    largest, powers = (
        np.pad(v.reshape(n, k), filled).reshape(n, -1, size) for v in (np.abs(w), inputs)
    )
    steps = largest.max(axis=2) / form.limit
    return float((steps**2 * powers.sum(axis=2)).sum())


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
