"""Channels of a tensor made alike in size, so that its one scale serves all of them.

Between two nodes with weights every channel of a tensor may be scaled: the producer's weights and
bias by s, the readers' weights by 1/s. After Nagel et al. 2019 (arXiv:1906.04721), section 4.1, but
by what the samples show: with a weight scale for each output channel, as here, the producer's
weights may have any size, and what counts is the tensor and the readers' weights.

A layer normalization makes channels of any size too, and takes a scale back by a left shift for
each channel of its input, over the sums in front of it as well. The shifts are those of Lin et al.
2021 (FQ-ViT, arXiv:2111.13824), section 3.2.

s is a power of two, 1 at least. So the float model computes the same bits, and the tensors between
the two nodes are its own, channel by channel times s.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import compress, decompress

import numpy as np
from numpy.typing import NDArray

from ..ir import Array, Graph, Node, Value, constant
from ..ops import definition
from ..ops.layer_norm import room_for_shifts
from ..passes.affine import input_factors
from .precision import INT8
from .prepare import copied
from .qparams import LEVELS
from .sites import Site, chosen, find_sites, has_weights, see_channels

Reals = NDArray[np.float64]
Exponents = Mapping[str, tuple[int, ...]]
"""log2(s) of each channel, by the name of the tensor that a node with weights makes."""

LARGEST = 8
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How far sizes are made alike: 1 gives every channel the size of the largest."""


