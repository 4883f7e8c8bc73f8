"""A graph -> the bytes of an .edge file: order, lowering, memory, writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .errors import CustomOperatorError, UserError
from .format.describe import macs
from .format.model import (
    ABSENT,
    DTYPE_OF,
    EdgeModel,
    IoRecord,
    Memory,
    OpRecord,
    Provenance,
    Start,
    StateRecord,
    TensorRecord,
    is_variant,
)
from .format.schema import FORMS, VARIANT, Place
from .format.structs import pack
from .format.writer import write
from .ir import Array, Graph, Node, Port, Value
from .ops import definition
from .ops._opdef import Lowered
from .ops.convert.fake_quantize import spelled_out
from .plan import ARENA_ALIGN, TRIES, Buffer, placed, schedule
from .plan.buffers import assign, runs_nothing
from .plan.regions import flattened
from .plan.stores import with_stores
from .runtime import Model, OpForm, Session, return_freed, scratch_bytes
from .state import real_zero

MAX_RANK = 8
"""Dimensions of a tensor that the runtime opens."""

Kept = Mapping[Value, NDArray[np.bool_]]


class _Blob:
    """Constants, back to back; identical ones once."""

    def __init__(self, tight: bool = True) -> None:
        self.tight = tight
        self.data = bytearray()
        self._known: dict[tuple[int, int, int], int] = {}

    def add(self, *arrays: Array, align: int = 4) -> int:
        return self.put(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays), align)

    def put(self, content: bytes, align: int) -> int:
        """Where `content` lies."""
        key = hash(content), len(content), align
        at = self._known.get(key)
        if at is None or not self._holds(content, at):
            self.data += bytes(-len(self.data) % align)
            at = self._known[key] = len(self.data)
            self.data += content
        return at

    def _holds(self, content: bytes, at: int) -> bool:
        with memoryview(self.data) as data, data[at : at + len(content)] as there:
            return there == content


class _Offset(int):
    """Where in a file a content lies that a node has there."""

    content: int


class _Recorder(_Blob):
    """What an operator puts into `blob`: the contents, how they are aligned, and where they lie."""

    def __init__(self, blob: _Blob) -> None:
        self.blob, self.tight = blob, blob.tight
        self.contents: list[tuple[bytes, int]] = []
        self.at: list[int] = []

    def put(self, content: bytes, align: int) -> int:
        at = _Offset(self.blob.put(content, align))
        at.content = len(self.contents)
        self.contents.append((content, align))
        self.at.append(at)
        return at


@dataclass(frozen=True)
class _Known:
    """A node lowered: its scratch, what it put into a file, and where."""

    lowered: Lowered
    scratch: int
    contents: list[tuple[bytes, int]]
    at: list[int]

    def put(self, blob: _Blob) -> Lowered:
        """The same in another file."""
        at = [blob.put(*content) for content in self.contents]
        if at == self.at:
            return self.lowered
        params = self.lowered.params.items()
        return replace(
            self.lowered,
            params={k: at[v.content] if isinstance(v, _Offset) else v for k, v in params},
        )


class _Lowering:
    """Lowers nodes; those that last only once, while they live."""

    known: ClassVar[WeakKeyDictionary[Node, _Known]] = WeakKeyDictionary()

    def __init__(self, blob: _Blob, lasting: bool) -> None:
        self.blob, self.lasting = blob, lasting

    def __call__(self, node: Node) -> _Step:
        if not self.lasting:
            return _Step(node, *_lowered(node, self.blob))
        if known := self.known.get(node):
            return _Step(node, known.put(self.blob), known.scratch)
        seen = _Recorder(self.blob)
        lowered, scratch = _lowered(node, seen)
        told = {v.content for v in lowered.params.values() if isinstance(v, _Offset)}
        assert len(told) == len(seen.contents), f"{node.op} moves where its constants lie"
        self.known[node] = _Known(lowered, scratch, seen.contents, seen.at)
        return _Step(node, lowered, scratch)


def _lowered(node: Node, blob: _Blob) -> tuple[Lowered, int]:
    lowered = definition(node.op).lower(node, blob)
    return lowered, scratch_bytes(None, _form(node, lowered))


class _Tensors:
    """The index of a value's record, made when first asked for; computed ones are at `places`."""

    def __init__(self, blob: _Blob, places: Mapping[Value, tuple[Place, int]]) -> None:
        self.records: list[TensorRecord] = []
        self._blob, self._places = blob, places
        self.known: dict[Value, int] = {}

    def __call__(self, value: Value | None) -> int:
        if value is None:
            return ABSENT
        if value not in self.known:
            self.known[value] = len(self.records)
            self.records.append(self._record(value))
        return self.known[value]

    def _record(self, value: Value) -> TensorRecord:
        if value.const is None:
            where, offset = self._places[value]
        else:
            where, offset = Place.Blob, self._blob.add(value.const, align=ARENA_ALIGN)
        if len(value.shape) > MAX_RANK:
            raise ValueError(
                f"tensor '{value.name}' {list(value.shape)} has {len(value.shape)} dimensions; at "
                f"most {MAX_RANK} are supported: merge some with Reshape"
            )
        quant = None if value.dtype.kind == "f" else value.quant
        scale = 0.0 if quant is None else float(np.float32(quant.scalar))
        zero = 0 if quant is None else quant.zero_point
        return TensorRecord(value.shape, DTYPE_OF[value.dtype], where, offset, scale, zero)


