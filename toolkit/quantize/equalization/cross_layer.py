"""Channels of a tensor made alike in size, so that its one scale serves all of them.

Between two nodes with weights every channel of a tensor may be scaled: the producer's weights and
bias by s, the readers' weights by 1/s. After Nagel et al. 2019 (arXiv:1906.04721), section 4.1, but
by what the samples show: with a weight scale for each output channel, as here, the producer's
weights may have any size, and what counts is the tensor and the readers' weights.

Between two tables, as those of a hardswish, every channel may be scaled too: a table for each
class of channels takes the scales of its input back, and gives its output others. So what a
convolution makes for a hardswish has a scale for each channel at no cost to its weights.

A layer normalization makes channels of any size too, and takes a scale back by a left shift for
each channel of its input, over the sums in front of it as well. The shifts are those of Lin et al.
2021 (FQ-ViT, arXiv:2111.13824), section 3.2.

s is a power of two, 1 at least. So the float model computes the same bits, and the tensors between
the two nodes are its own, channel by channel times s.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import compress, decompress

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph, Node, constant
from ...numerics import INT8
from ...ops import definition, is_a
from ...ops.elementwise.lut import SIZES
from ...ops.move.gather import Gather
from ...ops.norm.layer_norm import LayerNorm, room_for_shifts
from ...passes.affine import input_factors
from ..scheme.prepare import copy_graph
from ..scheme.qparams import activation_params
from ..scheme.shared_weights import sharing_weights
from ..scheme.simulation import Simulation
from ..weights.weight_quantizer import WeightFormat
from .channel_factors import ChannelFactors
from .channel_ranges import ChannelRanges, channel_ranges_of
from .groups import (
    EqualizationGroup,
    find_equalization_groups,
    groups_named,
    has_weights,
    makes_by_constants,
)
from .noise_estimate import NoiseEstimate, noise_estimates, weight_of

Reals = NDArray[np.float64]
Exponents = Mapping[str, tuple[int, ...]]
"""log2(s) of each channel, by the name of the group (groups.py)."""

LARGEST = 8
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How far sizes are made alike: 1 gives every channel the size of the largest."""
WORTH = 1.0
"""Of the noise at the outputs tables for classes of channels must save at least as large a part as
they add to the weights, times this."""
UNLIKELY = 0.1
"""Of that: with less, of the noise estimated at all groups, nothing is measured."""


def find_exponents(
    graph: Graph,
    samples: Iterable[Mapping[str, Array]],
    part: Callable[[Graph], float],
    forms: Mapping[str, WeightFormat] | None = None,
) -> Exponents:
    """Of each group the exponents that lose least, by an estimate (noise_estimate.py). `forms` are
    of weights that will not have 8 bits, by what they make.

    Groups are left out whose weights other layers share, for these would be held several times;
    those that gain nothing, and those that need tables if the outputs gain little by
    them: `part` says of a graph that rounds some tensors what part of all noise its outputs have.
    """
    shared = sharing_weights(graph)
    groups = [
        g for g in find_equalization_groups(graph) if shared.isdisjoint([*g.makers, *g.readers])
    ]
    sizes = channel_ranges_of(graph, groups, samples)
    candidates = [
        _Candidate.best(group, estimate, sizes)
        for group, estimate in zip(
            groups, noise_estimates(graph, groups, sizes, forms or {}), strict=True
        )
    ]
    total = sum(o.before for o in candidates)
    whole = sum(weight_of(n).type.size for n in graph.nodes if has_weights(n))
    found: dict[str, tuple[int, ...]] = {}
    for o in candidates:
        if not o.exponents.any():
            continue
        if o.group.needs_tables:
            wanted = WORTH * o.bytes / max(whole, 1)
            if o.before - o.after < UNLIKELY * wanted * total:
                continue
            if part(_rounded(graph, o.group, sizes)) * (1 - o.after / o.before) < wanted:
                continue
        found[o.group.name] = tuple(int(e) for e in o.exponents)
    return found


