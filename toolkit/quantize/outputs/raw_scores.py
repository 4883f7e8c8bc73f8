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
"""Least number of places with scores, and of the numbers that another output has at each."""
CERTAIN, CERTAIN_SHARE = 0.1, 0.75
"""Least share of probabilities this close to 0 or 1 in scores and masks; images have fewer."""
MOST_FOUND, MOST_AT_PLACE = 0.25, 0.5
"""Maximum mean of the probabilities, and of their sum at a place: most places have nothing. Logits
of a softmax have the background there."""


def raw_scores(graph: Graph) -> dict[Value, int]:
    """The outputs of one number or several per place, computed by weights alone, beside another
    output that has at least LEAST_OF_BOX at each of these places; and how many numbers that is.
    `are_scores` says whether samples look like it."""
    made_by = graph.producers()
    floats = [p for p in graph.outputs if p.value.dtype == FLOAT]
    found: dict[Value, int] = {}
    for p in floats:
        classes = {n for other in floats if (n := _numbers_beside_box(p, other))}
        fewest = min(classes, default=p.value.type.size)
        if p.value.type.size >= LEAST_PLACES * fewest and _is_weighted(p.value, made_by):
            found[p.value] = fewest
    return found


def are_scores(samples: Sequence[Array], classes: int) -> bool:
    """Whether logits are those of probabilities that are nearly all certain, and some of yes; of
    so many `classes` at each place."""
    likely = [probabilities(x) for x in samples]
    if not any((x > 0.5).any() for x in likely):
        return False
    mean = float(np.mean([x.mean() for x in likely]))
    return mean <= min(MOST_FOUND, MOST_AT_PLACE / classes) and are_certain(likely)


def are_certain(samples: Sequence[Array]) -> bool:
    """Whether most probabilities are close to 0 or 1."""
    parts = [np.mean(np.abs(x - 0.5) >= 0.5 - CERTAIN) for x in samples]
    return float(np.mean(parts)) >= CERTAIN_SHARE


def probabilities(logits: Array) -> NDArray[np.float64]:
    """Their sigmoid."""
    found: NDArray[np.float64] = 0.5 + 0.5 * np.tanh(0.5 * logits.astype(np.float64))
    return found


def _numbers_beside_box(scores: Port, boxes: Port) -> int:
    """How many numbers the scores have at a place, if the shapes differ in that alone; 1 without an
    axis for them, 0 if the other output has other places, or no box."""
    one, many = tuple(scores.shape), tuple(boxes.shape)
    one = (*one, 1) if len(one) == len(many) - 1 else one
    if len(one) != len(many):
        return 0
    apart = [(a, b) for a, b in zip(one, many, strict=True) if a != b]
    return apart[0][0] if len(apart) == 1 and apart[0][1] >= LEAST_OF_BOX else 0


def _is_weighted(v: Value, made_by: Mapping[Value, Node]) -> bool:
    node = maker_of(v, made_by)
    if node is None:
        return False
    op = definition(node.op)
    joined = op.shared and all(_is_weighted(x, made_by) for x in node.dynamic_inputs)
    return op.heavy or joined
