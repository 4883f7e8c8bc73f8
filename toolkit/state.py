"""State: inputs of a model that take what its outputs had in the run before.

Such pairs leave the interface of the file: a session keeps them in its persistent memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .errors import UserError
from .ir import Graph, Node, Port, QuantParams, State, TensorType, Value
from .ops import definition, is_view
from .ops.convert.quantize import converted
from .ops.move.movement import Copy

States = Sequence[tuple[str, str]] | str
"""Pairs of an input and the output that it follows, or AUTO."""

AUTO = "auto"
"""In place of pairs: those that `plain_pairs` finds."""

_ENDINGS = ("n", "N", "_n", "_out", "_next", "_new", ".out", "Out", "_o")
_BEGINNINGS = ("next_", "new_", "out_", "output_")


def plain_pairs(graph: Graph) -> dict[str, str]:
    """Input -> output where one is plainly the other's next state. Types agree, and names say so (h
    and hn, h0 and hn, state and next_state, cache_in and cache_out), or recurrent layers start with
    the one and end with the other. No input and no output is in two pairs.
    """
    by_name = _matched(graph, lambda x, y: y.name in _next_names(x.name))
    starts, ends = _layer_states(graph)
    by_layer = _matched(graph, lambda x, y: bool(starts[x.name]) and starts[x.name] == ends[y.name])
    named = set(by_name.values())
    return by_name | {i: o for i, o in by_layer.items() if i not in by_name and o not in named}


def likely_pairs(graph: Graph) -> dict[str, str]:
    """`plain_pairs`, and those that alone among inputs and outputs have their type."""
    by_type = _matched(graph, lambda x, y: True)
    return by_type | plain_pairs(graph)


def _matched(graph: Graph, fits: Callable[[Port, Port], bool]) -> dict[str, str]:
    """Input -> output for pairs of equal type that fit each other and no other."""
    found: dict[str, str] = {}
    for x in graph.inputs:
        fitting = [y.name for y in graph.outputs if _problem(x, y) is None and fits(x, y)]
        if len(fitting) == 1:
            found[x.name] = fitting[0]
    taken = list(found.values())
    return {i: o for i, o in found.items() if taken.count(o) == 1}


_Ends = frozenset[tuple[int, Value]]
"""States of recurrent layers: the number of the node, and what it starts with."""


def _layer_states(graph: Graph) -> tuple[dict[str, _Ends], dict[str, _Ends]]:
    """What the inputs start with, moved alone, and what is so moved to the outputs, by port."""
    before: dict[Value, set[tuple[int, Value]]] = {}
    after: dict[Value, set[tuple[int, Value]]] = {}
    moves = [n for n in graph.nodes if definition(n.op).shared or is_view(n)]
    for i, node in enumerate(graph.nodes):
        for x, ys in definition(node.op).last_states(node).items():
            before[x] = before.get(x, set()) | {(i, x)}
            for y in ys:
                after[y] = after.get(y, set()) | {(i, x)}
    for node in moves:
        for x in node.dynamic_inputs:
            after[node.output] = after.get(node.output, set()) | after.get(x, set())
    for node in reversed(moves):
        for x in node.dynamic_inputs:
            before[x] = before.get(x, set()) | before.get(node.output, set())
    return (
        {p.name: frozenset(before.get(p.value, ())) for p in graph.inputs},
        {p.name: frozenset(after.get(p.value, ())) for p in graph.outputs},
    )


def _next_names(name: str) -> set[str]:
    made = {name + end for end in _ENDINGS} | {begin + name for begin in _BEGINNINGS}
    for end in ("0", "_0", "_in", ".in", "_prev", "In"):
        if name.endswith(end):
            made |= {name.removesuffix(end) + e for e in _ENDINGS}
    for begin in ("in_", "input_", "prev_", "old_"):
        if name.startswith(begin):
            rest = name.removeprefix(begin)
            made |= {rest, *(b + rest for b in _BEGINNINGS), *(rest + e for e in _ENDINGS)}
    return made


def _problem(x: Port, y: Port) -> str | None:
    """Why `y` cannot be the next of `x`; None if it can."""
    if tuple(x.shape) != tuple(y.shape):
        return f"its shape {list(y.shape)} is not {list(x.shape)}"
    if x.onnx_dtype != y.onnx_dtype:
        return "their element types differ"
    return None


def note_of(pairs: Mapping[str, str]) -> str:
    """What to say of pairs that could be kept and are not."""
    options = " ".join(f"--state {i}={o}" for i, o in pairs.items())
    return f"these look like state: {options} (or --state auto) keeps it in the session"


def mark_states(graph: Graph, wanted: States) -> Graph:
    """The graph whose inputs say which output they follow (Port.follows); a note of what was found.

    `wanted` are pairs (input, output), AUTO, or nothing: then what looks like state is noted.
    Raises UserError for names that are not there, types that differ, and names in two pairs.
    """
    plain = plain_pairs(graph)
    pairs = list(plain.items()) if isinstance(wanted, str) else list(wanted)
    if wanted == AUTO and not pairs:
        raise UserError("--state auto: no input and output look like state; give --state IN=OUT")
    outputs = {p.name: p for p in graph.outputs}
    by_name = {p.name: i for i, p in enumerate(graph.inputs)}
    inputs = list(graph.inputs)
    for x, y in pairs:
        for name, known, what in ((x, by_name, "input"), (y, outputs, "output")):
            if name not in known:
                there = ", ".join(known)
                raise UserError(f"--state {x}={y}: no {what} '{name}'; there are: {there}")
        port = inputs[by_name[x]]
        why = _problem(port, outputs[y])
        if port.follows or y in (p.follows for p in inputs):
            why = "one of them is already in another pair"
        if why:
            raise UserError(f"--state {x}={y}: {why}")
        inputs[by_name[x]] = replace(port, follows=y)
    notes = list(graph.notes)
    if wanted == AUTO:
        notes.append("state kept in the session: " + ", ".join(f"{i}={o}" for i, o in pairs))
    elif plain and not pairs:
        notes.append(note_of(plain))
    if pairs and len(inputs) == len(pairs):
        raise UserError("--state: every input would be state; at least one must remain")
    return replace(graph, inputs=inputs, notes=notes)


def keep_states(graph: Graph) -> Graph:
    """The graph as its file has it: inputs that follow outputs are held between runs, and neither
    is a port. `graph.states` says what is stored where at the end of a run.
    """
    held = {p.name: p for p in graph.inputs if p.follows}
    if not held:
        return graph
    made_by = graph.producers()
    outputs = {p.name: p.value for p in graph.outputs}
    memory = {p.value for p in held.values()}
    nodes, states = list(graph.nodes), []
    for port in held.values():
        y = outputs[port.follows]
        if _source(y, made_by) in memory:  # stores overwrite it
            y = _appended(nodes, _copy(y, Value(f"{y.name}.kept", y.type, None, y.quant)))
        kept = Value(f"{port.name}.next", port.value.type, None, port.value.quant)
        states.append(State(port.name, port.follows, port.value, _store(y, kept)))
    followed = {p.follows for p in held.values()}
    inputs = [p for p in graph.inputs if not p.follows]
    kept_outputs = [p for p in graph.outputs if p.name not in followed]
    if not kept_outputs:
        raise UserError("--state: every output would be state; at least one must remain")
    return replace(
        graph, nodes=nodes, inputs=inputs, outputs=kept_outputs, states=[*graph.states, *states]
    )


def _source(v: Value, made_by: Mapping[Value, Node]) -> Value:
    """What has the memory of `v`: a Reshape has its input's."""
    while v in made_by and is_view(made_by[v]):
        v = made_by[v].input(0)
    return v


def _appended(nodes: list[Node], node: Node) -> Value:
    nodes.append(node)
    return node.output


def _copy(x: Value, y: Value) -> Node:
    attrs = {"dims": (x.type.size,), "strides": (1,), "offset": 0, "shape": y.shape}
    return Node(Copy.name, [x], [y], attrs, y.name)


def _store(x: Value, y: Value) -> Node:
    """`x` written where `y` is, in its quantization."""
    if x.dtype == y.dtype and x.quant == y.quant:
        return _copy(x, y)
    return converted(x, y)


def real_zero(kind: TensorType, quant: QuantParams | None) -> np.ndarray | None:
    """What a state holds before the first run; None where that is zeros."""
    if quant is None or not quant.zero_point:
        return None
    return np.full(kind.shape, quant.zero_point, kind.dtype)
