"""High-bias absorption: the constant part of a channel moves from its bias into later biases.

After Nagel et al. 2019 (arXiv:1906.04721), section 4.1.3: if a channel after a ReLU never falls
below c > 0, then relu(y - c) = relu(y) - c, and the linear readers add c times their weights to
their biases. The paper takes c from BatchNorm, as the mean less three standard deviations, to
narrow the range that ReLU makes asymmetric. Here c comes from the minima over the samples, with a
margin if these are of few positions, and is no larger than narrows the tensor's range: it lowers
the channels with the largest values to the level of the channels that cannot be lowered. What
remains above 0 covers values smaller than any in the samples.

It applies only where it is exact: a padded reader would read 0 where c belongs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...ir import Graph, Node, constant
from ...ops import definition, is_a, is_view
from ...ops.conv.conv2d import Conv2d
from ...ops.matmul.fully_connected import FullyConnected
from ..scheme.prepare import copy_graph
from ..weights.bias_correction import mean_output
from .channel_ranges import MANY_POSITIONS
from .cross_layer import numbers_from_text
from .groups import (
    EqualizationGroup,
    GroupFinder,
    groups_named,
    has_weights,
)

Reals = NDArray[np.float64]
Shifts = Mapping[str, tuple[float, ...]]
"""The amount subtracted from each channel, by the name of the group (groups.py)."""

NARROWER = 0.98
"""A shift is tried only if it narrows the range to this fraction or less."""


@dataclass
class ChannelExtremes:
    """The minimum and maximum of each channel at `positions`, of all samples."""

    low: Reals
    high: Reals
    positions: int

    def times(self, scale: Reals) -> ChannelExtremes:
        """Those of the channels multiplied by `scale`, which is positive."""
        return ChannelExtremes(self.low * scale, self.high * scale, self.positions)

    def with_margin(self) -> ChannelExtremes:
        """With lower minima, by as much as the channel varies if it was seen at few positions:
        other samples may have lower ones."""
        margin = min(1.0, MANY_POSITIONS / self.positions) * (self.high - self.low)
        return replace(self, low=self.low - margin)


def find_absorption_groups(graph: Graph) -> list[EqualizationGroup]:
    """Groups of nodes with weights and a ReLU, whose readers are linear and have no padding."""
    finder = GroupFinder(graph, _passes_on, widely=False)
    relus = [n for n in graph.nodes if has_weights(n) and n.attrs.get("act_min") == 0.0]
    found = [finder.group(n) for n in relus]
    return [s for s in found if s is not None and all(_linear(r) for r in s.readers)]


def _passes_on(node: Node) -> bool:
    """Whether a constant added to an input channel appears unchanged in the output channel."""
    if is_view(node):
        return node.input(0).shape[-1:] == node.output.shape[-1:]
    if "shift" not in definition(node.op).channelwise:
        return False
    return not node.attrs.get("count_include_pad", False) and not any(node.attrs["pads"])


def _linear(node: Node) -> bool:
    return is_a(node, FullyConnected, Conv2d) and not any(node.attrs.get("pads", ()))


def clamps_of(graph: Graph) -> dict[str, float]:
    """The upper clamp of the tensors that may be shifted, by name."""
    groups = find_absorption_groups(graph)
    return {s.name: float(s.makers[0].attrs.get("act_max", np.inf)) for s in groups}


def find_shifts(graph: Graph, extremes: Mapping[str, ChannelExtremes]) -> Shifts:
    """The shift of each channel, for the tensors in `extremes` whose range it narrows."""
    clamps = clamps_of(graph)
    shifts = {n: shift_of(extremes[n].with_margin(), clamps[n]) for n in clamps if n in extremes}
    return {
        name: tuple(float(c) for c in shift.astype(np.float32))
        for name, shift in shifts.items()
        if shift.any()
    }


def shift_of(ends: ChannelExtremes, clamp: float) -> Reals:
    """The shift of each channel; zeros where it would not narrow the range, or where the values
    reach the upper clamp."""
    free = np.where(ends.high < clamp, np.maximum(ends.low, 0.0), 0.0)
    top, left = ends.high.max(), (ends.high - free).max()
    if left > NARROWER * top:
        return np.zeros_like(free)
    lowered: Reals = np.maximum(ends.high - left, 0.0)
    return lowered


def absorbed(graph: Graph, shifts: Shifts) -> Graph:
    """A copy of the float `graph` with the shifts moved into later biases. Its outputs are
    unchanged as long as no value falls below its shift.

    Raises ValueError for a name that is not a group, or a wrong number of channels.
    """
    copy = copy_graph(graph)
    for group, c in groups_named(
        find_absorption_groups(copy), shifts, "with a bias that can be moved"
    ):
        _add_bias(group.makers[0], -c)
        for node in group.readers:
            weight = node.input(1).const
            assert weight is not None
            _add_bias(node, mean_output(node, weight.astype(np.float64), c))
    return copy


def from_text(text: str) -> Shifts:
    """The shifts from the text of `to_text` (cross_layer.py). Raises ValueError if invalid."""
    return numbers_from_text(text, "the shifts of an absorption")


def _add_bias(node: Node, more: Reals) -> None:
    """Add `more` to a node's bias, in a copy that no other node reads."""
    at = definition(node.op).bias
    assert at is not None
    node.inputs += [None] * (at + 1 - len(node.inputs))
    v = node.inputs[at]
    before = 0.0 if v is None or v.const is None else v.const.astype(np.float64)
    name = f"{node.output.name}.bias" if v is None else v.name
    node.inputs[at] = constant((before + more).astype(np.float32), name)
