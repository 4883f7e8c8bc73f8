"""What is computed of the leaf that a tree ends in becomes the leaf; sums of forests are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...format.schema import TreeAggregate
from ...ir import Array, Graph, Node, Port, Value
from ...numerics import OF_NUMPY
from ...ops.classical._forest import Forest, joined
from .._links import Links
from .._pass import NodePass

MOST_LEAVES = 1 << 14

Evaluate = Callable[[Graph, Sequence[Array]], list[Array]]
"""The output of a float graph with one input, of each of its values: a run, which passes cannot
start, since what builds a file stands above them."""


class LeafFunctions(NodePass):
    """1. Nodes that read nothing but the score of one tree, of one row, and end in one float number
    are a tree whose leaves are that number. So isolation forests look up how deep a leaf lies.
    2. The sum of two forests over the same row, which nobody else reads, is a forest of all trees.
    """

    name = "leaf functions"

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op == "Add":
            return _sum(links, node)
        if node.op != "TreeEnsemble" or node.output.type.size != 1:
            return False
        forest: Forest = node.attrs["forest"]
        if not _is_one_tree(forest):
            return False
        found = _region(links, node)
        if found is None:
            return False
        region, last = found
        base = np.float32(forest.base[0])
        scores = [np.float32(row[0][1] if row else 0.0) + base for row in forest.leaves]
        graph = _alone(node.output, region, last)
        shaped = [np.full(node.output.shape, s, np.float32) for s in scores]
        values = [float(v.item()) for v in self._evaluate(graph, shaped)]
        if not np.isfinite(values).all():
            return False
        made = replace(forest, leaves=[((0, v),) for v in values], base=np.zeros(1, np.float32))
        score = links.emit(node, "TreeEnsemble", node.inputs, {"forest": made}, last.name)
        if score.shape != last.shape:
            score = links.emit(node, "Reshape", [score], {"shape": last.shape}, last.name)
        reader = links.producer(last)
        assert reader is not None
        links.replace(reader, score)
        return True


def _is_one_tree(forest: Forest) -> bool:
    return (
        len(forest.trees) == 1
        and forest.targets == 1
        and not forest.step
        and len(forest.leaves) <= MOST_LEAVES
        and all(len(row) <= 1 for row in forest.leaves)
    )


def _region(links: Links, tree: Node) -> tuple[list[Node], Value] | None:
    """Nodes, in order, that depend on the score alone, and what others read of them, if that is one
    number; None if there are none, or others read more."""
    inside, region = {tree.output}, list[Node]()
    for node in links.graph.nodes:
        reads = set(node.dynamic_inputs)
        if reads and reads <= inside and _is_number(node):
            inside.add(node.output)
            region.append(node)
    ends = [
        v
        for v in [tree.output, *(n.output for n in region)]
        if links.is_output(v) or any(u not in region for u in links.users(v))
    ]
    if len(ends) != 1 or ends[0] is tree.output or ends[0].dtype != np.float32:
        return None
    return region, ends[0]


def _is_number(node: Node) -> bool:
    """Whether it makes one number, without a graph inside."""
    return (
        len(node.outputs) == 1
        and node.output.type.size == 1
        and node.op != "TreeEnsemble"
        and not any(isinstance(v, Graph) for v in node.attrs.values())
    )


def _alone(score: Value, region: list[Node], last: Value) -> Graph:
    """A graph of these nodes, which the score is fed to."""
    graph = Graph(list(region))
    graph.inputs = [Port("y", score, OF_NUMPY[score.dtype].onnx, score.shape)]
    graph.outputs = [Port(last.name, last, OF_NUMPY[last.dtype].onnx, last.shape)]
    return graph


def _sum(links: Links, node: Node) -> bool:
    if len(node.inputs) != 2 or any(v is None for v in node.inputs):
        return False
    a, b = (links.private(v, "TreeEnsemble") for v in node.inputs)
    if a is None or b is None or a is b or a.input(0) is not b.input(0):
        return False
    first, second = a.attrs["forest"], b.attrs["forest"]
    if a.output.shape != b.output.shape or first.targets != second.targets:
        return False
    if any(f.step or (f.aggregate != TreeAggregate.Sum and len(f.trees) > 1)
           for f in (first, second)):  # fmt: skip
        return False
    whole = joined(first, second)
    links.replace(node, links.emit(node, "TreeEnsemble", a.inputs, {"forest": whole},
                                   node.output.name))  # fmt: skip
    return True
