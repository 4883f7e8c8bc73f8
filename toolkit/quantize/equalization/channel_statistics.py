"""Statistics of the channels that equalization and bias absorption change, measured on samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ....calibration import channel_extremes, channel_means
from ...build import open_once
from ...ir import Array, Graph
from ...ops import is_a
from ...ops.norm.layer_norm import LayerNorm
from ...runtime.branches import steps
from ..scheme.shared_weights import sharing_weights
from .bias_absorption import ChannelExtremes, clamps_of, shift_of
from .channel_ranges import MANY_POSITIONS, ChannelRanges, Tables
from .groups import find_equalization_groups

LEAST = 4
"""Samples that show whether a shift may narrow a range."""


class ChannelStatistics:
    """Statistics of the channels of a float `graph`, to be called with the name and the values of
    each tensor of each sample.

    groups  those that may be scaled (groups.py). Groups whose weights other layers share are
            excluded, as these would be stored several times.

    With `absorbs` they include the tensors that bias absorption may shift. With `returns` a call
    returns the extremes [2, channels] of a tensor that scaled channels change.
    """

    def __init__(self, graph: Graph, absorbs: bool = True, returns: bool = False) -> None:
        shared, every = sharing_weights(graph), find_equalization_groups(graph)
        self.groups = [g for g in every if shared.isdisjoint([*g.makers, *g.readers])]
        self._graph, self._tables = graph, Tables(graph, self.groups)
        self._grouped = {v.name for g in self.groups for v in g.tensors}
        self._normalized = {
            g.tensor_of[n.input(0)].name
            for g in self.groups
            for n in g.readers
            if is_a(n, LayerNorm)
        }
        self._clamps = clamps_of(graph) if absorbs else {}
        self._wanted = self._grouped | self._clamps.keys()
        self._returned = {v.name for g in self.groups for v in g.tensor_of} if returns else set()
        self._extremes: dict[str, ChannelExtremes] = {}
        self._sums: dict[str, ChannelRanges] = {}
        self._count: dict[str, int] = {}

    @staticmethod
    def of(
        graph: Graph, samples: Iterable[Mapping[str, Array]], absorbs: bool = True
    ) -> ChannelStatistics:
        """The statistics on `samples`; nothing runs if there is no tensor to observe."""
        found = ChannelStatistics(graph, absorbs)
        session = open_once(graph) if found._wanted else None
        for sample in samples:
            left = set(found._wanted)
            if session is None or not left:
                break
            for _, name, array, _ in steps(session, sample):
                found(name, array)
                left.discard(name)
                if not left:
                    break
        return found

    def __call__(self, name: str, x: Array) -> NDArray[np.float32] | None:
        """Add a tensor of a sample. The array need be valid only during the call."""
        if name not in self._wanted and name not in self._returned:
            return None
        rows = x.reshape(-1, x.shape[-1])
        ends = np.stack(channel_extremes(rows))
        if name in self._wanted:
            self._extend(name, rows, ends.astype(np.float64))
        return ends if name in self._returned else None

    def _extend(self, name: str, rows: Array, ends: NDArray[np.float64]) -> None:
        low, high = ends
        known = self._extremes.setdefault(name, ChannelExtremes(low, high, 0))
        known.low, known.high = np.minimum(known.low, low), np.maximum(known.high, high)
        known.positions += len(rows)
        self._count[name] = self._count.get(name, 0) + 1
        if name in self._grouped:
            self._add(name, rows)
        elif self._count[name] == LEAST and not shift_of(known, self._clamps[name]).any():
            self._wanted.remove(name)
            del self._extremes[name]

    def _add(self, name: str, rows: Array) -> None:
        none = np.zeros(rows.shape[1])
        sums = self._sums.setdefault(name, ChannelRanges(none, none, none, none.astype(np.int64)))
        sums.power = sums.power + channel_means(rows, power=2)
        if sums.positions < MANY_POSITIONS:
            sums.active = sums.active + np.count_nonzero(rows, axis=0)
        sums.positions += len(rows)
        for end, slope in self._tables.slopes(name, rows):
            sums.slopes[end] = sums.slopes.get(end, 0.0) + slope
        if name in self._normalized:
            variance = rows.astype(np.float64).var(axis=1)
            alive = variance[variance > 0]
            sums.inverse_variance += float((1 / alive).mean() if alive.size else 0)

    def scales(self, exponents: Mapping[str, Sequence[int]]) -> dict[str, NDArray[np.float64]]:
        """What multiplies the channels of each tensor whose groups have these exponents."""
        return {
            v.name: np.exp2(exponents[g.name])
            for g in self.groups
            if g.name in exponents
            for v in (*g.tensors, *g.tensor_of)
        }

    def ranges(self) -> dict[str, ChannelRanges]:
        """The ranges of the groups' tensors. The range of a tensor that only tables read ends where
        their output saturates."""
        found: dict[str, ChannelRanges] = {}
        most_positions = max((s.positions for s in self._sums.values()), default=0)
        for name, sums in self._sums.items():
            count, ends = self._count[name], self._extremes[name]
            low, high = np.minimum(ends.low, 0.0), np.maximum(ends.high, 0.0)
            least, most = self._tables.varying(name, (float(low.min()), float(high.max())))
            found[name] = ChannelRanges(
                np.maximum(low, min(least, 0)),
                np.minimum(high, max(most, 0)),
                sums.power / count,
                sums.active,
                most_positions,
                {end: slope / count for end, slope in sums.slopes.items()},
                sums.inverse_variance / count,
            )
        return found

    def extremes(self, exponents: Mapping[str, Sequence[int]]) -> dict[str, ChannelExtremes]:
        """The extremes of the tensors that bias absorption may shift, with channels scaled by these
        exponents, by the name of the group; without tensors whose range no shift narrows on the
        first LEAST samples."""
        scales = self.scales(exponents)
        found = {n: ends for n, ends in self._extremes.items() if n in self._clamps}
        return {n: e.times(scales[n]) if n in scales else e for n, e in found.items()}
