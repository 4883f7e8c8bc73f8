"""Scores of a detector that leaves their sigmoid to the caller.

Such logits are a few hundred below 0 where nothing is: these are nearly all of their energy and
make no difference to what is detected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...ir import Array, Graph, Node, Port, Value
from ...numerics import FLOAT
from ...ops import definition
from ..scheme.moves import maker_of

LEAST_PLACES, LEAST_OF_BOX = 32, 4
"""Least number of scores, and of the numbers that another output has at the place of each."""
CERTAIN, CERTAIN_SHARE = 0.1, 0.75
"""Least share of probabilities this close to 0 or 1 in scores and masks; images have fewer."""
MOST_FOUND = 0.25
"""Maximum mean of the probabilities: most places of an image have nothing."""


def raw_scores(graph: Graph) -> frozenset[Value]:
    """The outputs of one number per place, computed by weights alone, beside another output that
    has several at each of these places. `are_scores` says whether samples look like it."""
    made_by = graph.producers()
    floats = [p for p in graph.outputs if p.value.dtype == FLOAT]
    return frozenset(
        p.value
        for p in floats
        if p.value.type.size >= LEAST_PLACES
        and any(_has_boxes(p, other) for other in floats)
        and _is_weighted(p.value, made_by)
    )


def are_scores(samples: Sequence[Array]) -> bool:
    """Whether logits are those of probabilities that are nearly all certain, and some of yes."""
    likely = [probabilities(x) for x in samples]
    if not any((x > 0.5).any() for x in likely):
        return False
    return are_certain(likely) and bool(np.mean([x.mean() for x in likely]) <= MOST_FOUND)


def are_certain(samples: Sequence[Array]) -> bool:
    """Whether most probabilities are close to 0 or 1."""
    parts = [np.mean(np.abs(x - 0.5) >= 0.5 - CERTAIN) for x in samples]
    return float(np.mean(parts)) >= CERTAIN_SHARE


def probabilities(logits: Array) -> NDArray[np.float64]:
    """Their sigmoid."""
    found: NDArray[np.float64] = 0.5 + 0.5 * np.tanh(0.5 * logits.astype(np.float64))
    return found


def _has_boxes(scores: Port, boxes: Port) -> bool:
    """Whether the shapes differ in one axis: that of the numbers at a place, or a last one more."""
    one, many = tuple(scores.shape), tuple(boxes.shape)
    one = (*one, 1) if len(one) == len(many) - 1 else one
    if len(one) != len(many):
        return False
    apart = [(a, b) for a, b in zip(one, many, strict=True) if a != b]
    return len(apart) == 1 and apart[0][0] == 1 and apart[0][1] >= LEAST_OF_BOX


def _is_weighted(v: Value, made_by: Mapping[Value, Node]) -> bool:
    node = maker_of(v, made_by)
    if node is None:
        return False
    op = definition(node.op)
    joined = op.shared and all(_is_weighted(x, made_by) for x in node.dynamic_inputs)
    return op.heavy or joined
