"""What rounding costs a site of channels (sites.py) when they are scaled, by an estimate.

It is the noise at the readers' outputs: that of the tensors' rounding and that of their weights'.
Behind a LayerNorm it is that at the outputs of what reads it; at tables it is what their slope
makes of it, and what the readers of their site make of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ir import Array, Graph, Node, Value
from ..ops import definition
from ..passes.affine import input_factors
from .chains import Function, find_chains
from .options import Range
from .precision import INT8
from .qparams import LEVELS
from .saturation import POINTS, varying
from .sites import Site, has_weights, see_channels

Reals = NDArray[np.float64]

SLOPES = 2000
"""Places of a sample where the slope of tables is looked at."""


@dataclass
class Size:
    """Of each channel the ends, with 0 inside, the mean square, and that of the slope of the tables
    that read it; the mean of 1 / variance."""

    low: Reals
    high: Reals
    power: Reals
    slope: Reals
    inverse_variance: float = 0.0

    @property
    def peak(self) -> Reals:
        return np.maximum(-self.low, self.high)


def estimates(graph: Graph, sites: Sequence[Site], sizes: Mapping[str, Size]) -> list[Estimate]:
    """Of the sites, which are in order of execution."""
    consumers, producers = graph.consumers(), graph.producers()
    ends: dict[Value, list[Value]] = {}
    for chain in find_chains(graph):
        ends.setdefault(chain.root, []).append(chain.end)
    made: list[Estimate] = []
    gains: dict[Value, Reals] = {}
    for site in reversed(sites):
        one = np.ones(site.channels)
        beyond = {
            v: np.sum([gains.get(end, one) for end in ends.get(v, [v])], axis=0)
            for v in site.looked_up
        }
        estimate = Estimate(site, sizes, consumers, producers, beyond)
        gains |= dict.fromkeys((n.output for n in site.makers), estimate.gains())
        made.append(estimate)
    return made[::-1]


class Estimate:
    """What is lost at the readers of a site when its channels are multiplied by s, as a part of
    what they make. `beyond` is what becomes of a channel of a looked-up tensor behind its tables.
    """

    def __init__(
        self,
        site: Site,
        sizes: Mapping[str, Size],
        consumers: Mapping[Value, list[Node]],
        producers: Mapping[Value, Node],
        beyond: Mapping[Value, Reals],
    ) -> None:
        self.site, self.sizes = site, sizes
        self.tensors, self.sums = set(site.tensors), set(site.sums)
        self.products = set(site.products)
        self.consumers, self.producers, self.beyond = consumers, producers, beyond
        self.signal = max(self._signal(), 1e-30)

    def gains(self) -> Reals:
        """What the readers make of the square of an error in each channel."""
        total = np.zeros(self.site.channels)
        for v in self.site.looked_up:
            total += self.sizes[self._tensor(v).name].slope * self.beyond[v]
        for node in self.site.readers:
            total += self._gain(node)
        return total

    def _gain(self, node: Node) -> Reals:
        if node.op == "LayerNorm":
            size = self.sizes[self._tensor(node.input(0)).name]
            return size.inverse_variance * _scale(node) ** 2 * self._behind(node)
        w, groups = _real(weight_of(node)) ** 2, int(node.attrs.get("groups", 1))
        by_group = w.reshape(groups, len(w) // groups, -1, w.shape[-1]).sum(axis=(1, 2))
        gain: Reals = by_group.ravel()
        return gain

    def _signal(self) -> float:
        """Mean squares at the readers, as of channels that vary each for itself."""
        total = 0.0
        for v in self.site.looked_up:
            size = self.sizes[self._tensor(v).name]
            total += float((size.slope * size.power * self.beyond[v]).sum())
        for node in self.site.readers:
            if node.op == "LayerNorm":
                total += float((_scale(node) ** 2 * self._behind(node)).sum())
            else:
                power = self.sizes[self._tensor(node.input(0)).name].power
                total += float((self._gain(node) * power).sum())
        return total

    def noise(self, s: Reals) -> float:
        """As a part of the mean squares at the readers."""
        squares = self._squares_of_steps(s)
        total = 0.0
        for v in self.site.looked_up:
            t = self._tensor(v)
            total += float((squares[t] * self.sizes[t.name].slope * self.beyond[v] / s**2).sum())
        total += sum(self._at(node, s, squares) for node in self.site.readers)
        return total / self.signal

    def _at(self, node: Node, s: Reals, squares: Mapping[Value, float]) -> float:
        tensor = self._tensor(node.input(0))
        square, size = squares[tensor], self.sizes[tensor.name]
        if node.op == "LayerNorm":
            gain = _scale(node) / s
            return float(square * size.inverse_variance * (gain**2 * self._behind(node)).sum())
        w = _real(weight_of(node)) / input_factors(s, node)
        rows = np.abs(w).reshape(len(w), -1).max(axis=1) / 127
        inputs = np.broadcast_to(input_factors(size.power * s * s, node), w.shape)
        total = square * float((w * w).sum())
        return total + float((rows**2 * inputs.reshape(len(w), -1).sum(axis=1)).sum())

    def _tensor(self, v: Value) -> Value:
        """The tensor of the site that `v` is, but for what only moves it."""
        while v not in self.tensors:
            v = self.producers[v].input(0)
        return v

    def _step(self, v: Value, s: Reals) -> float:
        size = self.sizes[v.name]
        return float((size.high * s).max() - (size.low * s).min()) / LEVELS[INT8]

    def _squares_of_steps(self, s: Reals) -> dict[Value, float]:
        """Of each tensor: of all the roundings that are in it."""
        squares: dict[Value, float] = {}
        for v in self.site.tensors:
            squares[v] = self._step(v, s) ** 2
            node = self.producers[v]
            if node in self.sums:
                squares[v] += sum(squares[self._tensor(w)] for w in node.dynamic_inputs)
            if node in self.products:
                x = self._tensor(next(w for w in node.inputs if w and w.type == v.type))
                gain = self.sizes[v.name].power.sum() / max(self.sizes[x.name].power.sum(), 1e-30)
                squares[v] += squares[x] * float(gain)
        return squares

    def _behind(self, norm: Node) -> Reals:
        """How much of the noise in each channel of a LayerNorm's output its readers make."""
        total = np.zeros(norm.output.shape[-1])
        for node in self.consumers.get(norm.output, []):
            if has_weights(node) and node.op == "FullyConnected":
                total += (_real(weight_of(node)) ** 2).sum(axis=0)
        return total if total.any() else np.ones_like(total)


