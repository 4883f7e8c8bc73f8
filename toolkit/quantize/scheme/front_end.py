"""Signal processing in front of the network: magnitudes, logarithms, normalization by statistics.

Squares, roots, logarithms and quotients of sums have a dynamic range of many powers of ten; int8
represents two. Their outputs are no larger than the network's input, so int16 or float32 cost
little there.
"""

from __future__ import annotations

from ...format.schema import BinaryFn, ReduceFn, UnaryFn
from ...ir import Graph, Node, Value
from ...ops import computes, definition
from .macs import macs_of
from .quantizable_groups import unscaled

SPECTRAL = (
    UnaryFn.Log, UnaryFn.Sqrt, UnaryFn.Exp, BinaryFn.Pow, ReduceFn.Mean, ReduceFn.SumSquare,
)  # fmt: skip
PART = 0.1
"""Maximum share of the multiply-accumulates before a front end (filters of a spectrum)."""


def front_end(graph: Graph) -> tuple[frozenset[str], frozenset[str]]:
    """The outputs of the front end's nodes, and their inputs (outputs of filters, and model
    inputs); empty if there is no front end, or no weights after it."""
    most = PART * macs_of(graph)
    made_by, feeds = graph.producers(), set[Value]()
    for node in reversed(graph.nodes):
        if definition(node.op).weight is not None or not feeds.isdisjoint(node.outputs):
            feeds.update(node.dynamic_inputs)
    work: dict[Value, dict[Node, int]] = {}
    found: set[Node] = set()
    for node in graph.nodes:
        before = {n: m for v in node.dynamic_inputs for n, m in work.get(v, {}).items()}
        macs = macs_of(Graph([node], [], []))
        if macs:
            before[node] = macs
        if sum(before.values()) > most:
            continue
        work.update(dict.fromkeys(node.outputs, before))
        early = all(v in work or v not in made_by for v in node.dynamic_inputs)
        if early and not feeds.isdisjoint(node.outputs) and _is_spectral(node):
            found |= _leading_to(node, made_by)
    bare = {n for n in found if definition(n.op).weight is None}
    names = frozenset(v.name for n in bare for v in n.outputs)
    return names, frozenset(v.name for n in found for v in n.dynamic_inputs) - names


def feature_scaler(graph: Graph) -> frozenset[str]:
    """The outputs of nodes that scale features of very different magnitude."""
    names = set(unscaled(graph))
    reads = (n for n in graph.nodes if any(v.name in names for v in n.dynamic_inputs))
    return frozenset(n.output.name for n in reads)


def _is_spectral(node: Node) -> bool:
    square = computes(node, BinaryFn.Mul) and node.inputs[0] is node.inputs[1]
    quotient = computes(node, BinaryFn.Div) and len(node.dynamic_inputs) == 2
    return square or quotient or computes(node, *SPECTRAL)


def _leading_to(node: Node, made_by: dict[Value, Node]) -> set[Node]:
    """A node and all nodes that it depends on."""
    found, todo = set[Node](), [node]
    while todo:
        n = todo.pop()
        if n not in found:
            found.add(n)
            todo += [made_by[v] for v in n.dynamic_inputs if v in made_by]
    return found
