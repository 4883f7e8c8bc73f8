"""Outputs with probabilities of yes or no, of which the calibration samples show one answer only.

The range of a logit that is calibrated on noise alone ends where the noise ends. A detector of a
spoken word with that range never detects the word, and no figure of these samples shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....calibration import TensorStats
from ...ir import Array, Graph
from ...ops import computes, definition
from ..scheme.detection_head import PROBABILITY
from ..scheme.options import Range
from .evaluation_points import REACH, THRESHOLD, maker_of, shows_one_answer


@dataclass(frozen=True)
class OneSided:
    """A graph output whose probabilities are all `below` THRESHOLD, or all above."""

    output: str
    below: bool

    def in_words(self) -> str:
        other = "above" if self.below else "below"
        return (
            f"no calibration sample gives '{self.output}' a probability {other} {THRESHOLD:g}; "
            "such samples are not judged, and their ranges are a guess: add some"
        )


def one_sided(
    graph: Graph, stats: Mapping[str, TensorStats], samples: Sequence[Mapping[str, Array]]
) -> tuple[list[OneSided], dict[str, Range]]:
    """The vectors of probabilities among the outputs with one answer only by the `stats` of all
    tensors, and by tensor name the ranges that they and their logits need for the other one.

    `samples` are values of the outputs.
    """
    made_by = graph.producers()
    found, least = list[OneSided](), dict[str, Range]()
    for port in graph.outputs:
        v = port.value
        node = maker_of(v, made_by)
        vector = max(v.shape, default=1) == v.type.size
        if node is None or not vector or not computes(node, *PROBABILITY):
            continue
        seen = stats.get(node.output.name)
        if seen is None or not seen.count or not samples:
            continue
        below = seen.maximum < THRESHOLD
        if not below and seen.minimum <= THRESHOLD:
            continue
        if not shows_one_answer([x[v.name] for x in samples]):
            continue
        found.append(OneSided(port.name, below))
        while v is not node.output:
            least[v.name] = 0.0, 1.0
            v = made_by[v].input(0)
        least[v.name] = 0.0, 1.0
        logit = node.input(0)
        least[logit.name] = (0.0, REACH) if below else (-REACH, 0.0)
        while (maker := made_by.get(logit)) and definition(maker.op).shared:
            if len(maker.inputs) > 1:
                break
            logit = maker.input(0)
            least[logit.name] = least[node.input(0).name]
    return found, least
