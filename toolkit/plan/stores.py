"""Where in an order of execution states are stored: as soon as nothing reads the old one."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Graph, Node, Value
from .buffers import runs_nothing


def with_stores(graph: Graph, order: Sequence[Node]) -> list[Node]:
    """The order with the stores of the graph's states in it.

    A store goes behind what makes its source and behind all that reads the memory that it writes,
    at the end if that is an output's. The source then need not live to the end of the run.
    """
    if not graph.states:
        return list(order)
    home: dict[Value, Value] = {s.held: s.held for s in graph.states}
    last: dict[Value, int] = dict.fromkeys(home, -1)
    made: dict[Value, int] = {}
    for i, node in enumerate(order):
        for v in node.dynamic_inputs:
            if v in home:
                last[home[v]] = i
                if runs_nothing(node):
                    home[node.output] = home[v]
        made.update(dict.fromkeys(node.outputs, i))
    for port in graph.outputs:
        if port.value in home:
            last[home[port.value]] = len(order) - 1
    behind: dict[int, list[Node]] = {}
    for state in graph.states:
        source = state.store.input(0)
        at = max(last[state.held], made.get(source, -1))
        behind.setdefault(at, []).append(state.store)
    placed = list(behind.get(-1, []))
    for i, node in enumerate(order):
        placed += [node, *behind.get(i, [])]
    return placed
