"""Values selected by a ranking, such as the boxes that a detector keeps.

Two candidates with similar scores may swap places, which exchanges all their values. Such values
are no measure of the error of the ranked scores and of the values that were selected from.
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
    """The float tensors that depend on the indices of a ranking, without weights in between. Empty
    if no computed floats are selected by such indices: the votes of nearest neighbours are
    constants.

    Excluded are the values of TopK, which stay close to the sorted scores, and masked peaks, where
    two equal neighbours are an error.
    """
    computed = {v for node in graph.nodes for v in node.outputs if v.dtype == FLOAT}
    dependent: set[Value] = set()
    picked = False
    for node in graph.nodes:
        if is_a(node, *_RANKS):
            dependent.update(v for v in node.outputs if v.dtype != FLOAT)
        if not definition(node.op).heavy and not dependent.isdisjoint(node.dynamic_inputs):
            dependent.update(node.outputs)
        if is_a(node, Gather):
            picked |= node.input(1) in dependent and node.input(0) in computed
    return frozenset(dependent & computed if picked else ())
