"""Rewrites a float graph for int8 without changing its float results."""

from __future__ import annotations

from dataclasses import replace

from ...ir import Graph, Node, Value
from ...ops import definition, is_a
from ...ops.reduction.arg_max import ArgMax
from .given import is_given, mark_given
from .wide_weights import split_wide_weights


def prepare(graph: Graph) -> Graph:
    """A copy in which an arg-max reads the input of its softmax, and values are marked with the
    quantization parameters that the model contains."""
    copy = copy_graph(graph)
    mark_given(copy)
    if is_given(copy):
        split_wide_weights(copy)
    made_by = copy.producers()
    for node in copy.nodes:
        _skip_softmax(node, made_by)
    _drop_unread(copy)
    return copy


def prepared_floats(graph: Graph) -> Graph:
    """As `prepare`, to run in float32: without the marks, which operators take for integers."""
    return copy_graph(prepare(graph), marks=False)


def copy_graph(graph: Graph, marks: bool = True) -> Graph:
    """A copy of the graph that shares the constants, with or without quantization parameters."""
    new: dict[Value, Value] = {}

    def value(v: Value) -> Value:
        if v.const is not None:
            return v
        return new.setdefault(v, Value(v.name, v.type, None, v.quant if marks else None))

    inputs = [replace(p, value=value(p.value)) for p in graph.inputs]
    nodes = [
        Node(
            n.op,
            [None if v is None else value(v) for v in n.inputs],
            [value(v) for v in n.outputs],
            dict(n.attrs),
            n.name,
        )
        for n in graph.nodes
    ]
    outputs = [replace(p, value=value(p.value)) for p in graph.outputs]
    return Graph(
        nodes, inputs, outputs, empty_inputs=graph.empty_inputs, empty_outputs=graph.empty_outputs
    )


def _skip_softmax(node: Node, made_by: dict[Value, Node]) -> None:
    if not is_a(node, ArgMax):
        return
    source = made_by.get(node.input(0))
    if source is None or not definition(source.op).keeps_order:
        return
    rank = len(source.output.shape)
    if source.attrs.get("axis", -1) % rank == node.attrs.get("axis", 0) % rank:
        node.inputs[0] = source.input(0)


def _drop_unread(graph: Graph) -> None:
    needed = graph.output_values()
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs):
            kept.append(node)
            needed |= {v for v in node.inputs if v is not None}
    graph.nodes = kept[::-1]
