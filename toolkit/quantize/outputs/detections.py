"""How much of its detections a quantized model keeps; no labels are needed.

Tags, notes or the scores of boxes are many probabilities, most of them near 0: SQNR and changed
answers say little about the few that exceed a threshold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...ir import Array, Graph
from ...ops import computes
from ..scheme.detection_head import PROBABILITY
from ..scheme.moves import maker_of
from .evaluation_points import LEAST_DETECTIONS, THRESHOLD, EvaluationPoint
from .expected_scores import Sums, f1, part_kept, sums_of
from .kept_samples import KeptSample
from .raw_scores import are_certain, are_scores, probabilities, raw_scores


class Detections:
    """The tensors of `graph` among `tensors` that contain detections: probabilities computed by a
    sigmoid, or logits of scores beside boxes, most of them close to 0 or 1 (images have fewer), and
    some above THRESHOLD on the samples `kept`."""

    def __init__(self, graph: Graph, tensors: Collection[str], kept: Sequence[KeptSample]) -> None:
        made_by = graph.producers()
        self._raw = {
            v.name
            for v, classes in raw_scores(graph).items()
            if v.name in tensors and are_scores([s.at_points[v.name] for s in kept], classes)
        }
        makers = {v.name: maker_of(v, made_by) for v in made_by if v.type.size > 1}
        self.tensors = [
            name
            for name in sorted(tensors)
            if (maker := makers.get(name)) is not None
            and (computes(maker, *PROBABILITY) or name in self._raw)
            and _detects([self._likely(name, s.at_points[name]) for s in kept])
        ]
        self.points = [EvaluationPoint(name) for name in self.tensors]

    def _likely(self, name: str, x: Array) -> Array:
        return probabilities(x) if name in self._raw else x

    def row(self, truth: Mapping[str, Array], got: Mapping[str, Array]) -> Sums:
        """[tensors, 2, 3] of one sample, of the float model and of the other."""
        found = np.zeros((len(self.tensors), 2, 3))
        for of, name in zip(found, self.tensors, strict=True):
            both = (truth[name], got.get(name, truth[name]))
            real, now = (self._likely(name, x.ravel()) for x in both)
            likely = np.nan_to_num(real.astype(np.float64))
            for sums, x in zip(of, (real, now), strict=True):
                sums[:] = sums_of(likely, x > THRESHOLD)
        return found

    def kept(self, rows: Sums, parts: Sequence[slice] = (slice(None),)) -> dict[str, float]:
        """The expected F1 score relative to the float model's, by tensor, over the `rows` of all
        samples, of which each of the `parts` ran in another file."""
        each = part_kept(rows, f1, parts)
        return {name: float(part) for name, part in zip(self.tensors, each, strict=True)}


def _detects(samples: Sequence[Array]) -> bool:
    count = sum(np.count_nonzero(x > THRESHOLD) for x in samples)
    return bool(count >= LEAST_DETECTIONS) and are_certain(samples)
