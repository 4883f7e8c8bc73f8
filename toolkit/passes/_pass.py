"""What a pass is, and how passes are run: until quiet, verified after each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from ..ir import Graph, Node
from ..ops.control.regions import bodies
from ..verify import verify
from ._links import OTHER_LAYOUT, Links
from .cleanup.own_outputs import OwnOutputs

ROUNDS = 64
"""More rounds than any sane graph needs; beyond, two passes undo each other."""


class Pass(Protocol):
    """One rewrite of the graph, in place, that keeps its meaning."""

    @property
    def name(self) -> str: ...

    def run(self, graph: Graph) -> bool:
        """Whether the graph changed."""


class NodePass(ABC):
    """A pass that looks at one node at a time, in order of execution."""

    name: ClassVar[str]

    @abstractmethod
    def rewrite(self, links: Links, node: Node) -> bool:
        """Rewrite around `node`; whether anything changed."""

    def run(self, graph: Graph) -> bool:
        links = Links(graph)
        changed = False
        for node in list(graph.nodes):
            if links.has(node):
                changed |= self.rewrite(links, node)
        if changed:
            graph.sort()
        return changed


class UntilQuiet:
    """Passes in turn, again and again, until none changes anything. Two that undo each other are a
    bug: what they leave after ROUNDS is as right as any other form, and is kept unless `strict`."""

    strict: ClassVar[bool] = False

    def __init__(self, name: str, passes: Sequence[Pass]) -> None:
        self.name, self.passes = name, tuple(passes)

    def run(self, graph: Graph) -> bool:
        changed = False
        for _ in range(ROUNDS):
            # A list, not any() of a generator: every pass has its turn in every round.
            if not any([_verified(step, graph) for step in self.passes]):
                return changed
            changed = True
        if self.strict:
            raise AssertionError(f"'{self.name}' is not quiet after {ROUNDS} rounds")
        return changed


def run_passes(graph: Graph, passes: Sequence[Pass]) -> bool:
    """Run each pass once, in order, on the graph and those inside of its nodes; whether the graph
    changed. Raises IllegalGraph on a bug."""
    for inside in [body for node in graph.nodes for body in bodies(node)]:
        own = [OwnOutputs(inside=True) if isinstance(p, OwnOutputs) else p for p in passes]
        run_passes(inside, own)
    verify(graph, "import")
    changed = any([_verified(step, graph) for step in passes])
    _name_outputs(graph)
    _name_by_tensors(graph)
    verify(graph, "naming the outputs")
    return changed


def _verified(step: Pass, graph: Graph) -> bool:
    changed = step.run(graph)
    if changed and not isinstance(step, UntilQuiet):
        verify(graph, f"pass '{step.name}'")
    return changed


def _name_outputs(graph: Graph) -> None:
    """Give the values of outputs the ports' names, which rewrites may have moved off them."""
    by_name = {v.name: v for v in graph.values() if v.const is None}
    named = {port.value for port in graph.inputs}
    for port in graph.outputs:
        value = port.value
        if value in named:
            continue
        named.add(value)
        other = by_name.get(port.name)
        if other is not None and other is not value:
            if other in named:
                continue
            other.name, by_name[value.name] = value.name, other
        value.name = port.name
        by_name[port.name] = value


def _name_by_tensors(graph: Graph) -> None:
    """Where only one layout of an ONNX tensor is left, it gets the tensor's own name."""
    names = {v.name for v in graph.values() if v.const is None}
    names |= {port.name for port in (*graph.inputs, *graph.outputs)}
    for node in graph.nodes:
        for v in node.outputs:
            plain, mark, _ = v.name.partition(OTHER_LAYOUT)
            if mark and plain not in names:
                names.add(plain)
                v.name = plain
        node.name = node.output.name
