"""The order of execution with the smallest peak of live activations.

A beam search over orders: a state is the set of operators done; of two ways to the same set the
one with the lower peak survives. A chain has one order and costs nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from heapq import nsmallest

from ..ir import Graph, Node, Value

_BEAM = 48
_WORST = (sys.maxsize,) * 5


@dataclass
class _State:
    """A way to a set of operators that are done."""

    done: int  # bit set of node indices
    ready: tuple[int, ...]  # whose inputs are made
    alive: int  # bytes
    peak: int
    before: _State | None = None
    last: int = -1
    rank: int = 0  # of its order among those in the beam, by the first operator that differs

    def order(self) -> list[int]:
        """The operators done, one after the other."""
        found: list[int] = []
        state = self
        while state.before is not None:
            found.append(state.last)
            state = state.before
        return found[::-1]


@dataclass(frozen=True)
class _Step:
    """What an operator does to a state. Sets of operators are bit sets."""

    bit: int
    needs: int
    made: int  # bytes of its outputs
    ends: list[tuple[int, int]]  # what it may be the last to use: bytes, and all who read it
    followers: list[tuple[int, int]]  # and what they need

    def memory(self, state: _State) -> tuple[int, int]:
        """The peak so far, and what is alive after it."""
        left, alive = ~(state.done | self.bit), state.alive + self.made
        peak = alive if alive > state.peak else state.peak
        for nbytes, readers in self.ends:
            if not readers & left:
                alive -= nbytes
        return peak, alive

    def after(self, state: _State, i: int, peak: int, alive: int) -> _State:
        """The state when this operator, the i-th, is done as well."""
        done = state.done | self.bit
        freed = [n for n, needs in self.followers if not needs & ~done]
        ready = (*(n for n in state.ready if n != i), *freed)
        return _State(done, ready, alive, peak, state, i)


def schedule(graph: Graph) -> list[Node]:
    """The graph's nodes in a legal order; the given one unless another needs less memory."""
    nodes, steps = graph.nodes, _steps(graph)
    given = start = _State(
        0,
        tuple(i for i, step in enumerate(steps) if not step.needs),
        sum(p.value.type.nbytes for p in graph.inputs),
        0,
    )
    for i, step in enumerate(steps):
        given = step.after(given, i, *step.memory(given))
    beam = [start]
    for _ in nodes:
        beam = _next_beam(beam, steps)
    best = beam[0]
    return list(nodes) if given.peak <= best.peak else [nodes[i] for i in best.order()]


def _next_beam(beam: list[_State], steps: list[_Step]) -> list[_State]:
    """The best states of one operator more, the best first.

    Among equals the order whose first operator that differs comes first in the graph.
    """
    following: dict[int, tuple[int, int, int, int, int]] = {}
    for at, state in enumerate(beam):
        rank, done = state.rank, state.done
        for i in state.ready:
            step = steps[i]
            peak, left = step.memory(state)
            new = peak, left, rank, i, at
            if new < following.get(done | step.bit, _WORST):
                following[done | step.bit] = new
    best = nsmallest(_BEAM, following.values())
    found = [steps[i].after(beam[at], i, peak, left) for peak, left, _, i, at in best]
    orders = sorted(range(len(best)), key=lambda k: best[k][2:4])
    for rank, k in enumerate(orders):
        found[k].rank = rank
    return found


def _steps(graph: Graph) -> list[_Step]:
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
    masks = [sum(1 << before for before in found) for found in needs]
    kept = graph.output_values()
    return [
        _Step(
            1 << i,
            masks[i],
            sum(v.type.nbytes for v in node.outputs),
            [
                (v.type.nbytes, readers.get(v, 0))
                for v in set(node.dynamic_inputs) | set(node.outputs)
                if v not in kept
            ],
            [(n, masks[n]) for n in followers[i]],
        )
        for i, node in enumerate(nodes)
    ]
