"""Numbers that hang on which elements a ranking chose: the boxes that a detector keeps.

Two candidates that change places exchange all their numbers, however alike their scores are. So
such numbers do not show how far the floats that were ranked, and those that were picked, are off.
"""

from __future__ import annotations

from ...ir import Graph, Value
from ...numerics import FLOAT
from ...ops import definition, is_a
from ...ops.move.gather import Gather
from ...ops.reduction.arg_max import ArgMax
from ...ops.selection.non_max_suppression import NonMaxSuppression
from ...ops.selection.non_zero import NonZero
from ...ops.selection.top_k import TopK

_RANKS = (TopK, NonMaxSuppression, NonZero, ArgMax)


def selected(graph: Graph) -> frozenset[Value]:
    """The floats that are made of places which a ranking gives, with no weights behind it, where
    floats that the network computes are picked at such places; else none: the votes of neighbours
    are constants.

    The values that TopK gives are not among them: sorted, they follow what they are sorted from.
    Nor are peaks, where others become 0: that two of them are alike is an error.
    """
    computed = {v for node in graph.nodes for v in node.outputs if v.dtype == FLOAT}
    hanging: set[Value] = set()
    picked = False
    for node in graph.nodes:
        if is_a(node, *_RANKS):
            hanging.update(v for v in node.outputs if v.dtype != FLOAT)
        if not definition(node.op).heavy and not hanging.isdisjoint(node.dynamic_inputs):
            hanging.update(node.outputs)
        if is_a(node, Gather):
            picked |= node.input(1) in hanging and node.input(0) in computed
    return frozenset(hanging & computed if picked else ())
