"""A graph and those inside of its nodes: what is read, what it is called, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from graphlib import CycleError, TopologicalSorter
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
        wanted |= _read_by(node)
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
    return {o.name for o in graph.output}.union(*map(_read_by, graph.node))


def _read_by(node: onnx.NodeProto) -> set[str]:
    return set(node.input).union(*map(_names_read, _subgraphs(node)))


def all_names(graph: onnx.GraphProto) -> set[str]:
    """Every name of a tensor."""
    names = {v.name for v in (*graph.input, *graph.output, *graph.initializer)}
    for node in graph.node:
        names.update(node.output)
        for sub in _subgraphs(node):
            names |= all_names(sub)
    return names


def sort_nodes(nodes: MutableSequence[onnx.NodeProto]) -> None:
    """Move nodes behind those whose outputs they read, if they are not; the order of the others
    stays. ONNX requires a sorted graph, onnxruntime only inside of nodes. Cycles are left."""
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needs = [{makers[n] for n in _read_by(node) if n in makers} for node in nodes]
    if all(max(of, default=-1) < i for i, of in enumerate(needs)):
        return
    sorter = TopologicalSorter(dict(enumerate(needs)))
    try:
        sorter.prepare()
    except CycleError:
        return
    unsorted, ready = list(nodes), list[int]()
    del nodes[:]
    while sorter.is_active():
        for i in sorter.get_ready():
            heappush(ready, i)
        first = heappop(ready)
        nodes.append(unsorted[first])
        sorter.done(first)
