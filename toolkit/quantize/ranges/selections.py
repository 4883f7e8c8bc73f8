"""Numbers that hang on which elements a ranking chose: the boxes that a detector keeps.

Two candidates that change places exchange all their numbers, however alike their scores are. So
such numbers do not show how far the floats that were ranked, and those that were picked, are off.
The same holds for peaks, the elements that equal the largest around them, where others become 0.
"""

from __future__ import annotations

from ...format.schema import BinaryFn, CompareFn
from ...ir import Graph, Value
from ...numerics import FLOAT
from ...ops import computes, definition, is_a
from ...ops.elementwise.where import Where
from ...ops.move.gather import Gather
from ...ops.reduction.arg_max import ArgMax
from ...ops.selection.non_max_suppression import NonMaxSuppression
from ...ops.selection.non_zero import NonZero
from ...ops.selection.top_k import TopK

_RANKS = (TopK, NonMaxSuppression, NonZero, ArgMax)


def selected(graph: Graph) -> frozenset[Value]:
    """The floats that hang on a ranking of others, with no weights behind it, where floats that the
    network computes are picked by it; else none: the votes of neighbours are constants.

    The values that TopK gives are not among them: sorted, they follow what they are sorted from.
    """
    computed = {v for node in graph.nodes for v in node.outputs if v.dtype == FLOAT}
    hanging: set[Value] = set()
    peaks: set[Value] = set()
    picked = False
    for node in graph.nodes:
        read = set(node.dynamic_inputs)
        if is_a(node, *_RANKS):
            hanging.update(v for v in node.outputs if v.dtype != FLOAT)
        if computes(node, *CompareFn) and len(read & computed) == 2:
            peaks.update(node.outputs)
        if definition(node.op).heavy:
            continue
        if not peaks.isdisjoint(read):
            peaks.update(node.outputs)
        hanging |= peaks
        if not hanging.isdisjoint(read):
            hanging.update(node.outputs)
        if is_a(node, Gather):
            picked |= node.input(0) in computed and node.input(1) in hanging
        elif is_a(node, Where) or computes(node, BinaryFn.Mul):
            picked |= not peaks.isdisjoint(read) and not computed.isdisjoint(read - hanging)
    return frozenset(hanging & computed if picked else ())
