"""What runs on int8 and what stays float32.

A unit is a node, or a chain of elementwise nodes that int8 runs as one table. Every unit that can
be int8 is, except where that only adds conversions between float neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..ir import Graph, Node, Value
from ..ops import definition
from ..ops._opdef import OpDef
from .chains import Chain, find_chains

FLOAT = np.dtype(np.float32)


@dataclass(eq=False)
class Unit:
    """`why_float` is None for int8; "" for a unit without float tensors, which is as it was."""

    node: Node
    chain: Chain | None
    why_float: str | None

    @property
    def int8(self) -> bool:
        return self.why_float is None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The float nodes it stands for."""
        return self.chain.nodes if self.chain else (self.node,)

    @property
    def inputs(self) -> list[Value]:
        """Dynamic inputs that are float in the float graph."""
        return [v for v in self.node.dynamic_inputs if v.dtype == FLOAT]

    @property
    def outputs(self) -> list[Value]:
        return [v for v in self.node.outputs if v.dtype == FLOAT]

    @property
    def shared(self) -> bool:
        return self.chain is None and definition(self.node.op).shared


def find_units(
    graph: Graph,
    known: Collection[str],
    keep_float: Collection[str] = (),
    refused: Mapping[Node, str] | None = None,
) -> list[Unit]:
    """The units in order of execution, each with its verdict.

    `known` are the tensors whose ranges are known; the nodes that make those in `keep_float`, and
    those in `refused` (with the reason), stay float.
    """
    chains = {c.nodes[-1]: c for c in find_chains(graph)}
    inside = {n for c in chains.values() for n in c.nodes}
    units: list[Unit] = []
    for node in graph.nodes:
        if node in chains:
            chain = chains[node]
            table = Node("Lut", [chain.root], [chain.end], {}, node.name)
            units.append(Unit(table, chain, None))
        elif node not in inside:
            units.append(Unit(node, None, None))
    for unit in units:
        unit.why_float = (refused or {}).get(unit.node) or _problem(unit, known, keep_float)
    _avoid_crossings(graph, units)
    return units


def _problem(unit: Unit, known: Collection[str], keep_float: Collection[str]) -> str | None:
    if not unit.inputs and not unit.outputs:
        return ""
    if any(v.name in keep_float for n in unit.nodes for v in n.outputs):
        return "it loses too much on int8"
    if not unit.inputs:
        return "it reads no float tensor"
    for v in unit.inputs + unit.outputs:
        if v.name not in known:
            return f"the range of '{v.name}' is not known"
    if unit.chain:
        return None
    op = definition(unit.node.op)
    if type(op).integer is OpDef.integer:
        return "it has no integer form"
    return op.integer_problem(unit.node)


def _is_light(unit: Unit) -> bool:
    heavy = definition(unit.node.op).weight is not None or unit.node.op == "MatMul"
    return unit.chain is not None or not heavy


def _avoid_crossings(graph: Graph, units: list[Unit]) -> None:
    """Turn cheap int8 units float while that lowers the number of conversions."""
    made_by = {v: u for u in units for v in u.outputs}
    readers: dict[Value, list[Unit]] = {}
    for u in units:
        for v in u.inputs:
            readers.setdefault(v, []).append(u)
    light = [u for u in units if u.int8 and _is_light(u)]
    changed = True
    while changed:
        changed = False
        for u in light:
            if not u.int8:
                continue
            sources = [made_by[v] for v in set(u.inputs) if v in made_by]
            sinks = [[r for r in readers.get(v, []) if r.why_float != ""] for v in u.outputs]
            as_int8 = sum(not s.int8 for s in sources)
            as_int8 += sum(any(not r.int8 for r in rs) for rs in sinks)
            as_float = sum(s.int8 for s in sources) + sum(any(r.int8 for r in rs) for rs in sinks)
            if as_float < as_int8:
                u.why_float, changed = "its neighbours are float", True
