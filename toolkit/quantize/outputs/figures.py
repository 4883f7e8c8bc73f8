"""What is said of a model's outputs beside their errors: answers, masks and detections."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph
from .answers import FIGURES, Answers
from .detections import Detections
from .evaluation_points import EvaluationPoint
from .kept_samples import KeptSample
from .masks import Masks

Rows = NDArray[np.float64]


class Figures:
    """The answers, masks and detections of `graph`, a float graph as a Plan prepares it, on the
    samples `kept`; its outputs are judged at `points`."""

    def __init__(
        self, graph: Graph, points: Sequence[EvaluationPoint], kept: Sequence[KeptSample]
    ) -> None:
        self.answers = Answers(graph, points, kept)
        plain = {p.tensor for p in points if p.axis is None}
        self.masks = Masks(graph, plain, kept, self.answers.compared)
        self.detections = Detections(graph, plain - set(self.masks.tensors), kept)
        self.points = [*self.answers.points, *self.masks.points, *self.detections.points]

    @property
    def key(self) -> Hashable:
        """What `rows` depend on, but for the samples."""
        return tuple(self.answers.compared), tuple(self.masks.maps), tuple(self.detections.tensors)

    def rows(self, truth: Sequence[Mapping[str, Array]], got: Mapping[str, Array]) -> Rows:
        """[samples, figures] of a model that has `got` by tensor, the samples along a first axis;
        the float model has `truth`."""
        found = [self.answers.rows(truth, got)]
        for of in (self.masks, self.detections):
            if of.tensors:
                each = [of.row(t, {n: x[i] for n, x in got.items()}) for i, t in enumerate(truth)]
                found.append(np.stack(each).reshape(len(truth), -1))
        return np.concatenate(found, axis=1)

    def told(self, rows: Rows, parts: Sequence[slice] = (slice(None),)) -> dict[str, Any]:
        """The arguments of Quality.of that `rows` of all samples make; each of the `parts` of them
        ran in another file."""
        answers, masks, detected = np.split(rows, [FIGURES, FIGURES + 6 * self.masks.classes], 1)
        shape = len(rows), -1, 2, 3
        return {
            "answers": self.answers.loss(answers),
            "masks": self.masks.kept(masks.reshape(shape), parts),
            "detections": self.detections.kept(detected.reshape(shape), parts),
        }
