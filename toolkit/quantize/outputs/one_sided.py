"""Outputs of which the calibration samples show one answer only: yes or no, or one of the classes.

No figure of these samples shows what becomes of other answers. The range of a logit that is
calibrated on noise alone ends where the noise ends: a detector of a spoken word with that range
never detects the word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....calibration import TensorStats
from ...ir import Array, Graph, Node, Value
from ...ops import computes, definition
from ...ops.norm.softmax import compares_classes
from ..scheme.detection_head import PROBABILITY
from ..scheme.moves import maker_of, moved_from
from ..scheme.options import Range
from .evaluation_points import (
    EMPTY,
    REACH,
    THRESHOLD,
    EvaluationPoint,
    on_grid,
    shows_one_answer,
)


@dataclass(frozen=True)
class OneSided:
    """A graph output, or the tensor that it is computed from, and the only answer: a class, or
    probabilities below or above THRESHOLD."""

    output: str
    answer: str

    def in_words(self) -> str:
        return (
            f"all calibration samples have {self.answer} at '{self.output}'; samples with another "
            "answer are not judged, and may exceed the ranges: add some"
        )


BELOW, ABOVE = (f"probabilities {side} {THRESHOLD:g}" for side in ("below", "above"))


def one_class(
    graph: Graph, points: Sequence[EvaluationPoint], samples: Sequence[Mapping[str, Array]]
) -> list[OneSided]:
    """The tensors at which classes are compared, `points`, with the same class in all rows of
    several samples; by the name of the graph output that is their softmax."""
    names = {}
    made_by = graph.producers()
    for port in graph.outputs:
        node = maker_of(port.value, made_by)
        if node is not None and compares_classes(node):
            names[on_grid(node.input(0), made_by).name] = port.name
    axes = {p.tensor: p.axis for p in points if p.axis is not None}
    found: list[OneSided] = []
    for name, axis in axes.items():
        classes = set[int]()
        for s in samples:
            classes |= set(s[name].argmax(axis=axis).ravel().tolist())  # np.unique imports numpy.ma
            if len(classes) > 1:
                break
        if len(classes) == 1 and len(samples) > 1:
            found.append(OneSided(names.get(name, name), f"class {classes.pop()} alone"))
    return found


def one_sided(
    graph: Graph, stats: Mapping[str, TensorStats], samples: Sequence[Mapping[str, Array]]
) -> tuple[list[OneSided], dict[str, Range]]:
    """The outputs of which the samples show one answer only, and by tensor name the ranges that
    their probabilities and logits need for the other one.

    `stats` are of all samples, `samples` what some have at the evaluation points. Of a vector of
    probabilities either answer may be missing; of a map, also one that is joined with other
    tensors, yes: no sample has a detection. Where some maps of an output have detections, and
    others, such as those of large objects, none, the ranges of these have room for them.
    """
    made_by = graph.producers()
    found, least = list[OneSided](), dict[str, Range]()
    for port in graph.outputs:
        v = port.value
        parts = [_Part.of(*part, v, stats, samples) for part in _probabilities(v, made_by)]
        sides = {part.below for part in parts}
        whole = len(sides) == 1 and None not in sides
        if whole:
            found.append(OneSided(port.name, BELOW if parts[0].below else ABOVE))
        for part in parts:
            logits = _logits(part.node.input(0), made_by)
            if part.below or whole:
                least |= dict.fromkeys(part.moved, (0.0, 1.0))
                needed = (0.0, REACH) if part.below else (-REACH, 0.0)
                least |= {name: needed for names in logits for name in names}
            elif part.empty:
                for names in logits:
                    if names[0] in stats and stats[names[0]].maximum < 0:
                        least |= dict.fromkeys(names, (0.0, REACH))
    return found, least


@dataclass(frozen=True)
class _Part:
    """A node that computes probabilities of an output, the names of their tensors, and whether all
    are below THRESHOLD; None if both answers occur, or these are no answers. `empty`: a map with
    few detections or none."""

    node: Node
    moved: list[str]
    below: bool | None
    empty: bool = False

    @staticmethod
    def of(
        node: Node,
        moved: list[str],
        output: Value,
        stats: Mapping[str, TensorStats],
        samples: Sequence[Mapping[str, Array]],
    ) -> _Part:
        every = stats.get(moved[0])
        name = next((n for n in moved if samples and n in samples[0]), None)
        seen = [] if name is None else [s[name] for s in samples]
        if every is None or not seen:
            return _Part(node, moved, None)
        empty = float(np.mean([x.mean() for x in seen])) <= EMPTY
        one = every.maximum < THRESHOLD or every.minimum > THRESHOLD
        below = every.maximum < THRESHOLD
        if not one or not (shows_one_answer(seen) or (below and empty)):
            return _Part(node, moved, None, empty)
        vector = max(output.shape, default=1) == output.type.size
        return _Part(node, moved, below if vector or (below and empty) else None, empty)


def _logits(v: Value, made_by: Mapping[Value, Node]) -> Iterator[list[str]]:
    """The names of `v` and of what is moved to become it; of each tensor that is joined for that,
    the same."""
    moved = moved_from(v, made_by)
    yield [x.name for x in moved]
    node = made_by.get(moved[-1])
    if node is not None and definition(node.op).shared:
        for x in node.dynamic_inputs:
            yield from _logits(x, made_by)


def _probabilities(
    v: Value, made_by: Mapping[Value, Node], moved: tuple[str, ...] = ()
) -> Iterator[tuple[Node, list[str]]]:
    """The nodes that compute probabilities in `v`, and the names of the tensors that have them, the
    nearest first."""
    node = made_by.get(v)
    if node is None:
        return
    if computes(node, *PROBABILITY):
        yield node, [v.name, *moved]
    elif definition(node.op).shared:
        for x in node.dynamic_inputs:
            yield from _probabilities(x, made_by, (v.name, *moved))
