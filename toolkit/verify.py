"""What a legal graph is: a table of rules, each a function whose docstring is the rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .ir import Graph, Value
from .ops import definition, is_known


class IllegalGraph(AssertionError):  # noqa: N818 - reads as what it is
    """A pass or the importer made a graph that breaks a rule: a bug in edgekit."""


Rule = Callable[[Graph], Iterator[str]]


def operators_are_known(graph: Graph) -> Iterator[str]:
    """Every node's operator is in the list and has at least one output."""
    for node in graph.nodes:
        if not is_known(node.op):
            yield f"{node} has an unknown operator"
        elif not node.outputs:
            yield f"{node} has no output"


def one_producer(graph: Graph) -> Iterator[str]:
    """Every value is made once: by one node, as a graph input, or as a constant."""
    made: set[Value] = set()
    for port in graph.inputs:
        if port.value in made or port.value.const is not None:
            yield f"input {port.value} is given twice or is constant"
        made.add(port.value)
    for node in graph.nodes:
        for v in node.outputs:
            if v in made or v.const is not None:
                yield f"{v} of {node} is made twice or is constant"
            made.add(v)


def in_order(graph: Graph) -> Iterator[str]:
    """Nodes read only what is constant or made before; outputs are made."""
    made = {port.value for port in graph.inputs}
    for node in graph.nodes:
        for v in node.dynamic_inputs:
            if v not in made:
                yield f"{node} reads {v}, which is not made before it"
        made.update(node.outputs)
    for port in graph.outputs:
        if port.value not in made:
            yield f"output '{port.name}' is {port.value}, which nothing makes"


def names_are_unique(graph: Graph) -> Iterator[str]:
    """No two computed values have one name, nor two ports of one side; no name is empty."""
    seen: dict[str, Value] = {}
    for v in graph.values():
        if v.const is not None:
            continue
        if not v.name:
            yield f"{v} has no name"
        elif seen.setdefault(v.name, v) is not v:
            yield f"two values are named '{v.name}'"
    for ports in (graph.inputs, graph.outputs):
        names = [port.name for port in ports]
        if len(set(names)) < len(names):
            yield f"ports share names: {names}"


def types_are_inferred(graph: Graph) -> Iterator[str]:
    """Outputs have the types that the operator infers from its inputs."""
    for node in graph.nodes:
        if not is_known(node.op):
            continue
        try:
            types = definition(node.op).infer(node)
        except ValueError as why:
            yield f"{node}: {why}"
            continue
        if types != [v.type for v in node.outputs]:
            yield f"{node} should make {types}"


def constants_match(graph: Graph) -> Iterator[str]:
    """A constant's array has the type of its value."""
    for v in graph.values():
        if v.const is not None and (v.const.dtype, v.const.shape) != (v.dtype, v.shape):
            yield f"constant {v} holds {v.const.dtype}{list(v.const.shape)}"


def ports_match(graph: Graph) -> Iterator[str]:
    """A port's shape has as many elements as its value: layouts may differ, contents not."""
    for port in (*graph.inputs, *graph.outputs):
        if int(np.prod(port.shape)) != port.value.type.size:
            yield f"port '{port.name}' {list(port.shape)} is {port.value}"


RULES: tuple[Rule, ...] = (
    operators_are_known,
    one_producer,
    in_order,
    names_are_unique,
    constants_match,
    types_are_inferred,
    ports_match,
)


def verify(graph: Graph, after: str) -> None:
    """Raise IllegalGraph, naming the step `after` which the graph is illegal and every breach."""
    breaches = [f"{rule.__doc__}: {text}" for rule in RULES for text in rule(graph)]
    if breaches:
        raise IllegalGraph(f"after {after}:\n  " + "\n  ".join(breaches))
