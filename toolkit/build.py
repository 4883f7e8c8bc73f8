"""A graph -> the bytes of an .edge file: order, lowering, memory, writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from .errors import CustomOperatorError, UserError
from .format.describe import macs
from .format.model import (
    EdgeModel,
    IoRecord,
    Memory,
    OpRecord,
    Provenance,
    Start,
    StateRecord,
)
from .format.schema import Place
from .format.writer import write
from .ir import Graph, Node, Port, Value
from .lowering.frames import forget_frames, trial_file
from .lowering.nodes import Blob, Known, Lowering, Tensors
from .ops.convert.fake_quantize import spelled_out
from .plan import ARENA_ALIGN, TRIES, Buffer, placed, schedule
from .plan.buffers import assign
from .plan.regions import flattened
from .plan.stores import with_stores
from .runtime import Model, Session
from .state import real_zero

Kept = Mapping[Value, NDArray[np.bool_]]

_writing = RLock()
"""One thread at a time writes a file: all share what is known of lasting nodes."""


def build_file(
    graph: Graph,
    provenance: Provenance | None = None,
    kept: Kept | None = None,
    *,
    compact: bool = True,
) -> bytes:
    """The generic .edge file of `graph`, which runs everywhere; `retarget` makes one for a target.

    `kept` says which channels are left of values that lost some. Unless `compact`, the arena is the
    first that serves: for files that run once and go. Raises UserError for a model too large for
    the format.
    """
    return _fitting(lambda: write(build_model(graph, provenance, kept, compact=compact)))


def _fitting(made: Callable[[], bytes]) -> bytes:
    try:
        return made()
    except ValueError as why:
        raise UserError(f"the model does not fit the .edge format: {why}") from why


def prove(data: bytes) -> None:
    """Open a file before it is written. Raises AssertionError, for it is ours, if it is refused."""
    try:
        Model(data)
    except CustomOperatorError:
        raise
    except UserError as why:
        raise AssertionError(f"the runtime rejects the generated file: {why}") from why


def open_once(graph: Graph, lasting: bool = False) -> Session:
    """A session of `graph` for a few runs, opened fast; `lasting` nodes are those of other graphs
    too, and never change."""
    made = partial(build_model, graph, compact=False, lasting=lasting)
    with _writing:
        data = _fitting(lambda: trial_file(graph, made) if lasting else write(made(), False))
    model = Model(data, checksum=False)
    del data
    if not lasting:  # what made the file goes before the session's memory comes
        del graph, made
    return Session(model, max_memory=None, numbers=True)


def forget_lasting() -> None:
    """Let go of what lasting nodes are in files: as many bytes as their constants, and more."""
    Lowering.known.clear()
    forget_frames()


def build_model(
    graph: Graph,
    provenance: Provenance | None = None,
    kept: Kept | None = None,
    *,
    compact: bool = True,
    lasting: bool = False,
) -> EdgeModel:
    """As build_file, before serialization; `lasting` as for open_once, with wide tables."""
    provenance, kept, graph = provenance or Provenance(), kept or {}, spelled_out(graph)
    orders = [list(graph.nodes)]
    if not compact:
        return _plan(graph, with_stores(graph, orders[0]), provenance, kept, 0, lasting)
    # Two orders are planned, and the smaller arena wins: the schedule does not see in-place reuse.
    if (better := schedule(graph)) != orders[0]:
        orders.append(better)
    once: dict[Node, Known] | None = {} if len(orders) > 1 else None
    models = [
        _plan(graph, with_stores(graph, order), provenance, kept, TRIES, once=once)
        for order in orders
    ]
    return min(models, key=lambda m: m.memory.arena_bytes)


def _io(port: Port, index: Tensors) -> IoRecord:
    record = IoRecord(port.name, index(port.value), port.onnx_dtype, port.shape, port.labels)
    return replace(record, axes=port.axes)


def _outputs(ports: Sequence[Port], index: Tensors) -> list[IoRecord]:
    places = {port.name: i for i, port in enumerate(ports, 1)}
    return [
        replace(
            _io(p, index),
            counted_by=places.get(p.counted_by, 0),
            counted_axis=p.counted_axis,
        )
        for p in ports
    ]


def _plan(
    graph: Graph,
    order: list[Node],
    provenance: Provenance,
    kept: Kept,
    tries: int,
    lasting: bool = False,
    once: dict[Node, Known] | None = None,
) -> EdgeModel:
    blob = Blob(tight=not lasting)
    flat = flattened(order)
    graph, order = flat.graph(graph), flat.order
    steps = Lowering(blob, lasting, once).steps(order)

    buffers, buffer_of = assign(graph, order, flat.home)
    held, persistent = _persistent(graph, buffers, buffer_of)
    buffers = [Buffer(0, 0, 0) if i in held else b for i, b in enumerate(buffers)]
    index = Tensors(
        blob,
        {
            v: (Place.Persistent, held[i]) if i in held else (Place.Arena, 0)
            for v, i in buffer_of.items()
        },
    )
    inputs = [_io(p, index) for p in graph.inputs]
    ops = [
        OpRecord(
            step.lowered.kind,
            "" if lasting else step.node.output.name,
            tuple(index(v) for v in step.lowered.operands),
            tuple(index(v) for v in step.node.outputs),
            dict(step.lowered.params),
        )
        for step in steps.values()
    ]
    outputs = _outputs(graph.outputs, index)
    memory = Memory(
        macs=sum(
            macs(s.lowered.kind, s.lowered.params) * flat.times.get(id(s.node), 1)
            for s in steps.values()
        ),
        arena_bytes=0,
        scratch_bytes=0,
        persistent_bytes=persistent,
        arena_bound_bytes=0,
    )
    states = [StateRecord(s.input, s.output, index(s.held)) for s in graph.states if s.input]
    starts = {}
    for state in graph.states:
        first = state.start
        if first is None:
            first = real_zero(state.held.type, state.held.quant)
        if first is not None:
            same = bool(np.all(first == first.flat[0]))
            at = blob.add(first.flat[:1] if same else first)
            starts[index(state.held)] = Start(at, first.itemsize if same else 0)
    pruned = {
        i: tuple(bool(k) for k in kept[step.node.output])
        for i, step in enumerate(steps.values())
        if step.node.output in kept
    }
    model = EdgeModel(
        index.records(),
        ops,
        inputs,
        outputs,
        memory,
        bytes(blob.data),
        provenance=provenance,
        pruned=pruned,
        starts=starts,
        states=states,
        empty_inputs=[IoRecord(p.name, 0, p.onnx_dtype, p.shape) for p in graph.empty_inputs],
        empty_outputs=[IoRecord(p.name, 0, p.onnx_dtype, p.shape) for p in graph.empty_outputs],
    )
    arena = {index(v): i for v, i in buffer_of.items() if i not in held and v in index.known}
    scratch = [(at, step.scratch) for at, step in steps.items()]
    return placed(model, buffers, arena, scratch, tries)


def _persistent(
    graph: Graph, buffers: list[Buffer], buffer_of: Mapping[Value, int]
) -> tuple[dict[int, int], int]:
    """Where in persistent memory the buffers of states lie, and the bytes of all."""
    offsets: dict[int, int] = {}
    total = 0
    for state in graph.states:
        i = buffer_of[state.held]
        offsets[i] = total
        total = -(-(total + buffers[i].size) // ARENA_ALIGN) * ARENA_ALIGN
    return offsets, total
