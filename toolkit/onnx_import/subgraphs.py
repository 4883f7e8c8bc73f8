"""A graph and those inside of its nodes: what is read, what it is called, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from heapq import heappop, heappush

import onnx


def live_nodes(
    graph: onnx.GraphProto, outputs: Iterable[str] | None = None
) -> list[onnx.NodeProto]:
    """The nodes that an output depends on, or one of these `outputs`, in order."""
    wanted = set(outputs) if outputs is not None else {o.name for o in graph.output}
    kept: list[onnx.NodeProto] = []
    for node in reversed(graph.node):
        if wanted.isdisjoint(node.output):
            continue
        kept.append(node)
        wanted.update(node.input)
        for sub in _subgraphs(node):
            wanted.update(_names_read(sub))
    return kept[::-1]


def has_subgraphs(node: onnx.NodeProto) -> bool:
    """Whether the node is an If, a Loop or the like."""
    return any(True for _ in _subgraphs(node))


def _subgraphs(node: onnx.NodeProto) -> Iterable[onnx.GraphProto]:
    for a in node.attribute:
        if a.HasField("g"):
            yield a.g
        yield from a.graphs


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """These nodes and those inside of them."""
    for node in nodes:
        yield node
        for sub in _subgraphs(node):
            yield from all_nodes(sub.node)


def _names_read(graph: onnx.GraphProto) -> set[str]:
    names = {o.name for o in graph.output}
    for node in graph.node:
        names.update(node.input)
        for sub in _subgraphs(node):
            names |= _names_read(sub)
    return names


def all_names(graph: onnx.GraphProto) -> set[str]:
    """Every name of a tensor."""
    names = {v.name for v in (*graph.input, *graph.output, *graph.initializer)}
    for node in graph.node:
        names.update(node.output)
        for sub in _subgraphs(node):
            names |= all_names(sub)
    return names


def sort_nodes(nodes: MutableSequence[onnx.NodeProto]) -> None:
    """Put nodes that stand before one whose output they read behind it; the others keep their
    order. ONNX asks for that, onnxruntime does not, but inside of nodes. Cycles are left."""
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needs = [{makers[n] for n in _read_by(node) if n in makers} for node in nodes]
    if any(i <= max(of, default=-1) for i, of in enumerate(needs)):
        order, all_of_them = _order(needs), list(nodes)
        if len(order) == len(all_of_them):
            del nodes[:]
            nodes.extend(all_of_them[i] for i in order)


def _read_by(node: onnx.NodeProto) -> set[str]:
    return set(node.input).union(*map(_names_read, _subgraphs(node)))


def _order(needs: Sequence[set[int]]) -> list[int]:
    """The first number whose `needs` have all been taken, and so on (Kahn 1962, "Topological
    sorting of large networks"); without those that need each other."""
    waiting = [len(of) for of in needs]
    needed_by: list[list[int]] = [[] for _ in needs]
    for i, of in enumerate(needs):
        for at in of:
            needed_by[at].append(i)
    ready, order = [i for i, count in enumerate(waiting) if not count], list[int]()
    while ready:
        order.append(heappop(ready))
        for i in needed_by[order[-1]]:
            waiting[i] -= 1
            if not waiting[i]:
                heappush(ready, i)
    return order
