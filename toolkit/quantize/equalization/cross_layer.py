"""Cross-layer equalization: scales the channels of a tensor, which share a scale, to similar
ranges.

Between two nodes with weights, each channel of a tensor can be scaled: the producer's weights and
bias by s, the readers' weights by 1/s. After Nagel et al. 2019 (arXiv:1906.04721), section 4.1, but
based on activations measured on samples: weights here have a scale per output channel, so the range
of the producer's weights does not matter, only that of the tensor and of the readers' weights.

Between two lookup tables (as of a hardswish), each channel can be scaled too: a table for each
class of channels undoes the scale of its input and applies another to its output. The output of a
convolution before a hardswish thus has a scale per channel, at no cost to the weights.

A layer normalization can also produce channels of any scale, and undoes the scale of its input by a
left shift per channel, through preceding additions too. The shifts are those of Lin et al. 2021
(FQ-ViT, arXiv:2111.13824), section 3.2.

s is a power of two, at least 1, so the float model's outputs keep their bits, and each scaled
tensor is exactly s times the original, channel by channel.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from zlib import compress, decompress

import numpy as np
from numpy.typing import NDArray

from ...ir import Graph, Node, constant
from ...numerics import INT8
from ...ops import definition, is_a
from ...ops.elementwise.lut import SIZES
from ...ops.move.gather import Gather
from ...ops.norm.layer_norm import LayerNorm, room_for_shifts
from ...passes.affine import input_factors
from ..ranges.noise_shares import Test
from ..ranges.rounding_noise import Roundings
from ..scheme.prepare import copy_graph
from ..scheme.qparams import activation_params
from ..weights.weight_quantizer import WeightFormat
from .channel_factors import ChannelFactors
from .channel_ranges import LARGEST, ChannelRanges
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
Causes = Callable[[Sequence[Test]], list[bool]]
"""Tests the share of the output noise that each of some roundings causes (noise_shares.py)."""

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Degrees of equalization that are tried: at 1, every channel has the range of the largest."""
WORTH = 1.0
"""Tables for classes of channels must remove a fraction of the output noise that is at least this
times their size as a fraction of the weights."""
UNLIKELY = 0.1
"""If the estimated fraction is below this part of that minimum, the group is not measured."""


def find_exponents(
    graph: Graph,
    groups: Sequence[EqualizationGroup],
    sizes: Mapping[str, ChannelRanges],
    causes: Causes | None,
    forms: Mapping[str, WeightFormat] | None = None,
) -> Exponents:
    """The exponents of each of the graph's `groups` with the least estimated noise
    (noise_estimate.py), by the channel ranges of their tensors. `forms` are the formats of weights
    that will not have 8 bits, by their node's output.

    Excluded are groups that gain nothing; and groups that need tables, if the outputs gain little,
    which `causes` measures. Without it all of those are worth it that the estimate says may be.
    """
    candidates = [
        _Candidate.best(group, estimate, sizes)
        for group, estimate in zip(
            groups, noise_estimates(graph, groups, sizes, forms or {}), strict=True
        )
    ]
    total = sum(o.before for o in candidates)
    whole = sum(weight_of(n).type.size for n in graph.nodes if has_weights(n))
    chosen = [o for o in candidates if o.exponents.any()]
    wanted = {o.group.name: WORTH * o.bytes / max(whole, 1) for o in chosen if o.group.needs_tables}

    def is_worth(o: _Candidate, part: float) -> bool:
        return part * (1 - o.after / o.before) >= wanted[o.group.name]

    likely = [
        o
        for o in chosen
        if o.group.name in wanted and o.before - o.after >= UNLIKELY * wanted[o.group.name] * total
    ]
    tests = [(_roundings(o.group, sizes), partial(is_worth, o)) for o in likely]
    passed = causes(tests) if causes is not None else [True] * len(likely)
    worth = {o.group.name for o, passes in zip(likely, passed, strict=True) if passes}
    return {
        o.group.name: tuple(int(e) for e in o.exponents)
        for o in chosen
        if o.group.name in worth or not o.group.needs_tables
    }