def find_exponents(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> Exponents:
    """Of each site the exponents that lose least, by an estimate; sites that gain nothing left out.

    The estimate is the noise at the readers' outputs: that of the tensors' rounding and that of
    their weights'. Behind a LayerNorm it is that at the outputs of what reads it.
    """
    sites = find_sites(graph)
    sizes = _sizes(graph, {v.name for s in sites for v in s.tensors}, samples)
    consumers, producers = graph.consumers(), graph.producers()
    found: dict[str, tuple[int, ...]] = {}
    for site in sites:
        estimate = _Estimate(site, sizes, consumers, producers)
        best = min(_offers(site, sizes), key=lambda e: estimate.noise(np.exp2(e)))
        if best.any():
            found[site.name] = tuple(int(e) for e in best)
    return found


@dataclass(frozen=True)
class _Size:
    """Of each channel the largest absolute value and the mean square; the mean of 1 / variance."""

    peak: Reals
    power: Reals
    inverse_variance: float


def _offers(site: Site, sizes: Mapping[str, _Size]) -> list[NDArray[np.int64]]:
    """By the peaks of each tensor, or of all, each in its own range."""
    peaks = [sizes[v.name].peak for v in site.tensors]
    if len(peaks) > 1:
        peaks.append(np.max([p / max(p.max(initial=0.0), 1e-30) for p in peaks], axis=0))
    normalized = any(n.op == "LayerNorm" for n in site.readers)
    most = room_for_shifts(site.channels) if normalized else LARGEST
    return [np.minimum(_exponents(p, a), most) for p in peaks for a in STRENGTHS]


def _exponents(peak: Reals, strength: float) -> NDArray[np.int64]:
    """Those that bring no channel above the largest; a channel without values is left as it is."""
    top = peak.max(initial=0.0)
    ratio = np.where(peak > 0, top / np.where(peak > 0, peak, 1), 1.0)
    result: NDArray[np.int64] = np.floor(strength * np.log2(ratio) + 1e-9).astype(np.int64)
    return np.minimum(result, LARGEST)


class _Estimate:
    """What is lost at the readers of a site when its channels are multiplied by s."""

    def __init__(
        self,
        site: Site,
        sizes: Mapping[str, _Size],
        consumers: Mapping[Value, list[Node]],
        producers: Mapping[Value, Node],
    ) -> None:
        self.site, self.sizes = site, sizes
        self.tensors, self.sums = set(site.tensors), set(site.sums)
        self.consumers, self.producers = consumers, producers

    def noise(self, s: Reals) -> float:
        squares = self._squares_of_steps(s)
        return sum(self._at(node, s, squares) for node in self.site.readers)

    def _at(self, node: Node, s: Reals, squares: Mapping[Value, float]) -> float:
        tensor = self._tensor(node.input(0))
        square, size = squares[tensor], self.sizes[tensor.name]
        if node.op == "LayerNorm":
            scale = node.inputs[1].const if len(node.inputs) > 1 and node.inputs[1] else None
            gain = (1.0 if scale is None else scale.astype(np.float64)) / s
            return float(square * size.inverse_variance * (gain**2 * self._beyond(node)).sum())
        w = _real(_weight(node)) / input_factors(s, node)
        rows = np.abs(w).reshape(len(w), -1).max(axis=1) / 127
        inputs = np.broadcast_to(input_factors(size.power * s * s, node), w.shape)
        total = square * float((w * w).sum())
        return total + float((rows**2 * inputs.reshape(len(w), -1).sum(axis=1)).sum())

    def _tensor(self, v: Value) -> Value:
        """The tensor of the site that `v` is, but for what only moves it."""
        while v not in self.tensors:
            v = self.producers[v].input(0)
        return v

    def _squares_of_steps(self, s: Reals) -> dict[Value, float]:
        """Of each tensor: of all the roundings that are in it."""
        squares: dict[Value, float] = {}
        for v in self.site.tensors:  # sums behind what they add
            step = float((self.sizes[v.name].peak * s).max()) / LEVELS[INT8]
            node = self.producers[v]
            added = [w for w in node.inputs if w is not None] if node in self.sums else []
            before = [squares[self._tensor(w)] for w in added if w.const is None]
            squares[v] = step**2 + sum(before)
        return squares

    def _beyond(self, norm: Node) -> Reals:
        """How much of the noise in each channel of a LayerNorm's output its readers make."""
        total = np.zeros(norm.output.shape[-1])
        for node in self.consumers.get(norm.output, []):
            if has_weights(node) and node.op == "FullyConnected":
                total += (_real(_weight(node)) ** 2).sum(axis=0)
        return total if total.any() else np.ones_like(total)


def _sizes(
    graph: Graph, names: set[str], samples: Iterable[Mapping[str, Array]]
) -> dict[str, _Size]:
    peak: dict[str, Reals] = {}
    power: dict[str, Reals] = {}
    inverse: dict[str, float] = {}

    def see(name: str, x: Reals) -> None:
        peak[name] = np.maximum(np.abs(x).max(axis=0), peak.get(name, 0.0))
        power[name] = (x * x).mean(axis=0) + power.get(name, 0.0)
        variance = x.var(axis=1)
        alive = variance[variance > 0]
        inverse[name] = inverse.get(name, 0.0) + float((1 / alive).mean() if alive.size else 0)

    count = see_channels(graph, names, samples, see)
    return {n: _Size(peak[n], power[n] / count, inverse[n] / count) for n in peak}


def _weight(node: Node) -> Value:
    at = definition(node.op).weight
    assert at is not None
    return node.input(at)


def _real(v: Value) -> Reals:
    assert v.const is not None
    return v.const.astype(np.float64)


def equalized(graph: Graph, exponents: Exponents) -> Graph:
    """A copy of the float `graph` with these channels scaled; its outputs keep their bits.

    Exponents of tensors that are no site, or have other channels, raise ValueError.
    """
    copy = copied(graph)
    for site, exponent in chosen(find_sites(copy), exponents, "to be scaled"):
        s = np.exp2(exponent)
        for node in site.makers:
            _scale_rows(node, s)
        for node, i in site.constants:
            _rescale(node, i, s)
        for node in site.readers:
            if node.op == "LayerNorm":
                _rescale_or_add(node, 3, 1 / s, "factor")
            else:
                _rescale(node, definition(node.op).weight, 1 / input_factors(s, node))
    return copy


def _scale_rows(node: Node, s: Reals) -> None:
    op = definition(node.op)
    if node.op == "LayerNorm":
        _rescale_or_add(node, 1, s, "scale")
        _rescale(node, 2, s)
    elif node.op == "Gather":
        _rescale(node, 0, s)
    else:
        _rescale(node, op.weight, s.reshape(-1, *[1] * (len(_weight(node).shape) - 1)))
        _rescale(node, op.bias, s)


def _rescale_or_add(node: Node, at: int, factor: Reals, what: str) -> None:
    """`_rescale`, of an operand that is 1 where there is none."""
    node.inputs += [None] * (at + 1 - len(node.inputs))
    if node.inputs[at] is None:
        node.inputs[at] = constant(np.ones(len(factor), np.float32), f"{node.name}.{what}")
    _rescale(node, at, factor)


def _rescale(node: Node, at: int | None, factor: Reals) -> None:
    """Give input `at`, a constant that others may read too, a scaled copy, if it is there."""
    v = None if at is None or at >= len(node.inputs) else node.inputs[at]
    if v is not None and at is not None:
        assert v.const is not None
        node.inputs[at] = constant((v.const * factor).astype(np.float32), v.name)


def to_text(channels: Mapping[str, Sequence[float]]) -> str:
    """The exponents, or other numbers by tensor and channel, small and printable."""
    plain = json.dumps({k: list(v) for k, v in channels.items()}, separators=(",", ":"))
    return b64encode(compress(plain.encode(), 9)).decode()


def from_text(text: str) -> Exponents:
    """The exponents that `to_text` wrote. Raises ValueError for anything else."""
    found = numbers_from_text(text, "the exponents of an equalization")
    return {name: tuple(int(e) for e in v) for name, v in found.items()}


def numbers_from_text(text: str, what: str) -> dict[str, tuple[float, ...]]:
    """The numbers that `to_text` wrote. Raises ValueError, for no `what`, for anything else."""
    try:
        found = json.loads(decompress(b64decode(text)))
        return {str(k): tuple(float(e) for e in v) for k, v in found.items()}
    except Exception as why:  # base64, zlib and json each have their own
        raise ValueError(f"not {what}: {why}") from why
