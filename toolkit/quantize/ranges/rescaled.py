"""The calibration of a graph with scaled channels, from that of the graph without."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....calibration import TensorStats
from ...ir import Graph
from ...numerics import FLOAT
from ...ops import is_view
from ..outputs.evaluation_points import find_evaluation_points
from ..outputs.kept_samples import KeptSample
from .calibration import Calibration, calibration_of, read_by_weights, watched

Reals = NDArray[np.float64]
Scales = Mapping[str, Reals]
"""What multiplies the channels of tensors, by name: powers of two, which round nothing."""


def rescaled(
    given: Calibration, graph: Graph, scales: Scales, plain: Mapping[str, str]
) -> Calibration | None:
    """What calibrate finds on the kept samples of `given` without histograms, for the `graph` whose
    channels have these scales. Nothing runs: `given` has all that is needed, or this is None.

    `plain`: the tensors that the graph has in addition, with those of the given graph that have the
    same values.
    """
    points, samples = find_evaluation_points(graph), list[KeptSample]()
    at_points = {name for p in points for name in p.tensors}
    if not scales.keys().isdisjoint(at_points):
        return None
    read = [v.name for v in read_by_weights(graph)]
    for s in given.kept:
        if s.at_points.keys() != at_points or not s.means.keys() >= {*read}:
            return None
        means = {n: s.means[n] * scales.get(n, 1.0) for n in read}
        samples.append(KeptSample(s.inputs, s.at_points, means, s.energies))

    found: dict[str, TensorStats] = {}
    ends: dict[str, array[float]] = {}
    views = {n.output.name for n in graph.nodes if is_view(n)}
    watched_values = watched(graph).values()
    for name in sorted({v.name for v in watched_values if v.const is None and v.dtype == FLOAT}):
        before = plain.get(name, name)
        if before not in given.stats:
            return None
        found[name], count = TensorStats(0, name=name), given.stats[before].count
        if name in views:
            continue  # not executed
        if before not in given.ends:
            if count:  # on some samples
                return None
            continue  # not finite
        rows = _scaled(given, name, scales[name]) if name in scales else _ends(given, before)
        if rows is None:
            return None
        for low, high in rows.tolist() if count else []:
            found[name].update_extremes(low, high, count // given.samples)
        ends[name] = array("f", rows.reshape(-1))
    return calibration_of(graph, found, samples, points, (len(samples), 1), ends)


def _ends(given: Calibration, name: str) -> NDArray[np.float32]:
    """The smallest and the largest value of a tensor on each kept sample, [samples, 2]."""
    return np.array(given.ends[name], np.float32).reshape(-1, 2)[:: given.step]


def _scaled(given: Calibration, name: str, scale: Reals) -> NDArray[np.float32] | None:
    """Those of a tensor whose channels are multiplied by `scale`."""
    found = [s.channel_ends.get(name) for s in given.kept]
    each = [x for x in found if x is not None]
    if len(each) < len(found):
        return None
    low, high = np.moveaxis(np.stack(each) * scale, 1, 0)
    return np.stack([low.min(axis=1), high.max(axis=1)], axis=1).astype(np.float32)