@dataclass(frozen=True)
class _Candidate:
    """The best exponents of a group, and the estimated noise without and with them."""

    group: EqualizationGroup
    exponents: NDArray[np.int64]
    before: float
    after: float

    @staticmethod
    def best(
        group: EqualizationGroup, estimate: NoiseEstimate, sizes: Mapping[str, ChannelRanges]
    ) -> _Candidate:
        tried = {e.tobytes(): e for e in _candidates(group, sizes)}
        before, *noises = estimate.noises([np.ones(group.channels), *map(np.exp2, tried.values())])
        after, exponents = min(zip(noises, tried.values(), strict=True), key=lambda each: each[0])
        return _Candidate(group, exponents, before, after)

    @property
    def bytes(self) -> int:
        """The size of a table per class of channels, and of the class index of each channel."""
        return SIZES[INT8] * len(np.unique(self.exponents)) + len(self.exponents)


def _roundings(group: EqualizationGroup, sizes: Mapping[str, ChannelRanges]) -> Roundings:
    """The tensors of a group, rounded to int8."""
    return {
        v.name: activation_params(float(sizes[v.name].low.min()), float(sizes[v.name].high.max()))
        for v in group.tensors
    }


def _candidates(
    group: EqualizationGroup, sizes: Mapping[str, ChannelRanges]
) -> list[NDArray[np.int64]]:
    """Exponents from the peaks of each tensor, and of all, each relative to its own range."""
    peaks = [sizes[v.name].peak for v in group.tensors]
    if len(peaks) > 1:
        peaks.append(np.max([p / max(p.max(initial=0.0), 1e-30) for p in peaks], axis=0))
    normalized = any(is_a(n, LayerNorm) for n in group.readers)
    room = room_for_shifts(group.channels) if normalized else LARGEST
    most = np.minimum.reduce([sizes[v.name].largest_exponents for v in group.tensors], initial=room)
    found = [np.minimum(_exponents(p, a), most) for p in peaks for a in STRENGTHS]
    if not group.looked_up:
        return found
    return found + [np.minimum(e, cap) for e in found[-1:] for cap in range(1, LARGEST)]


def _exponents(peak: Reals, strength: float) -> NDArray[np.int64]:
    """Exponents that raise no channel above the largest; channels of zeros keep exponent 0."""
    top = peak.max(initial=0.0)
    ratio = np.where(peak > 0, top / np.where(peak > 0, peak, 1), 1.0)
    result: NDArray[np.int64] = np.floor(strength * np.log2(ratio) + 1e-9).astype(np.int64)
    return np.minimum(result, LARGEST)


def equalized(graph: Graph, exponents: Exponents) -> Graph:
    """A copy of the float `graph` with these channels scaled; its outputs keep their bits.

    Raises ValueError for a name that is not a group, or a wrong number of channels.
    """
    copy = copy_graph(graph)
    factors = ChannelFactors(copy)
    for group, exponent in groups_named(
        find_equalization_groups(copy), exponents, "that can be scaled"
    ):
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
    """`_rescale`, for an operand that defaults to 1 if absent."""
    node.inputs += [None] * (at + 1 - len(node.inputs))
    if node.inputs[at] is None:
        node.inputs[at] = constant(np.ones(len(factor), np.float32), f"{node.name}.{what}")
    _rescale(node, at, factor)


def _rescale(node: Node, at: int | None, factor: Reals) -> None:
    """Replace input `at`, a constant that other nodes may read, by a scaled copy, if present."""
    v = None if at is None or at >= len(node.inputs) else node.inputs[at]
    if v is not None and at is not None:
        assert v.const is not None
        node.inputs[at] = constant((v.const * factor).astype(np.float32), v.name)


def to_text(channels: Mapping[str, Sequence[float]]) -> str:
    """Exponents, or other numbers per tensor and channel, as compact printable text."""
    plain = json.dumps({k: list(v) for k, v in channels.items()}, separators=(",", ":"))
    return b64encode(compress(plain.encode(), 9)).decode()


def from_text(text: str) -> Exponents:
    """The exponents from the text of `to_text`. Raises ValueError if invalid."""
    found = numbers_from_text(text, "the exponents of an equalization")
    return {name: tuple(int(e) for e in v) for name, v in found.items()}


def numbers_from_text(text: str, what: str) -> dict[str, tuple[float, ...]]:
    """The numbers from the text of `to_text`. Raises ValueError, naming `what`, if invalid."""
    try:
        found = json.loads(decompress(b64decode(text)))
        return {str(k): tuple(float(e) for e in v) for k, v in found.items()}
    except Exception as why:  # base64, zlib and json each have their own
        raise ValueError(f"not {what}: {why}") from why
