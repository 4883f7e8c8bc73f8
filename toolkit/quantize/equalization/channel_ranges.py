"""Ranges and mean squares of the channels of a group (groups.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph
from ...numerics import INT8
from ..scheme.lookup_chains import Function, LookupChain, find_chains
from ..scheme.options import Range
from ..scheme.qparams import LEVELS
from ..scheme.saturation import POINTS, varying
from .groups import EqualizationGroup

Reals = NDArray[np.float64]

LARGEST = 8
"""The largest exponent of a channel."""
MANY_POSITIONS = 64
"""The number of positions, of all samples, from which the range of a channel is well known."""
RARE = 16
"""Of fewer positions, those at which a channel that is not rare is not 0."""
SLOPES = 500
"""Positions of a sample at which the slopes of tables are measured."""
CELLS = 4 * LEVELS[INT8]
"""Parts of the range of a tensor with a slope each: a quarter of an int8 step."""
LEAST_WIDTH = 1e-4
"""That of the range where all values are one, relative to it."""


@dataclass
class ChannelRanges:
    """The range of each channel of a tensor, which includes 0, and its mean square.

    active            at how many positions, of all samples, the channel is not 0; only known
                      while there are few
    positions         the number of positions of the graph's tensor that has most
    slopes            mean squared slopes of the tables that read it, by the table's output
    inverse_variance  the mean over positions of 1 / variance across channels, for an input of a
                      LayerNorm
    """

    low: Reals
    high: Reals
    power: Reals
    active: NDArray[np.int64]
    positions: int = 0
    slopes: dict[str, Reals] = field(default_factory=dict)
    inverse_variance: float = 0.0

    @property
    def peak(self) -> Reals:
        return np.maximum(-self.low, self.high)

    @property
    def largest_exponents(self) -> NDArray[np.int64]:
        """Of the channels, lower for those that few positions show: their peaks are hardly known.
        In 32 samples of two recordings a channel of an autoencoder reached 0.001 once, in others
        3. Not where other tensors have many positions: in a network for images the gates behind
        pools lost 1 dB."""
        if self.positions >= MANY_POSITIONS:
            return np.full(len(self.active), LARGEST)
        rare = self.active < min(self.positions, RARE)
        return np.where(rare, np.log2(np.maximum(self.active, 1)), LARGEST).astype(np.int64)

    def behind_tables(self, gains: Mapping[str, Reals]) -> Reals:
        """The factor from a squared error in each channel to the squared error after its tables,
        times `gains`, by the table's output (default 1)."""
        total = np.zeros_like(self.power)
        for end, slope in self.slopes.items():
            total += slope * gains.get(end, 1.0)
        return total


class Tables:
    """The lookup chains that read the groups' tensors, by tensor name."""

    def __init__(self, graph: Graph, groups: Sequence[EqualizationGroup]) -> None:
        outputs, consumers = graph.output_values(), graph.consumers()
        chains = find_chains(graph)
        inside = {n for c in chains for n in c.nodes}
        self.alone: dict[str, list[Function]] = {}
        for chain in chains:
            root = chain.root
            if root not in outputs and all(n in inside for n in consumers[root]):
                self.alone.setdefault(root.name, []).extend(chain.functions)
        self.chains: dict[str, list[LookupChain]] = {}
        for group in groups:
            for chain in chains:
                if _takes_back(chain, group):
                    self.chains.setdefault(group.tensor_of[chain.root].name, []).append(chain)

    def slopes(self, name: str, x: Array) -> Iterable[tuple[str, Reals]]:
        """The output name of each chain and its mean squared slope per channel. A chain after a
        pool is treated as if it read the pool's input."""
        if name not in self.chains:
            return
        few = x[:: max(1, len(x) // SLOPES)]
        for chain in self.chains[name]:
            yield chain.end.name, _squared_slopes(chain, few).mean(axis=0)

    def varying(self, name: str, r: Range) -> Range:
        """`r`; if only tables read the tensor, without the ends where they all saturate."""
        return varying(r, [(f, _width(f, r) / LEVELS[INT8]) for f in self.alone.get(name, ())])


def _takes_back(chain: LookupChain, group: EqualizationGroup) -> bool:
    """Whether its table undoes the scaling of the group."""
    looked_up = any(n in chain.nodes for nodes in group.looked_up.values() for n in nodes)
    return looked_up and chain.root in group.tensor_of


def _squared_slopes(chain: LookupChain, x: Array) -> Reals:
    """Those of the chain at x, both [positions, channels]."""
    if chain.index is None:
        return _squared_slopes_of(chain.functions[0], x)
    found = np.empty(x.shape)
    for k, function in enumerate(chain.functions):
        found[:, chain.index == k] = _squared_slopes_of(function, x[:, chain.index == k])
    return found


@np.errstate(all="ignore")  # functions may be undefined or unbounded
def _squared_slopes_of(f: Function, x: Array) -> Reals:
    """Those of a function at x, of any shape, by its slopes in parts of the range of x."""
    low, high = float(x.min(initial=np.inf)), float(x.max(initial=-np.inf))
    if low == high:
        high = low + LEAST_WIDTH * max(abs(low), 1.0)
    slopes = np.diff(f(np.linspace(low, high, CELLS + 1))) * (CELLS / (high - low))
    squares = np.nan_to_num(slopes, posinf=0.0, neginf=0.0) ** 2
    places = ((x - np.float32(low)) * np.float32(CELLS / (high - low))).astype(np.int32)
    found: Reals = squares.take(places, mode="clip")
    return found


def _width(f: Function, r: Range) -> float:
    y = np.nan_to_num(f(np.linspace(*r, POINTS)), posinf=0.0, neginf=0.0)
    return float(y.max() - y.min())
