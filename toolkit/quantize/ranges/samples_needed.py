"""How many calibration samples show what others are like."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from ...ir import Graph, Node, Shape
from ...numerics import FLOAT
from ...ops import definition
from ..outputs.differences import past_weights

FEW = 10
"""Fewer samples do not determine a range: a new one exceeds each end with chance 1 / (n + 1). They
do not show that a model is good, nor by how much outputs of few numbers vary: a face detector
calibrated on three images without faces lost up to a third of its metric, a classifier that also
counts, on four samples, as much. Of 34 networks for sounds, sensors and tables on eight samples,
eight lost more than 2 % at 20 dB or more."""
FEW_ROWS = 30
"""The same of vectors of features, of which a sample shows each number once."""
FEW_REBUILT = 100
"""The same of an autoencoder for vectors. With 8 to 32 spectra of one to three recordings of a
machine, 11 of 24 calibrations of one had 20 dB or more on these samples, and less than 15 dB on
other recordings."""


def samples_needed(graph: Graph, rebuilt: Collection[str]) -> int:
    """The number of calibration samples below which a model is usable at best. `rebuilt` are the
    outputs that rebuild an input."""
    made_by = graph.producers()
    for v in made_by:
        if v.name in rebuilt and _is_row(v.shape):
            node: Node | None = made_by[v]
            while node is not None and definition(node.op).weight is None:
                node = made_by.get(node.dynamic_inputs[0]) if node.dynamic_inputs else None
            if node is None or _is_row(node.output.shape):
                return FEW_REBUILT
    rows = [p.value for p in graph.inputs if p.value.dtype == FLOAT and _is_row(p.shape)]
    reached = past_weights(graph, *rows)
    layers = [n for n in graph.nodes if definition(n.op).weight is not None]
    reads = (not reached.isdisjoint(n.dynamic_inputs) and _is_row(n.input(0).shape) for n in layers)
    return FEW_ROWS if any(reads) else FEW


def _is_row(shape: Shape) -> bool:
    """Whether it is one vector: each number has weights of its own. Weights that slide over a
    series or an image meet each of them in many places."""
    return prod(shape[:-1]) == 1
