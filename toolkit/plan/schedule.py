"""The order of execution with the smallest peak of live activations.

A beam search over orders: a state is the set of operators done; of two ways to the same set the
one with the lower peak survives. A chain has one order and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Graph, Node, Value

_BEAM = 48


@dataclass(frozen=True)
class _State:
    done: int  # bit set of node indices
    alive: int  # bytes
    peak: int
    order: tuple[int, ...]


def schedule(graph: Graph) -> list[Node]:
    """The graph's nodes in a legal order; the given one unless another needs less memory."""
    nodes = graph.nodes
    index = {id(n): i for i, n in enumerate(nodes)}
    producer = {v: index[id(n)] for v, n in graph.producers().items()}
    needs = [
        sum({1 << producer[v] for v in n.inputs if v is not None and v in producer}) for n in nodes
    ]
    readers: dict[Value, int] = {}
    for i, n in enumerate(nodes):
        for v in n.dynamic_inputs:
            readers[v] = readers.get(v, 0) | 1 << i
    kept = graph.output_values()

    def step(state: _State, i: int) -> _State:
        node, done = nodes[i], state.done | 1 << i
        alive = state.alive + sum(v.type.nbytes for v in node.outputs)
        peak = max(state.peak, alive)
        for v in set(node.dynamic_inputs) | set(node.outputs):
            if v not in kept and not readers.get(v, 0) & ~done:
                alive -= v.type.nbytes
        return _State(done, alive, peak, (*state.order, i))

    start = _State(0, sum(p.value.type.nbytes for p in graph.inputs), 0, ())
    given = start
    for i in range(len(nodes)):
        given = step(given, i)
    beam = [start]
    for _ in nodes:
        following: dict[int, _State] = {}
        for state in beam:
            for i in range(len(nodes)):
                if state.done >> i & 1 or needs[i] & ~state.done:
                    continue
                new = step(state, i)
                old = following.get(new.done)
                if old is None or (new.peak, new.order) < (old.peak, old.order):
                    following[new.done] = new
        beam = sorted(following.values(), key=lambda s: (s.peak, s.alive, s.order))[:_BEAM]
    best = beam[0]
    return list(nodes) if given.peak <= best.peak else [nodes[i] for i in best.order]
