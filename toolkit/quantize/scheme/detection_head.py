"""The arithmetic after the last weights: box decoding and the like.

Its tensors hold values of very different sizes in one range (logits, offsets, exponentials,
coordinates), so int8 loses much there, and int16 or float32 cost little.
"""

from __future__ import annotations

import numpy as np

from ...format.schema import BinaryFn
from ...ir import Graph, Node, Value
from ...ops import computes, definition

_DECODING = (BinaryFn.Add, BinaryFn.Sub, BinaryFn.Mul, BinaryFn.Div, BinaryFn.Pow)


def detection_head(graph: Graph) -> frozenset[str]:
    """Outputs of the nodes after the last weights, where those compute on several tensors.

    Empty when the tail only moves, normalises or applies one function: int8 serves that well.
    """
    after: list[Node] = []
    feeds_weights: set[Value] = set()
    for node in reversed(graph.nodes):
        weighed = definition(node.op).heavy
        if weighed or any(v in feeds_weights for v in node.outputs):
            feeds_weights |= {v for v in node.inputs if v is not None}
        else:
            after.append(node)
    decoded = _follow_decoding(after[::-1])
    return frozenset(v.name for n in decoded for v in n.outputs if v.dtype == np.float32)


def _follow_decoding(tail: list[Node]) -> list[Node]:
    """The nodes of the tail that decode, and all that follow them."""
    touched: set[Value] = set()
    found: list[Node] = []
    for node in tail:
        by_element = computes(node, *_DECODING) and not any(
            v is not None and v.const is not None and v.const.size == 1 for v in node.inputs
        )
        if by_element or any(v in touched for v in node.inputs if v is not None):
            found.append(node)
            touched.update(node.outputs)
    return found
