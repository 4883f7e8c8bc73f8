"""Signal processing in front of the network: magnitudes, logarithms, normalization by statistics.

Squares, roots, logarithms and quotients of sums have a dynamic range of many powers of ten; int8
represents two. Their outputs are no larger than the network's input, so int16 or float32 cost
little there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...format.schema import BinaryFn, ReduceFn, UnaryFn
from ...ir import Graph, Node, Value
from ...ops import computes, definition
from .macs import macs_of
from .quantizable_groups import unscaled

SPECTRAL = (
    UnaryFn.Log, UnaryFn.Sqrt, UnaryFn.Exp, BinaryFn.Pow, ReduceFn.Mean, ReduceFn.SumSquare,
)  # fmt: skip
_SUMS = BinaryFn.Add, BinaryFn.Sub, BinaryFn.Mul, BinaryFn.Div, BinaryFn.Max, ReduceFn.Sum
PART = 0.1
"""Maximum share of the multiply-accumulates before a front end (filters of a spectrum). Powers of
filtered inputs have no limit: such networks are mostly a spectrum."""


def front_end(graph: Graph) -> tuple[frozenset[str], frozenset[str]]:
    """The outputs of the front end's nodes, and their inputs (outputs of filters, and model
    inputs); empty if there is no front end, or no weights after it. A network that only computes a
    spectrum is a front end as a whole."""
    most = PART * macs_of(graph)
    made_by, feeds = graph.producers(), set[Value]()
    for node in reversed(graph.nodes):
        if definition(node.op).weight is not None or not feeds.isdisjoint(node.outputs):
            feeds.update(node.dynamic_inputs)
    work: dict[Value, dict[Node, int]] = {}
    found, readers = set[Node](), graph.consumers()
    powers = _powers(graph)
    for node in graph.nodes:
        of_powers = bool(node.dynamic_inputs) and powers.issuperset(node.dynamic_inputs)
        before = {n: m for v in node.dynamic_inputs for n, m in work.get(v, {}).items()}
        macs = macs_of(Graph([node], [], []))
        if macs:
            before[node] = macs
        spectral = _is_spectral(node) and not _is_pooling(node, readers)
        if of_powers and spectral:
            found |= _leading_to(node, made_by)
        if sum(before.values()) > most:
            continue
        work.update(dict.fromkeys(node.outputs, before))
        early = all(v in work or v not in made_by for v in node.dynamic_inputs)
        if early and not feeds.isdisjoint(node.outputs) and spectral:
            found |= _leading_to(node, made_by)
    bare = {n for n in found if definition(n.op).weight is None}
    names = frozenset(v.name for n in bare for v in n.outputs)
    return names, frozenset(v.name for n in found for v in n.dynamic_inputs) - names


def bands(graph: Graph) -> frozenset[str]:
    """The outputs of layers with weights that read powers, such as the mel bands of a spectrum:
    their dynamic range is as large."""
    powers = _powers(graph)
    weighted = (n for n in graph.nodes if definition(n.op).weight is not None)
    return frozenset(n.output.name for n in weighted if powers.issuperset(n.dynamic_inputs))


def feature_scaler(graph: Graph) -> frozenset[str]:
    """The outputs of nodes that scale features of very different magnitude."""
    names = set(unscaled(graph))
    reads = (n for n in graph.nodes if any(v.name in names for v in n.dynamic_inputs))
    return frozenset(n.output.name for n in reads)


def _powers(graph: Graph) -> set[Value]:
    """Magnitudes of a spectrum: squares of linear functions of the inputs, their sums and roots."""
    signals, powers = {p.value for p in graph.inputs}, set[Value]()
    for node in graph.nodes:
        read, (low, high) = node.dynamic_inputs, _clamp(node)
        if not read or high < np.inf:
            continue
        if signals.issuperset(read) and low == -np.inf:
            if is_square(node):
                powers.update(node.outputs)
            elif _is_sum(node):
                signals.update(node.outputs)
        elif powers.issuperset(read) and (_is_sum(node) or computes(node, UnaryFn.Sqrt)):
            powers.update(node.outputs)
    return powers


def _clamp(node: Node) -> tuple[float, float]:
    return node.attrs.get("act_min", -np.inf), node.attrs.get("act_max", np.inf)


def is_square(node: Node) -> bool:
    """Whether it computes squares, or sums of them."""
    product = computes(node, BinaryFn.Mul) and node.inputs[0] is node.inputs[1]
    power = computes(node, BinaryFn.Pow) and node.input(1).const is not None
    return (
        product
        or (power and bool(np.all(node.input(1).const == 2)))
        or computes(node, ReduceFn.SumSquare)
    )


def _is_sum(node: Node) -> bool:
    """Whether the node moves elements, computes weighted sums with constant weights, or clamps from
    below."""
    product = computes(node, BinaryFn.Mul, BinaryFn.Div, BinaryFn.Max)
    op = definition(node.op)
    sums = op.shared or op.weight is not None or computes(node, *_SUMS)
    return sums and not (product and len(node.dynamic_inputs) > 1)


def _is_spectral(node: Node) -> bool:
    quotient = computes(node, BinaryFn.Div) and len(node.dynamic_inputs) == 2
    return is_square(node) or quotient or computes(node, *SPECTRAL)


def _is_pooling(node: Node, readers: Mapping[Value, Sequence[Node]]) -> bool:
    """Whether it is a mean that weights alone read, as in squeeze-and-excite: nothing is normalized
    by it."""
    waiting = list(node.outputs) if computes(node, ReduceFn.Mean) else []
    weighed = False
    while waiting:
        for reader in readers.get(waiting.pop(), []):
            if definition(reader.op).weight is not None:
                weighed = True
            elif definition(reader.op).shared and len(reader.dynamic_inputs) == 1:
                waiting += reader.outputs
            else:
                return False
    return weighed


def _leading_to(node: Node, made_by: dict[Value, Node]) -> set[Node]:
    """A node and all nodes that it depends on."""
    found, todo = set[Node](), [node]
    while todo:
        n = todo.pop()
        if n not in found:
            found.add(n)
            todo += [made_by[v] for v in n.dynamic_inputs if v in made_by]
    return found
