"""The order of execution with the smallest peak of live activations.

A beam search over orders: a state is the set of operators done; of two ways to the same set the
one with the lower peak survives. A chain has one order and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Graph, Node, Value

_BEAM = 48


@dataclass
class _State:
    """A way to a set of operators that are done."""

    done: int  # bit set of node indices
    ready: tuple[int, ...]  # whose inputs are made
    alive: int  # bytes
    peak: int
    before: _State | None = None
    last: int = -1
    rank: int = 0  # of its order among those in the beam

    @property
    def place(self) -> tuple[int, int]:
        """Sorts states of as many operators by their orders, by the first that differs."""
        return (self.before.rank if self.before else 0), self.last

    def order(self) -> list[int]:
        """The operators done, one after the other."""
        found: list[int] = []
        state = self
        while state.before is not None:
            found.append(state.last)
            state = state.before
        return found[::-1]


def schedule(graph: Graph) -> list[Node]:
    """The graph's nodes in a legal order; the given one unless another needs less memory."""
    nodes = graph.nodes
    makers = {v: i for i, n in enumerate(nodes) for v in n.outputs}
    needs = [{makers[v] for v in n.dynamic_inputs if v in makers} for n in nodes]
    followers: list[list[int]] = [[] for _ in nodes]
    readers: dict[Value, int] = {}
    for i, n in enumerate(nodes):
        for before in needs[i]:
            followers[before].append(i)
        for v in n.dynamic_inputs:
            readers[v] = readers.get(v, 0) | 1 << i
    kept = graph.output_values()
    masks = [sum(1 << before for before in found) for found in needs]

    def step(state: _State, i: int) -> _State:
        node, done = nodes[i], state.done | 1 << i
        alive = state.alive + sum(v.type.nbytes for v in node.outputs)
        peak = max(state.peak, alive)
        for v in set(node.dynamic_inputs) | set(node.outputs):
            if v not in kept and not readers.get(v, 0) & ~done:
                alive -= v.type.nbytes
        freed = [n for n in followers[i] if not masks[n] & ~done]
        ready = (*(n for n in state.ready if n != i), *freed)
        return _State(done, ready, alive, peak, state, i)

    ready = tuple(i for i, found in enumerate(needs) if not found)
    given = start = _State(0, ready, sum(p.value.type.nbytes for p in graph.inputs), 0)
    for i in range(len(nodes)):
        given = step(given, i)
    beam = [start]
    for _ in nodes:
        following: dict[int, _State] = {}
        for state in beam:
            for i in state.ready:
                new = step(state, i)
                old = following.get(new.done)
                if old is None or (new.peak, new.place) < (old.peak, old.place):
                    following[new.done] = new
        beam = sorted(following.values(), key=lambda s: (s.peak, s.alive, s.place))[:_BEAM]
        for rank, state in enumerate(sorted(beam, key=lambda s: s.place)):
            state.rank = rank
    best = beam[0]
    return list(nodes) if given.peak <= best.peak else [nodes[i] for i in best.order()]