def sizes_of(
    graph: Graph, sites: Iterable[Site], samples: Iterable[Mapping[str, Array]]
) -> dict[str, Size]:
    """Of the tensors of the sites. Where tables alone read one, values count as far as the tables
    tell them apart."""
    tensors = {v.name: v for s in sites for v in s.tensors}
    found: dict[str, Size] = {}
    tables = _Tables(graph)

    def see(name: str, x: Reals) -> None:
        none = np.zeros(x.shape[1])
        size = found.setdefault(name, Size(none, none, none, none))
        size.low, size.high = (
            np.minimum(size.low, x.min(axis=0)),
            np.maximum(size.high, x.max(axis=0)),
        )
        size.power = size.power + (x * x).mean(axis=0)
        size.slope = size.slope + tables.slope(name, x)
        variance = x.var(axis=1)
        alive = variance[variance > 0]
        size.inverse_variance += float((1 / alive).mean() if alive.size else 0)

    count = see_channels(graph, set(tensors), samples, see)
    for name, size in found.items():
        low, high = tables.varying(name, (float(size.low.min()), float(size.high.max())))
        size.low, size.high = np.maximum(size.low, low), np.minimum(size.high, high)
        size.power, size.slope = size.power / count, size.slope / count
        size.inverse_variance /= count
    return found


class _Tables:
    """What the chains make of the tensors that they read."""

    def __init__(self, graph: Graph) -> None:
        self.functions: dict[str, list[Function]] = {}
        chains = find_chains(graph)
        for chain in chains:
            self.functions.setdefault(chain.root.name, []).extend(chain.functions)
        inside = {n for c in chains for n in c.nodes}
        outputs, consumers = graph.output_values(), graph.consumers()
        self.alone = {
            v.name
            for v in (c.root for c in chains)
            if v not in outputs and all(n in inside for n in consumers[v])
        }

    def slope(self, name: str, x: Reals) -> Reals:
        """Mean square by channel, of all chains together."""
        few = x[:: max(1, len(x) // SLOPES)]
        h = 1e-4 * max(float(np.abs(few).max(initial=0.0)), 1e-30)
        total = np.zeros(x.shape[1])
        for f in self.functions.get(name, ()):
            d = np.nan_to_num((f(few + h) - f(few - h)) / (2 * h), posinf=0.0, neginf=0.0)
            total += (d * d).mean(axis=0)
        return total

    def varying(self, name: str, r: Range) -> Range:
        """`r`, where tables alone read the tensor without ends that none of them tells apart."""
        if name not in self.alone:
            return r
        found = [varying(r, f, _width(f, r) / LEVELS[INT8]) for f in self.functions[name]]
        known = [f for f in found if f is not None]
        return (min(f[0] for f in known), max(f[1] for f in known)) if known else r


def _width(f: Function, r: Range) -> float:
    y = np.nan_to_num(f(np.linspace(*r, POINTS)))
    return float(y.max() - y.min())


def _scale(norm: Node) -> Reals:
    scale = norm.inputs[1].const if len(norm.inputs) > 1 and norm.inputs[1] else None
    return np.ones(1) if scale is None else scale.astype(np.float64)


def weight_of(node: Node) -> Value:
    at = definition(node.op).weight
    assert at is not None
    return node.input(at)


def _real(v: Value) -> Reals:
    assert v.const is not None
    return v.const.astype(np.float64)
