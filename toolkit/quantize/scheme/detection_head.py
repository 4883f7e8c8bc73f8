"""Detection heads: the arithmetic after the last weights, such as box decoding.

Its tensors contain values of very different magnitude (logits, offsets, exponentials, coordinates),
so int8 is inaccurate there, and int16 or float32 cost little.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...format.schema import BinaryFn, UnaryFn
from ...ir import Graph, Node, Value
from ...numerics import IN_INTEGERS, INT8, INTEGERS, PRECISIONS, Precision
from ...ops import computes, definition, is_a
from ...ops.move.concat import Concat
from ...ops.norm.softmax import makes_shares
from .emit import ROOM_INT16
from .front_end import is_square
from .moves import since_weights
from .options import Ranges
from .qparams import activation_params

COARSEST_SHARE = 4 / 256
"""Maximum step of a probability; in int8 on its own it has a quarter of that."""
FEWEST_STEPS = 12
"""Minimum number of steps over the range of each tensor in a concatenated output."""

MOST_COMPARED, REDUCED = 1024, 8
"""Maximum size of an input that is compared with its reconstruction, and the minimum factor by
which the comparison is reduced."""

PROBABILITY = (UnaryFn.Sigmoid, UnaryFn.HardSigmoid)
"""What computes probabilities of yes."""
_DECODING = (BinaryFn.Add, BinaryFn.Sub, BinaryFn.Mul, BinaryFn.Div, BinaryFn.Pow)


def detection_head(graph: Graph) -> frozenset[str]:
    """Outputs of the nodes after the last weights, if these combine several tensors.

    Empty if the tail only moves, normalizes or applies one function, for which int8 is accurate. A
    decoded softmax belongs to it, with its product with constants (soft-argmax): an expectation
    over many positions needs accurate small probabilities.
    """
    shares = _shares_of(graph.nodes)
    tail = _tail(graph, shares)
    decoded = _with_shares(tail, _follow_decoding(tail, shares), shares)
    return frozenset(v.name for n in decoded for v in n.outputs if v.dtype == np.float32)


def joins_of_shares(graph: Graph, ranges: Ranges) -> dict[tuple[Node, Precision], str]:
    """The precisions at which a common scale has too few steps for probabilities that a node
    concatenates with other numbers, and why."""
    steps = {
        (node, p): step_at(ranges.get(node.outputs[0].name), p)
        for node in joining_shares(graph)
        for p in PRECISIONS.values()
    }
    why = "it concatenates probabilities with larger numbers, and their common scale has steps of"
    return {at: f"{why} {step:.2g}" for at, step in steps.items() if step > COARSEST_SHARE}


def joins_of_sizes(graph: Graph, ranges: Ranges) -> dict[tuple[Node, Precision], str]:
    """The precisions at which a common scale has too few steps for the smallest tensor that a node
    after the last weights concatenates, and why."""
    found: dict[tuple[Node, Precision], str] = {}
    for node in _tail(graph):
        seen = [ranges.get(v.name) for v in node.dynamic_inputs]
        spans = [high - low for low, high in filter(None, seen) if high > low]
        if not is_a(node, Concat) or len(spans) < 2:
            continue
        for p in PRECISIONS.values():
            step = step_at(ranges.get(node.output.name), p)
            if step * FEWEST_STEPS > min(spans):
                why = "it concatenates tensors of different magnitude, and the smallest would have"
                found[node, p] = f"{why} {min(spans) / step:.1f} steps"
    return found


def distances(graph: Graph) -> dict[tuple[Node, Precision], str]:
    """Nodes that compute the distance of an input from its reconstruction, or of features from the
    normal ones (a sum of squares, as in the logarithm of a density), as anomaly detectors do, and
    why they have no integer form: the distance of an anomaly exceeds all calibrated ranges."""
    weighed, makes = behind_weights(graph), graph.producers()
    found: dict[Node, int] = {}
    for node in _tail(graph):
        read = node.dynamic_inputs
        sizes = [found[makes[v]] for v in read if v in makes and makes[v] in found]
        apart = len(read) == 2 and len(weighed.intersection(read)) == 1
        if sizes:
            found[node] = max(sizes)
        elif apart and computes(node, BinaryFn.Sub) and node.output.type.size <= MOST_COMPARED:
            found |= dict.fromkeys(_behind(makes, [v for v in read if v not in weighed]), 0)
            found[node] = node.output.type.size
    if not any(n.output.type.size * REDUCED <= size for n, size in found.items()):
        found = {}
    found |= dict.fromkeys(_features_apart(graph, weighed, makes), 0)
    why = "it computes a distance, which exceeds this range for anomalies"
    return {(node, p): why for node in found for p in IN_INTEGERS}


def _features_apart(
    graph: Graph, weighed: Collection[Value], makes: Mapping[Value, Node]
) -> list[Node]:
    """The nodes after the last weights that compute an output of one number from squares of what
    weights make."""
    ends = [p.value for p in graph.outputs if p.value.type.size == 1]
    leading, touched, found = set(_behind(makes, ends)), set[Value](), list[Node]()
    for node in _tail(graph):
        squares = is_square(node) and node.input(0) in weighed and node.input(0).type.size > 1
        if node in leading and (squares or not touched.isdisjoint(node.dynamic_inputs)):
            found.append(node)
            touched.update(node.outputs)
    if touched.isdisjoint(ends):
        return []
    squared = [v for n in found if is_square(n) for v in n.dynamic_inputs]
    return [*found, *since_weights(squared, makes)]


def behind_weights(graph: Graph) -> set[Value]:
    """The tensors that depend on weights."""
    found: set[Value] = set()
    for node in graph.nodes:
        if definition(node.op).heavy or not found.isdisjoint(node.dynamic_inputs):
            found.update(node.outputs)
    return found


def _behind(makes: Mapping[Value, Node], values: Sequence[Value]) -> list[Node]:
    """All nodes that contribute to these values."""
    found: dict[Node, None] = {}
    left = [makes[v] for v in values if v in makes]
    while left:
        node = left.pop()
        if node not in found:
            found[node] = None
            left += [makes[v] for v in node.dynamic_inputs if v in makes]
    return list(found)


def joining_shares(graph: Graph) -> list[Node]:
    """The nodes after the last weights that concatenate probabilities with other numbers (scores
    and boxes in one output), and that move the result."""
    shares: set[Value] = set()
    joined: set[Value] = set()
    found: list[Node] = []
    for node in _tail(graph):
        read = node.dynamic_inputs
        moves, whole = definition(node.op).shared, shares.issuperset(read)
        kept = whole and (moves or computes(node, BinaryFn.Mul))
        if kept or makes_shares(node) or computes(node, *PROBABILITY):
            shares.update(node.outputs)
        elif moves and not (shares | joined).isdisjoint(read):
            joined.update(node.outputs)
            found.append(node)
    return found


def step_at(seen: tuple[float, float] | None, precision: Precision) -> float:
    """The step of a tensor of this range; 0 without a finite range, and of floats."""
    if seen is None or precision.activations not in INTEGERS or not np.all(np.isfinite(seen)):
        return 0.0
    room = 1.0 if precision.activations == INT8 else ROOM_INT16
    return activation_params(seen[0] * room, seen[1] * room, precision.activations).scalar


def _tail(graph: Graph, shares: Collection[Value] = ()) -> list[Node]:
    """The nodes after the last weights, in order of execution; nodes that weight `shares` do not
    count as weights."""
    after: list[Node] = []
    feeds_weights: set[Value] = set()
    for node in reversed(graph.nodes):
        weighed = definition(node.op).heavy and node.input(0) not in shares
        if weighed or any(v in feeds_weights for v in node.outputs):
            feeds_weights |= {v for v in node.inputs if v is not None}
        else:
            after.append(node)
    return after[::-1]


def _shares_of(nodes: list[Node]) -> set[Value]:
    """Outputs of softmax, and of nodes that move them."""
    found: set[Value] = set()
    for node in nodes:
        moved = definition(node.op).shared and found.issuperset(node.dynamic_inputs)
        if makes_shares(node) or moved:
            found.update(node.outputs)
    return found


def _with_shares(tail: list[Node], decoded: list[Node], shares: set[Value]) -> list[Node]:
    """These nodes, with the nodes that compute and move the softmax outputs that they read."""
    found = set(decoded)
    for node in reversed(tail):
        read = any(v in n.inputs for n in found for v in node.outputs)
        if read and shares.issuperset(node.outputs):
            found.add(node)
    return [n for n in tail if n in found]


def _follow_decoding(tail: list[Node], shares: set[Value]) -> list[Node]:
    """The nodes of the tail that decode, and all nodes after them."""
    touched: set[Value] = set()
    found: list[Node] = []
    for node in tail:
        by_element = computes(node, *_DECODING) and not any(
            v is not None and v.const is not None and v.const.size == 1 for v in node.inputs
        )
        expected = definition(node.op).heavy and node.input(0) in shares
        if by_element or expected or any(v in touched for v in node.inputs if v is not None):
            found.append(node)
            touched.update(node.outputs)
    return found
