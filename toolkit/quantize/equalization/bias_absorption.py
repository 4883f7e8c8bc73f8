"""What a channel always has, moved from the bias that makes it into the biases behind.

High-bias absorption, after Nagel et al. 2019 (arXiv:1906.04721), section 4.1.3: where a channel
behind a ReLU never falls below c > 0, relu(y - c) is relu(y) - c, and readers that are linear take
c times their weights into their biases. Their c is the mean less three standard deviations, from
BatchNorm, to narrow the range that ReLU makes asymmetric; here it is what the samples show, and no
more than the tensor's range gains by: as much as brings the channels with the largest values down
to those that cannot be lowered. What is left above 0 has room for smaller values than were seen.

Only where it is exact: a padded reader would read 0 where c belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....calibration import channel_extremes
from ...ir import Array, Graph, Node, constant
from ...ops import definition, is_a, is_view
from ...ops.conv.conv2d import Conv2d
from ...ops.matmul.fully_connected import FullyConnected
from ..scheme.prepare import copy_graph
from ..weights.bias_correction import mean_output
from .cross_layer import numbers_from_text
from .groups import (
    EqualizationGroup,
    GroupFinder,
    groups_named,
    has_weights,
    observe_channels,
)

Reals = NDArray[np.float64]
Shifts = Mapping[str, tuple[float, ...]]
"""What is taken from each channel, by the name of the tensor that a node with weights makes."""

NARROWER = 0.98
"""A range is worth a trial if this part of it, or less, is left."""


@dataclass
class ChannelExtremes:
    """The least and the largest value of each channel."""

    low: Reals
    high: Reals


def find_absorption_groups(graph: Graph) -> list[EqualizationGroup]:
    """ReLUs with weights before them whose readers are linear and pad nothing."""
    finder = GroupFinder(graph, _passes_on, widely=False)
    relus = [n for n in graph.nodes if has_weights(n) and n.attrs.get("act_min") == 0.0]
    found = [finder.group(n) for n in relus]
    return [s for s in found if s is not None and all(_linear(r) for r in s.readers)]


def _passes_on(node: Node) -> bool:
    """Whether a node adds to its output what is added to a channel of its input."""
    if is_view(node):
        return node.input(0).shape[-1:] == node.output.shape[-1:]
    if "shift" not in definition(node.op).channelwise:
        return False
    return not node.attrs.get("count_include_pad", False) and not any(node.attrs["pads"])


def _linear(node: Node) -> bool:
    return is_a(node, FullyConnected, Conv2d) and not any(node.attrs.get("pads", ()))


def find_shifts(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> Shifts:
    """Of each group whose range gets narrower by it what to take from each channel."""
    groups = find_absorption_groups(graph)
    ends = _channel_extremes(graph, {s.name for s in groups}, samples)
    found: dict[str, tuple[float, ...]] = {}
    for group in groups:
        name = group.name
        shift = _shift(ends[name], float(group.makers[0].attrs.get("act_max", np.inf)))
        if shift.any():
            found[name] = tuple(float(c) for c in shift.astype(np.float32))
    return found


def _shift(ends: ChannelExtremes, clamp: float) -> Reals:
    """Zeros where the range would not be narrower, or a clamp cuts off what makes it."""
    free = np.where(ends.high < clamp, ends.low, 0.0)
    top, left = ends.high.max(), (ends.high - free).max()
    if left > NARROWER * top:
        return np.zeros_like(free)
    lowered: Reals = np.maximum(ends.high - left, 0.0)
    return lowered


def _channel_extremes(
    graph: Graph, names: set[str], samples: Iterable[Mapping[str, Array]]
) -> dict[str, ChannelExtremes]:
    ends: dict[str, ChannelExtremes] = {}

    def see(name: str, rows: Array) -> None:
        low, high = (x.astype(np.float64) for x in channel_extremes(rows))
        known = ends.setdefault(name, ChannelExtremes(low, high))
        known.low, known.high = np.minimum(known.low, low), np.maximum(known.high, high)

    observe_channels(graph, names, samples, see)
    return ends


def absorbed(graph: Graph, shifts: Shifts) -> Graph:
    """A copy of the float `graph` with biases moved; its outputs stay, where no ReLU cuts in.

    Shifts of tensors that are no group, or have other channels, raise ValueError.
    """
    copy = copy_graph(graph)
    for group, c in groups_named(find_absorption_groups(copy), shifts, "with a bias to move"):
        _add_bias(group.makers[0], -c)
        for node in group.readers:
            weight = node.input(1).const
            assert weight is not None
            _add_bias(node, mean_output(node, weight.astype(np.float64), c))
    return copy


def from_text(text: str) -> Shifts:
    """The shifts that `to_text` (cross_layer.py) wrote. Raises ValueError for anything else."""
    return numbers_from_text(text, "the shifts of an absorption")


def _add_bias(node: Node, more: Reals) -> None:
    """Give a node its bias plus `more`, a copy of its own."""
    at = definition(node.op).bias
    assert at is not None
    node.inputs += [None] * (at + 1 - len(node.inputs))
    v = node.inputs[at]
    before = 0.0 if v is None or v.const is None else v.const.astype(np.float64)
    name = f"{node.output.name}.bias" if v is None else v.name
    node.inputs[at] = constant((before + more).astype(np.float32), name)
