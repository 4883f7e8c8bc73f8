"""Values -> buffers: who shares memory with whom.

A Reshape's output is its input's memory. An operator that reads before it writes takes over an
input of the same size that nobody needs any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..ir import Graph, Node, Value
from ..ops import definition, is_a, is_view
from ..ops.control.regions import Region
from .memory import Buffer
from .regions import loops


def runs_nothing(node: Node) -> bool:
    """True for an operator that only renames memory."""
    return is_view(node)


def assign(
    graph: Graph, order: Sequence[Node], home: Mapping[Value, Value] = MappingProxyType({})
) -> tuple[list[Buffer], dict[Value, int]]:
    """Buffers for this order of execution, and the buffer of each value that is not constant;
    `home` are values that lie where another does. A loop keeps what it reads of before it until its
    end.

    Steps count the operators that run; step 0 is before the first, so that all inputs are
    written when a run starts, and outputs live past the last. States have buffers too, of
    persistent memory.
    """
    last_use: dict[int, int] = {}
    first: list[int] = []
    size: list[int] = []
    buffer_of: dict[Value, int] = {}
    end = len(order) + 1

    def new(value: Value, step: int) -> None:
        buffer_of[value] = len(size)
        size.append(value.type.nbytes)
        first.append(step)

    # When is each value's memory, as opposed to the value, last read? Renames pass the question on.
    reads: dict[Value, int] = {}
    for port in graph.outputs:
        reads[port.value] = end
    for state in graph.states:
        reads[state.held] = end
    made: dict[Value, int] = {}
    for step, node in enumerate(order, 1):
        for v in node.outputs:
            made.setdefault(v, step)
    around = list(loops(order))

    def until(v: Value, step: int) -> int:
        ends = (end for begin, end in around if made.get(v, 0) < begin <= step <= end)
        return max(ends, default=step)

    for step, node in reversed(list(enumerate(order, 1))):
        for v in node.outputs if is_a(node, Region) else ():
            reads[v] = max(reads.get(v, 0), step)
        for v in node.dynamic_inputs:
            reads[v] = max(reads.get(v, 0), until(v, step))
            if runs_nothing(node):
                reads[v] = max(reads[v], until(v, reads.get(node.output, 0)))

    def extend(value: Value, step: int) -> None:
        i = buffer_of[value]
        last_use[i] = max(last_use.get(i, 0), step, reads.get(value, 0))

    for value in (*(p.value for p in graph.inputs), *(s.held for s in graph.states)):
        new(value, 0)
        extend(value, 0)
    for state in graph.states:
        buffer_of[state.store.output] = buffer_of[state.held]
    for step, node in enumerate(order, 1):
        if runs_nothing(node):
            buffer_of[node.output] = buffer_of[node.input(0)]
            extend(node.output, step)
            continue
        for i, v in enumerate(node.outputs):
            if v in buffer_of:  # a state
                continue
            if v in home:
                buffer_of[v] = buffer_of[home[v]]
                extend(v, step)
                continue
            taken = _takes_over(node, step, buffer_of, last_use, size) if i == 0 else None
            if taken is None:
                new(v, step)
            else:
                buffer_of[v] = taken
            extend(v, step)
    buffers = [Buffer(size[i], first[i], last_use[i]) for i in range(len(size))]
    return buffers, buffer_of


def _takes_over(
    node: Node, step: int, buffer_of: dict[Value, int], last_use: dict[int, int], size: list[int]
) -> int | None:
    for i in definition(node.op).inplace:
        v = node.inputs[i] if i < len(node.inputs) else None
        if v is None or v.const is not None or v.type.nbytes != node.output.type.nbytes:
            continue
        held = buffer_of[v]
        # Another input may live in the same memory only as the very same value.
        others = [w for w in node.dynamic_inputs if w is not v and buffer_of[w] == held]
        if last_use[held] == step and not others:
            return held
    return None
