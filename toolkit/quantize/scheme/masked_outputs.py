"""Outputs with a mask: numbers far below all others mark what is excluded, as actions that are not
allowed. A scale common to both would leave the others hardly any steps."""

from __future__ import annotations

from ...format.schema import BinaryFn
from ...ir import Graph, Node, Value
from ...numerics import PRECISIONS, Precision
from ...ops import computes, is_a
from ...ops.elementwise.where import Where
from ...passes.quantized.finite_masks import MASKED
from .detection_head import behind_weights, step_at
from .moves import maker_of
from .options import Ranges

FEWEST_STEPS = 64
"""Of what is not masked."""


def masking(graph: Graph) -> dict[Node, Value]:
    """The nodes that make outputs from a tensor that weights make, and may mask it: a choice of a
    constant that masks, or a sum with a tensor that no weights make. With what they mask."""
    made_by, weighed = graph.producers(), behind_weights(graph)
    found: dict[Node, Value] = {}
    for v in graph.output_values():
        node = maker_of(v, made_by)
        masked = None if node is None else _masked(node)
        if masked is not None and node is not None and masked in weighed:
            found[node] = masked
        elif node is not None and computes(node, BinaryFn.Add):
            summed = [x for x in node.dynamic_inputs if x in weighed]
            if len(summed) == 1:
                found[node] = summed[0]
    return found


def masked_outputs(graph: Graph, ranges: Ranges) -> dict[tuple[Node, Precision], str]:
    """The precisions at which what a node masks has too few steps, and why."""
    found: dict[tuple[Node, Precision], str] = {}
    for node, x in masking(graph).items():
        seen = ranges.get(x.name)
        if seen is None or not (_masked(node) or _adds_mask(node, x, ranges)):
            continue
        for p in PRECISIONS.values():
            step = step_at(ranges.get(node.output.name), p)
            if step * FEWEST_STEPS > seen[1] - seen[0] > 0:
                steps = (seen[1] - seen[0]) / step
                found[node, p] = (
                    f"it masks an output, of which the rest would have {steps:.1f} steps"
                )
    return found


def _masked(node: Node) -> Value | None:
    """What a choice takes if it does not take a constant that masks."""
    if not is_a(node, Where):
        return None
    consts = [i for i in (1, 2) if (c := node.input(i).const) is not None and (c <= MASKED).all()]
    return node.input(3 - consts[0]) if len(consts) == 1 else None


def _adds_mask(node: Node, x: Value, ranges: Ranges) -> bool:
    others = [v for v in node.inputs if v is not None and v is not x]
    return any(
        (r := ranges.get(v.name)) is not None and r[0] <= MASKED and r[1] == 0 for v in others
    )
