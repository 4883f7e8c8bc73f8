"""A graph and those inside of its nodes: what is read, and what it is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
