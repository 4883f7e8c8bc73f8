"""How much of its detections a quantized model keeps; no labels are needed.

Tags, notes or the scores of boxes are many probabilities, most of them near 0: SQNR and changed
answers say little about the few that exceed a threshold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph
from ...ops import computes
from ..scheme.detection_head import PROBABILITY
from ..scheme.moves import maker_of
from .evaluation_points import THRESHOLD, EvaluationPoint
from .kept_samples import KeptSample
from .masks import are_certain

LEAST_DETECTIONS = 50
"""Least number of detections on all samples: fewer say little."""


class Detections:
    """The tensors of `graph` among `tensors` that contain detections: probabilities computed by a
    sigmoid, most of them close to 0 or 1 (images have fewer), and some above THRESHOLD on the
    samples `kept`."""

    def __init__(self, graph: Graph, tensors: Collection[str], kept: Sequence[KeptSample]) -> None:
        made_by = graph.producers()
        makers = {v.name: maker_of(v, made_by) for v in made_by if v.type.size > 1}
        self.tensors = [
            name
            for name in sorted(tensors)
            if (maker := makers.get(name)) is not None
            and computes(maker, *PROBABILITY)
            and _detects([s.at_points[name] for s in kept])
        ]
        self.points = [EvaluationPoint(name) for name in self.tensors]

    def row(self, truth: Mapping[str, Array], got: Mapping[str, Array]) -> NDArray[np.float64]:
        """[tensors, 2, 3] of one sample, of the float model and of the other: the sum of the float
        model's probabilities of what it detects, the number of detections, and the sum of all
        probabilities."""
        found = np.zeros((len(self.tensors), 2, 3))
        for of, name in zip(found, self.tensors, strict=True):
            likely = np.nan_to_num(truth[name].ravel().astype(np.float64))
            for sums, x in zip(of, (truth[name], got.get(name, truth[name])), strict=True):
                detected = x.ravel() > THRESHOLD
                sums[:] = likely[detected].sum(), np.count_nonzero(detected), likely.sum()
        return found

    def kept(
        self, rows: NDArray[np.float64], parts: Sequence[slice] = (slice(None),)
    ) -> dict[str, float]:
        """The expected F1 score relative to the float model's, by tensor, over the `rows` of all
        samples: that on labels which are as likely as the float model says. A detection lost or
        gained near the threshold changes it little.

        The samples of each of the `parts` ran in another file. What one file detects too much does
        not make up for what another one lacks: the losses of the parts are added."""
        real = rows[:, :, 0].sum(axis=0)
        lost = np.zeros(len(self.tensors))
        for places in parts:
            mixed = real + (rows[places, :, 1] - rows[places, :, 0]).sum(axis=0)
            lost += np.maximum(1 - _f1(mixed) / np.maximum(_f1(real), 1e-30), 0)
        kept = np.maximum(1 - lost, 0)
        return {name: float(part) for name, part in zip(self.tensors, kept, strict=True)}


def _f1(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected F1 score of sums as those of `Detections.row`."""
    found: NDArray[np.float64] = 2 * sums[:, 0] / np.maximum(sums[:, 1] + sums[:, 2], 1e-30)
    return found


def _detects(samples: Sequence[Array]) -> bool:
    count = sum(np.count_nonzero(x > THRESHOLD) for x in samples)
    return bool(count >= LEAST_DETECTIONS) and are_certain(samples)
