"""Which samples a file is explained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ..ir import Graph
from ..quantize import macs_of

Sample = TypeVar("Sample")

SAMPLES = 32
"""Samples, or batches as the model takes them, that are watched at most, spread evenly; also the
most on which remedies are tried."""
EXPLAINED, FEWEST = 16, 8
"""Samples at most, and of a large model, on which quantize explains what it made."""
WATCHED_WORK = 5e8
"""Multiply-accumulates of one run on each of these together, if they are more than FEWEST."""
ELEMENT_WORK = 20
"""What rounding one element of a tensor counts as, in multiply-accumulates."""


def watched(graph: Graph, samples: Sequence[Sample]) -> list[Sample]:
    """The samples, spread evenly, that a quantization of the optimized float `graph` is explained
    on."""
    most = min(EXPLAINED, max(FEWEST, int(WATCHED_WORK / work_of(graph))))
    return list(samples[:: -(-len(samples) // most)])


def work_of(graph: Graph) -> int:
    """Of one run on one sample, in multiply-accumulates."""
    elements = sum(v.type.size for n in graph.nodes for v in n.outputs)
    return max(macs_of(graph) + ELEMENT_WORK * elements, 1)
