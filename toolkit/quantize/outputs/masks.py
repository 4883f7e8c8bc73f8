"""How well a quantized model keeps the masks of classes; no labels are needed.

The mask of a class is where it is the answer: pixels of an image, steps of a series, tokens of a
text. SQNR and changed answers say little about rare classes and the shape of a mask: most elements
are background, and the largest errors are at borders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph
from ...ops import computes, definition
from ..scheme.detection_head import PROBABILITY
from ..scheme.moves import maker_of
from .answers import Compared
from .evaluation_points import THRESHOLD, EvaluationPoint, shares
from .expected_scores import Sums, intersection_over_union, part_kept, sums_of
from .kept_samples import KeptSample
from .ratios import is_map
from .raw_scores import are_certain, probabilities

LEAST_SIDE = 32
"""Least height and width of a single mask."""
MOST_ROWS = 1 << 16
"""Where classes are compared: the elements of a sample that are looked at."""
LEAST_SHARE = 0.005
"""Least share of elements inside masks, and outside, over all samples; heat maps have less."""
LEAST_ELEMENTS = 50.0
"""Of a class, by the float model's probabilities on all samples: fewer say little."""


@dataclass(frozen=True)
class _Map:
    """A tensor whose elements belong to classes: those that are `compared`, or if None by a
    probability or, as `logits`, by its logit inside and outside of one mask.

    Labels are as likely as the float model says. Those of one mask are the float model's mask: a
    text detector, which cuts boxes out of it, lost twice what the expected score says.
    """

    tensor: str
    classes: int = 2
    compared: Compared | None = None
    logits: bool = False

    def sums(self, truth: Mapping[str, Array], got: Mapping[str, Array]) -> Iterator[Sums]:
        """[classes, 3] of the float model, and of the other."""
        real, now = truth[self.tensor], got.get(self.tensor)
        if self.compared is not None:
            now = got.get(self.compared.made, now)
            likely = np.nan_to_num(shares(self.compared.rows(real, MOST_ROWS), 1))
            for x in (real, real if now is None else now):
                best = self.compared.rows(x.reshape(real.shape), MOST_ROWS).argmax(axis=1)
                hits = np.bincount(best, likely[np.arange(len(best)), best], self.classes)
                count = np.bincount(best, minlength=self.classes)
                yield np.stack([hits, count, likely.sum(axis=0)], axis=1)
            return
        limit = 0.0 if self.logits else THRESHOLD
        inside = real.ravel() > limit
        for x in (real, real if now is None else now):
            found = x.ravel() > limit
            both = ((~inside, ~found), (inside, found))
            yield np.stack([sums_of(likely.astype(np.float64), side) for likely, side in both])


class Masks:
    """The masks of `graph` on the samples `kept`, of so many `classes`: outputs among `tensors`
    that are a single map of probabilities or logits, and tensors at which classes are `compared` at
    LEAST_SIDE places or more."""

    def __init__(
        self,
        graph: Graph,
        tensors: Collection[str],
        kept: Sequence[KeptSample],
        compared: Sequence[Compared] = (),
    ) -> None:
        self.maps = [*_single(graph, tensors, kept), *_several(compared, kept)]
        self.tensors = [m.tensor for m in self.maps]
        self.points = [EvaluationPoint(name) for name in self.tensors]
        self._ends = np.cumsum([m.classes for m in self.maps], dtype=int).tolist()
        self.classes = sum(m.classes for m in self.maps)

    def row(self, truth: Mapping[str, Array], got: Mapping[str, Array]) -> Sums:
        """[classes of all masks, 2, 3] of one sample, of the float model and of the other."""
        found = np.zeros((self.classes, 2, 3))
        for end, m in zip(self._ends, self.maps, strict=True):
            found[end - m.classes : end] = np.stack(list(m.sums(truth, got)), axis=1)
        return found

    def kept(self, rows: Sums, parts: Sequence[slice] = (slice(None),)) -> dict[str, float]:
        """The intersection over union on these labels, relative to the float model's, on average
        over the classes, by tensor, over the `rows` of all samples, of which each of the `parts`
        ran in another file."""
        found = {}
        for end, m in zip(self._ends, self.maps, strict=True):
            of = rows[:, end - m.classes : end]
            sums = of[:, :, 0].sum(axis=0)
            counted = (sums[:, 2] >= LEAST_ELEMENTS) & (intersection_over_union(sums) > 0)
            if counted.any():
                score = partial(_mean_iou, counted)
                found[m.tensor] = float(part_kept(of, score, parts))
        return found


def _mean_iou(counted: NDArray[np.bool_], sums: Sums) -> NDArray[np.float64]:
    return np.asarray(intersection_over_union(sums)[counted].mean())


def _several(compared: Sequence[Compared], kept: Sequence[KeptSample]) -> Iterator[_Map]:
    for c in compared:
        if kept and c.tensor in kept[0].at_points:
            shape = kept[0].at_points[c.tensor].shape
            if c.has_masks(shape):
                yield _Map(c.tensor, shape[c.axis], c)


def _single(graph: Graph, tensors: Collection[str], kept: Sequence[KeptSample]) -> Iterator[_Map]:
    made_by = graph.producers()
    for v in dict.fromkeys(p.value for p in graph.outputs):
        if v.name not in tensors or not is_map(v.shape, LEAST_SIDE) or not kept:
            continue
        node = maker_of(v, made_by)
        if node is None:
            continue
        logits = definition(node.op).heavy
        if not logits and not computes(node, *PROBABILITY):
            continue
        maps = [s.at_points[v.name] for s in kept]
        maps = [probabilities(x) for x in maps] if logits else maps
        inside = float(np.mean([np.mean(x > THRESHOLD) for x in maps]))
        if LEAST_SHARE <= inside <= 1 - LEAST_SHARE and are_certain(maps):
            yield _Map(v.name, logits=logits)
