"""Overlap of the masks of a quantized model with those of the float model; no labels are needed.

SQNR says little about the shape of a mask: the largest errors are at its border, in few elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph
from ...ops import computes
from ..scheme.detection_head import PROBABILITY
from ..scheme.moves import maker_of
from .evaluation_points import THRESHOLD, EvaluationPoint
from .kept_samples import KeptSample

LEAST_SIDE = 32
"""Least height and width of a mask."""
LEAST_SHARE = 0.005
"""Least share of elements inside masks, and outside, over all samples; heat maps have less."""
CERTAIN, LEAST_CERTAIN = 0.1, 0.75
"""Share of probabilities this close to 0 or 1 in a mask; images have fewer."""


class Masks:
    """The outputs of `graph` among `tensors` that are masks: a single map of probabilities computed
    by a sigmoid, with values as on the samples `kept`."""

    def __init__(self, graph: Graph, tensors: Collection[str], kept: Sequence[KeptSample]) -> None:
        self.tensors = list(_masks(graph, tensors, kept))
        self.points = [EvaluationPoint(name) for name in self.tensors]

    def row(self, truth: Mapping[str, Array], got: Mapping[str, Array]) -> NDArray[np.float64]:
        """[masks, 2, 2] of one sample: sizes of intersection and union, of the areas outside the
        masks and inside."""
        found = np.zeros((len(self.tensors), 2, 2))
        for mask, name in zip(found, self.tensors, strict=True):
            if name in got:
                mine = got[name].ravel() > THRESHOLD
                its = truth[name].ravel() > THRESHOLD
                both, either = np.count_nonzero(mine & its), np.count_nonzero(mine | its)
                mask[:] = (mine.size - either, mine.size - both), (both, either)
        return found

    def overlap(self, rows: NDArray[np.float64]) -> dict[str, float]:
        """Mean intersection over union of both areas, by output, over the `rows` of all samples."""
        totals = rows.sum(axis=0)
        return {
            name: float(np.mean(both / np.maximum(either, 1)))
            for name, (both, either) in zip(self.tensors, totals.swapaxes(1, 2), strict=True)
        }


def _masks(graph: Graph, tensors: Collection[str], kept: Sequence[KeptSample]) -> Iterator[str]:
    made_by = graph.producers()
    for v in dict.fromkeys(p.value for p in graph.outputs):
        sides = sorted(v.shape)[-2:]
        one = len(sides) == 2 and sides[0] >= LEAST_SIDE and sides[0] * sides[1] == v.type.size
        if v.name not in tensors or not one or not kept:
            continue
        node = maker_of(v, made_by)
        if node is None or not computes(node, *PROBABILITY):
            continue
        maps = [s.at_points[v.name] for s in kept]
        inside = float(np.mean([np.mean(x > THRESHOLD) for x in maps]))
        if LEAST_SHARE <= inside <= 1 - LEAST_SHARE and are_certain(maps):
            yield v.name


def are_certain(samples: Sequence[Array]) -> bool:
    """Whether most probabilities are close to 0 or 1."""
    parts = [np.mean(np.abs(x - 0.5) >= 0.5 - CERTAIN) for x in samples]
    return float(np.mean(parts)) >= LEAST_CERTAIN