@dataclass(frozen=True)
class _Candidate:
    """The exponents that are best for a group, and the noise estimated without and with them."""

    group: EqualizationGroup
    exponents: NDArray[np.int64]
    before: float
    after: float

    @staticmethod
    def best(
        group: EqualizationGroup, estimate: NoiseEstimate, sizes: Mapping[str, ChannelRanges]
    ) -> _Candidate:
        noises = [(estimate.noise(np.exp2(e)), e) for e in _candidates(group, sizes)]
        after, exponents = min(noises, key=lambda found: found[0])
        return _Candidate(group, exponents, estimate.noise(np.ones(group.channels)), after)

    @property
    def bytes(self) -> int:
        """Of tables for so many classes, and the class of each channel."""
        return SIZES[INT8] * len(np.unique(self.exponents)) + len(self.exponents)


def _rounded(graph: Graph, group: EqualizationGroup, sizes: Mapping[str, ChannelRanges]) -> Graph:
    """A float graph that rounds the tensors of a group to int8."""
    quant = {
        v.name: activation_params(float(sizes[v.name].low.min()), float(sizes[v.name].high.max()))
        for v in group.tensors
    }
    return Simulation(graph, quant, {}).run()


def _candidates(
    group: EqualizationGroup, sizes: Mapping[str, ChannelRanges]
) -> list[NDArray[np.int64]]:
    """By the peaks of each tensor, or of all, each in its own range."""
    peaks = [sizes[v.name].peak for v in group.tensors]
    if len(peaks) > 1:
        peaks.append(np.max([p / max(p.max(initial=0.0), 1e-30) for p in peaks], axis=0))
    normalized = any(is_a(n, LayerNorm) for n in group.readers)
    most = room_for_shifts(group.channels) if normalized else LARGEST
    found = [np.minimum(_exponents(p, a), most) for p in peaks for a in STRENGTHS]
    if not group.looked_up:
        return found
    return found + [np.minimum(e, cap) for e in found[-1:] for cap in range(1, LARGEST)]


def _exponents(peak: Reals, strength: float) -> NDArray[np.int64]:
    """Those that bring no channel above the largest; a channel without values is left as it is."""
    top = peak.max(initial=0.0)
    ratio = np.where(peak > 0, top / np.where(peak > 0, peak, 1), 1.0)
    result: NDArray[np.int64] = np.floor(strength * np.log2(ratio) + 1e-9).astype(np.int64)
    return np.minimum(result, LARGEST)


def equalized(graph: Graph, exponents: Exponents) -> Graph:
    """A copy of the float `graph` with these channels scaled; its outputs keep their bits.

    Exponents of tensors that are no group, or have other channels, raise ValueError.
    """
    copy = copy_graph(graph)
    factors = ChannelFactors(copy)
    for group, exponent in groups_named(find_equalization_groups(copy), exponents, "to be scaled"):
        s = np.exp2(exponent)
        for node in group.makers:
            if makes_by_constants(node):
                _scale_rows(node, s)
            else:
                factors.behind(node, s)
        for node, i in group.constants:
            _rescale(node, i, s)
        for node in group.readers:
            if is_a(node, LayerNorm):
                _rescale_or_add(node, 3, 1 / s, "factor")
            else:
                _rescale(node, definition(node.op).weight, 1 / input_factors(s, node))
        for v, nodes in group.looked_up.items():
            factors.before(nodes, v, 1 / s)
    copy.nodes = factors.nodes()
    return copy


def unscaled(graph: Graph, exponents: Exponents) -> set[str]:
    """The tensors of `graph` that keep their bits where it is `equalized`, by name."""
    names = {v.name for v in graph.values()}
    groups = find_equalization_groups(graph)
    for group, _ in groups_named(groups, exponents, "to be scaled"):
        names -= {v.name for v in (*group.tensors, *group.tensor_of)}
    return names


def _scale_rows(node: Node, s: Reals) -> None:
    op = definition(node.op)
    if is_a(node, LayerNorm):
        _rescale_or_add(node, 1, s, "scale")
        _rescale(node, 2, s)
    elif is_a(node, Gather):
        _rescale(node, 0, s)
    else:
        _rescale(node, op.weight, s.reshape(-1, *[1] * (len(weight_of(node).shape) - 1)))
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
