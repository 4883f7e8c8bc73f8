"""The contents of an .edge file, for `edgekit inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .files import read_edge
from .format.describe import arena_tensors, bytes_moved, macs, op_dtype, op_type, weight_bytes
from .format.model import EdgeModel, IoRecord
from .format.reader import read
from .ir import Shape
from .runtime import Model


@dataclass(frozen=True)
class OpInfo:
    """An operator and its first output."""

    name: str
    operator: str
    dtype: str
    macs: int
    bytes_moved: int
    shape: Shape
    scale: float
    zero_point: int
    scratch_bytes: int


@dataclass(frozen=True)
class MemoryRow:
    """A tensor in the arena. Step 0 is before the first operator, the last step is after all.

    A tensor without its own memory is named "(alias of NAME)".
    """

    name: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class PortInfo:
    """An input or output of the ONNX model, and its type on the device."""

    name: str
    shape: Shape
    onnx_dtype: int
    dtype: str
    scale: float
    zero_point: int


@dataclass(frozen=True)
class Inspection:
    """All that `edgekit inspect --json` prints."""

    format_version: int
    target: str
    producer: str
    file_bytes: int
    weight_bytes: int
    arena_bytes: int
    arena_bound_bytes: int
    scratch_bytes: int
    persistent_bytes: int
    macs: int
    inputs: list[PortInfo]
    outputs: list[PortInfo]
    ops: list[OpInfo]
    memory_map: list[MemoryRow]
    provenance: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def inspect(path: str | Path) -> Inspection:
    """Read the file at `path`. Raises UserError when it is missing, damaged or newer than we."""
    return describe(read_edge(path), str(path))


def describe(data: bytes, source: str) -> Inspection:
    """As `inspect`, from the file's bytes; `source` names it in errors. Raises UserError."""
    model = read(data, source)
    Model(data, name=source)  # which proves what the reader takes for granted
    memory = model.memory
    return Inspection(
        format_version=model.version,
        target=model.target,
        producer=model.provenance.producer,
        file_bytes=len(data),
        weight_bytes=weight_bytes(model),
        arena_bytes=memory.arena_bytes,
        arena_bound_bytes=memory.arena_bound_bytes,
        scratch_bytes=memory.scratch_bytes,
        persistent_bytes=memory.persistent_bytes,
        macs=memory.macs,
        inputs=[_port(model, io) for io in model.inputs],
        outputs=[_port(model, io) for io in model.outputs],
        ops=_ops(model),
        memory_map=_memory_map(model),
        provenance=dict(model.provenance.__dict__),
    )


def _port(model: EdgeModel, io: IoRecord) -> PortInfo:
    t = model.tensors[io.tensor]
    return PortInfo(io.name, io.shape, io.onnx_dtype, t.dtype.name.lower(), t.scale, t.zero_point)


def _ops(model: EdgeModel) -> list[OpInfo]:
    found = []
    for name, op, moved in zip(model.op_names, model.ops, bytes_moved(model), strict=True):
        out = model.tensors[op.outputs[0]]
        found.append(
            OpInfo(
                name,
                op_type(model, op),
                op_dtype(model, op),
                macs(op.kind, op.params),
                moved,
                out.shape,
                out.scale,
                out.zero_point,
                op.scratch_bytes,
            )
        )
    return found


def _view_name(
    model: EdgeModel, view: int, names: Mapping[int, str], first: Mapping[int, int]
) -> str:
    """Of a tensor that nothing writes: it lies in what was written there last."""
    mine, read = model.tensors[view], first.get(view, 0)
    written = [
        i
        for i in arena_tensors(model)
        if i in names
        and first.get(i, 0) < read
        and 0 <= mine.offset - model.tensors[i].offset < model.tensors[i].nbytes
    ]
    last = max(written, key=lambda i: first.get(i, 0), default=None)
    return "(a view)" if last is None else f"(alias of {names[last]})"


def _memory_map(model: EdgeModel) -> list[MemoryRow]:
    names = {io.tensor: io.name for io in (*model.outputs, *model.inputs)}
    first = {io.tensor: 0 for io in model.inputs}
    last = {io.tensor: len(model.ops) + 1 for io in model.outputs}
    op_names = model.op_names
    for step, op in enumerate(model.ops, 1):
        for i in (*op.inputs, *op.outputs):
            first.setdefault(i, step)
            last[i] = max(last.get(i, 0), step)
        names.setdefault(op.outputs[0], op_names[step - 1])
    rows = [
        MemoryRow(name, t.offset, t.nbytes, first.get(i, 0), last.get(i, 0))
        for i, t in ((i, model.tensors[i]) for i in arena_tensors(model))
        for name in [names[i] if i in names else _view_name(model, i, names, first)]
    ]
    rows += [
        MemoryRow(
            f"scratch of {op_names[step - 1]}", op.scratch_offset, op.scratch_bytes, step, step
        )
        for step, op in enumerate(model.ops, 1)
        if op.scratch_bytes
    ]
    return sorted(rows, key=lambda r: (r.first, r.offset))
