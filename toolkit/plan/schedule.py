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
_ENOUGH = 2 * _BEAM
_WORST = (sys.maxsize,) * 5


_Move = tuple[int, int, int, int]
"""An operator whose inputs are made: its place in the graph, its bit, the bytes of its outputs, and
those less what it is the last to use."""


@dataclass
class _State:
    """A way to a set of operators that are done."""

    done: int  # bit set of node indices
    ready: tuple[_Move, ...]
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
    """What an operator needs and frees. Sets of operators are bit sets."""

    place: int
    bit: int
    needs: int
    made: int  # bytes of its outputs
    ends: list[tuple[int, int]]  # what it may be the last to use: bytes, and all who read it
    followers: list[tuple[int, int]]  # and what they need

    def move(self, done: int) -> _Move:
        """This step where the operators `done` are."""
        left = ~(done | self.bit)
        freed = sum(nbytes for nbytes, readers in self.ends if not readers & left)
        return self.place, self.bit, self.made, self.made - freed

    def leaves_last(self, done: int) -> int:
        """Operators that alone are left to read what this one, among those `done`, reads too."""
        alone = 0
        for _, readers in self.ends:
            left = readers & ~done
            if not left & (left - 1):
                alone |= left
        return alone


def schedule(graph: Graph) -> list[Node]:
    """The graph's nodes in a legal order; the given one unless another needs less memory."""
    nodes, steps = graph.nodes, _steps(graph)
    given = start = _State(
        0,
        tuple(step.move(0) for step in steps if not step.needs),
        sum(p.value.type.nbytes for p in graph.inputs),
        0,
    )
    for i in range(len(nodes)):
        given = _after(given, i, steps)
    if given.peak <= _least(graph):
        return list(nodes)
    beam = [start]
    for _ in nodes:
        beam = _next_beam(beam, steps, given.peak)
        if not beam:  # none needs less
            return list(nodes)
    return [nodes[i] for i in beam[0].order()]


def _least(graph: Graph) -> int:
    """The peak that no order is below: what one operator reads and makes."""
    held = {v for n in graph.nodes for v in n.outputs} | {p.value for p in graph.inputs}
    parts = (held.intersection(n.dynamic_inputs).union(n.outputs) for n in graph.nodes)
    return max((sum(v.type.nbytes for v in part) for part in parts), default=0)


def _after(state: _State, i: int, steps: list[_Step]) -> _State:
    """The state when the i-th operator, which is ready, is done as well."""
    step, done = steps[i], state.done | steps[i].bit
    ready = [m for m in state.ready if m[0] != i]
    if alone := step.leaves_last(done):
        ready = [steps[m[0]].move(done) if m[1] & alone else m for m in ready]
    ready += [steps[n].move(done) for n, needs in step.followers if not needs & ~done]
    _, _, made, grows = step.move(state.done)
    peak = max(state.alive + made, state.peak)
    return _State(done, tuple(ready), state.alive + grows, peak, state, i)


def _next_beam(beam: list[_State], steps: list[_Step], limit: int) -> list[_State]:
    """The best states of one operator more whose peak is below the limit, the best first.

    Among equals the order whose first operator that differs comes first in the graph.
    """
    following: dict[int, tuple[int, int, int, int, int]] = {}
    last: tuple[int, ...] = (limit,)  # or no better than the last of the best so far
    for at, state in enumerate(beam):
        rank, done, alive, highest = state.rank, state.done, state.alive, state.peak
        for i, bit, made, grows in state.ready:
            top = alive + made
            new = (top if top > highest else highest), alive + grows, rank, i, at
            if new < last and new < following.get(done | bit, _WORST):
                following[done | bit] = new
        if len(following) > _ENOUGH and (at & (at + 1)) == 0:
            last = nsmallest(_BEAM, following.values())[-1]
    best = nsmallest(_BEAM, following.values())
    found = [_after(beam[at], i, steps) for *_, i, at in best]
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
            i,
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