@dataclass(frozen=True)
class _Step:
    node: Node
    lowered: Lowered
    scratch: int


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
    return _file(lambda: build_model(graph, provenance, kept, compact=compact), True)


def _file(model: Callable[[], EdgeModel], checked: bool) -> bytes:
    try:
        return write(model(), checked)
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
    model = Model(_file(made, False), checksum=False)
    if not lasting:  # what made the file goes before the session's memory comes
        del graph, made
        return_freed()
    return Session(model, max_memory=None, numbers=True)


def forget_lasting() -> None:
    """Let go of what lasting nodes are in files: as many bytes as their constants, and more."""
    _Lowering.known.clear()


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
    models = [_plan(graph, with_stores(graph, order), provenance, kept, TRIES) for order in orders]
    return min(models, key=lambda m: m.memory.arena_bytes)


def _io(port: Port, index: _Tensors) -> IoRecord:
    record = IoRecord(port.name, index(port.value), port.onnx_dtype, port.shape, port.labels)
    return replace(record, axes=port.axes)


def _outputs(ports: Sequence[Port], index: _Tensors) -> list[IoRecord]:
    places = {port.name: i for i, port in enumerate(ports, 1)}
    return [
        replace(
            _io(p, index),
            counted_by=places.get(p.counted_by, 0),
            counted_axis=p.counted_axis,
        )
        for p in ports
    ]


def _form(node: Node, lowered: Lowered) -> OpForm:
    variant = is_variant(lowered.kind, lowered.params, DTYPE_OF[node.output.dtype])
    v = node.output if variant else next(iter(lowered.operands), None)
    typed = v is not None and (lowered.kind, False, None) not in FORMS
    element = DTYPE_OF[v.dtype] if v is not None and typed else None
    params = pack(lowered.kind.name, lowered.params)
    return OpForm(lowered.kind + VARIANT * variant, element, params)


def _plan(
    graph: Graph,
    order: list[Node],
    provenance: Provenance,
    kept: Kept,
    tries: int,
    lasting: bool = False,
) -> EdgeModel:
    blob = _Blob(tight=not lasting)
    lower = _Lowering(blob, lasting)
    flat = flattened(order)
    graph, order = flat.graph(graph), flat.order
    steps: dict[int, _Step] = {}
    for at, node in enumerate(order, 1):
        if not runs_nothing(node):
            steps[at] = lower(node)

    buffers, buffer_of = assign(graph, order, flat.home)
    held, persistent = _persistent(graph, buffers, buffer_of)
    buffers = [Buffer(0, 0, 0) if i in held else b for i, b in enumerate(buffers)]
    index = _Tensors(
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
            step.node.output.name,
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
        index.records,
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
