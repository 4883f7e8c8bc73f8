"""Files of the trials of a search: most have the structure of an earlier one, and other numbers.

Of each structure one file is planned. What the structure determines of it is its frame, to which
each trial adds its constants, scales and operators.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import count
from typing import overload

from ..format import program
from ..format.flat import COUNT_BYTES, Table, follow, with_vectors
from ..format.model import EdgeModel, OpRecord, TensorRecord
from ..format.program import Written
from ..format.schema import SLOTS, STRUCTS
from ..format.writer import write
from ..ir import Graph, Port, Value
from ..ops.control.regions import Branch, Loop
from ..ops.convert.fake_quantize import FakeQuantize
from .nodes import Blob, Lowering, Step, Tensors, stored_quant

MOST = 32
"""Frames kept, of a few KiB each: a search tries layers and parts of a graph in turn."""

_UNFRAMED = frozenset({Branch.name, Loop.name, FakeQuantize.name})
_TENSOR, _TENSOR_BYTES = STRUCTS["Tensor"][0], STRUCTS["Tensor"][2]

_frames: dict[Hashable, _Frame] = {}


def forget_frames() -> None:
    """Let go of all frames."""
    _frames.clear()


def trial_file(graph: Graph, plan: Callable[[], EdgeModel]) -> bytes:
    """The file of a graph of lasting nodes, of which `plan` gives the model, as build_model does.

    Raises ValueError for what does not fit the format.
    """
    if graph.states or graph.empty_inputs or graph.empty_outputs:
        return write(plan(), False)
    if not _UNFRAMED.isdisjoint(node.op for node in graph.nodes):
        return write(plan(), False)
    blob = Blob(tight=False)
    steps = Lowering(blob, lasting=True).steps(graph.nodes)
    structure, operators, values = _structure(graph, steps, blob)
    frame = _frames.pop(structure, None) or _Frame(plan())
    while len(_frames) >= MOST:
        _frames.pop(next(iter(_frames)))
    _frames[structure] = frame  # the most recent last
    return frame.file(blob, operators, values)


_Operator = tuple[Step, tuple[int, ...], tuple[int, ...]]
"""An operator, and the indices of its operands and outputs."""


def _structure(
    graph: Graph, steps: dict[int, Step], blob: Blob
) -> tuple[Hashable, list[_Operator], list[Value]]:
    """All that determines where the parts of a file lie, the operators, and the values that have
    records. The constants that have some are put into the blob."""
    index = Tensors(blob, {})
    inputs = [_port(p, index) for p in graph.inputs]
    operators: list[_Operator] = []
    places: list[Hashable] = []
    memory_of: dict[Value, int] = {}  # of renamed values: the index of the value that is renamed
    for i, node in enumerate(graph.nodes, 1):
        step = steps.get(i)
        if step is None:
            x = node.input(0)
            memory_of[node.output] = memory_of.get(x, index.known.get(x, -1))
            continue
        operands = tuple([index(v) for v in step.lowered.operands])
        made = tuple([index(v) for v in node.outputs])
        codec = step.lowered.params.get("codec.id", 0)
        places.append((i, node.op, step.lowered.kind, step.scratch, codec, *step.at))
        places.append((operands, made))
        operators.append((step, operands, made))
    outputs = [_port(p, index) for p in graph.outputs]
    values = list(index.known)
    records = [(v.dtype, v.shape, memory_of.get(v), index.constant(v)) for v in values]
    return (*inputs, None, *outputs, *places, *records), operators, values


def _port(port: Port, index: Tensors) -> Hashable:
    counted = port.counted_by, port.counted_axis
    kind = port.onnx_dtype, port.shape, port.axes
    return index(port.value), port.name, *kind, port.labels, *counted


class _Frame:
    """What the structure of a `model` determines of its file."""

    _numbers = count()

    def __init__(self, model: EdgeModel) -> None:
        self._number = next(self._numbers)
        self._scratch = [(op.scratch_offset, op.scratch_bytes) for op in model.ops]
        self._tensors = model.tensors
        data = write(replace(model, ops=[], blob=b""), False)
        root = Table(data, follow(data, 0))
        self._fields = [
            root.field(SLOTS["Model"][name]) for name in ("blob", "tensors", "program", "ops")
        ]
        blob, _ = root.vector(self._fields[0])
        self._head = data[: blob - COUNT_BYTES]  # the writer puts the blob last
        at, size = root.vector(self._fields[1])
        records = data[at : at + size * _TENSOR_BYTES]
        self._types = [kind for *_, kind in struct.iter_unpack(_TENSOR, records)]

    def file(self, blob: Blob, operators: Sequence[_Operator], values: Sequence[Value]) -> bytes:
        """A file of these constants, operators, and values that have records."""
        data, begins, _ = program.assembled(self._program(operators, values))
        return with_vectors(
            self._head,
            self._fields,
            [
                (len(blob.data), blob.data),
                (len(values), self._records(values)),
                (len(data), data),
                (len(begins), struct.pack(f"<{len(begins)}H", *begins)),
            ],
        )

    def _records(self, values: Sequence[Value]) -> bytes:
        numbers: list[float] = []
        for value, tensor, kind in zip(values, self._tensors, self._types, strict=True):
            numbers += (tensor.offset, *stored_quant(value), kind)
        return struct.pack("<" + _TENSOR[1:] * len(values), *numbers)

    def _program(self, operators: Sequence[_Operator], values: Sequence[Value]) -> list[Written]:
        tensors = _Records(self._tensors, values)
        found = []
        for i, (step, operands, outputs) in enumerate(operators):
            assert step.known is not None
            key = self._number, i
            written = step.known.written.get(key)
            if written is None:
                params = dict(step.lowered.params)
                op = OpRecord(step.lowered.kind, "", operands, outputs, params, *self._scratch[i])
                written = step.known.written[key] = program.written(op, tensors)
            found.append(written)
        return found


class _Records(Sequence[TensorRecord]):
    """The records of a frame with the scales of other values, made when they are asked for."""

    def __init__(self, records: Sequence[TensorRecord], values: Sequence[Value]) -> None:
        self._records, self._values = records, values

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, i: int) -> TensorRecord: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[TensorRecord]: ...
    def __getitem__(self, i: int | slice) -> TensorRecord | Sequence[TensorRecord]:
        if isinstance(i, slice):
            return [self[k] for k in range(len(self))[i]]
        t, quant = self._records[i], stored_quant(self._values[i])
        return TensorRecord(t.shape, t.dtype, t.place, t.offset, *quant)
