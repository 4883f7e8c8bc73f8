"""EdgeModel -> the bytes of an .edge file. The same model gives the same bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

import flatbuffers
import numpy as np

from ..ir import Shape
from . import names, program
from .checksums import checksum_position, checksums
from .flat import COUNT_BYTES, Table, follow, with_vectors
from .model import (
    BLOB_ALIGN,
    IDENTIFIER,
    EdgeModel,
    IoRecord,
    Provenance,
    StateRecord,
    TensorRecord,
)
from .schema import SLOTS, STRUCTS, Section
from .structs import Number, pack
from .varying import Place, Symbol, expression_of, stored

_AXES = 8  # that an input or output has at most
_SPARE = 1 << 14  # bytes, for the small sections: a builder that grows copies all of them
_LIMIT = 0xFFFE  # tensor indices are ushort, and the last one means absent


class _Dims:
    """The pool of dimensions: shapes that are there already are not stored again."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self._known: dict[Shape, int] = {}

    def index(self, shape: Shape) -> int:
        if shape not in self._known:
            self._known[shape] = self._place(shape)
        return self._known[shape]

    def _place(self, shape: Shape) -> int:
        n = len(shape)
        for i in range(len(self.values) - n + 1):
            if tuple(self.values[i : i + n]) == shape:
                return i
        self.values += shape
        return len(self.values) - n


def write(model: EdgeModel, checked: bool = True) -> bytes:
    """Serialize, with checksums if it is to be `checked` by them. Raises ValueError when a number
    does not fit the format."""
    if model.blob and not checked:
        return _with_blob(write(replace(model, blob=b""), False), model.blob)
    for what, things in (("tensors", model.tensors), ("operators", model.ops)):
        if len(things) > _LIMIT:
            raise ValueError(f"{len(things)} {what}: the format holds at most {_LIMIT}")
    tensors, types, dims = _tensors(model.tensors)
    operators, begins, in_program = program.encode(model.ops, model.tensors)
    memory = model.memory.__dict__

    sections = model.blob, operators, tensors, types
    b = flatbuffers.Builder(sum(map(len, sections)) + 8 * len(dims) + _SPARE)
    vectors = {
        "blob": _vector(b, model.blob, 1, BLOB_ALIGN),
        "program": _vector(b, operators, 1, program.WORD),
        "tensors": _vector(b, tensors, STRUCTS["Tensor"][2], STRUCTS["Tensor"][3]),
        "types": _vector(b, types, STRUCTS["TensorType"][2], STRUCTS["TensorType"][3]),
        "dims": _vector(b, np.array(dims, "<u4").tobytes(), 4, 4),
        "ops": _vector(b, np.array(begins, "<u2").tobytes(), 2, 2),
        "inputs": _ios(b, model.inputs),
        "outputs": _ios(b, model.outputs),
        "target": b.CreateString(model.target),
    }
    if any(op.name for op in model.ops):
        vectors["names"] = _vector(b, names.encode([op.name for op in model.ops]), 1, 1)
    if model.pruned:
        vectors["pruned"] = _pruned(b, model.pruned)
    if model.provenance != Provenance():
        made = _strings(b, model.provenance.__dict__)
        vectors["provenance"] = _table(b, "Provenance", made)
    if model.placement:
        vectors["placement"] = _vector(b, bytes(model.placement), 1, 1)
    if model.starts:
        starts = sorted(model.starts.items())
        data = b"".join(pack("Start", {"tensor": t, **asdict(s)}) for t, s in starts)
        vectors["starts"] = _vector(b, data, STRUCTS["Start"][2], STRUCTS["Start"][3])
    if model.states:
        vectors["states"] = _states(b, model.states)
    for name, ios in (("empty_inputs", model.empty_inputs), ("empty_outputs", model.empty_outputs)):
        if ios:
            vectors[name] = _ios(b, ios)
    if model.symbols:
        places = [Place(Section.Program, at, e) for at, e in in_program]
        places += _places(Section.Dims, dims)
        for section, ios in ((Section.Input, model.inputs), (Section.Output, model.outputs)):
            for i, io in enumerate(ios):
                places += _places(section, io.held_shape, i * _AXES)
        vectors |= _varying(b, model.symbols, places)
    b.StartObject(len(SLOTS["Model"]))
    _struct(b, "Model", "memory", "Memory", memory)
    _struct(b, "Model", "checksums", "Checksums", {"graph": 0, "blob": 0})
    for name, offset in vectors.items():
        b.PrependUOffsetTRelativeSlot(SLOTS["Model"][name], offset, 0)
    b.PrependUint16Slot(SLOTS["Model"]["version"], model.version, 0)
    b.Finish(b.EndObject(), file_identifier=IDENTIFIER)
    if checked:
        return _with_checksums(b.Output())
    with memoryview(b.Bytes) as whole:
        return bytes(whole[b.Head() :])


def _with_blob(data: bytes, blob: bytes) -> bytes:
    """The same file with a blob, which the writer puts last, where it has an empty one."""
    root = Table(data, follow(data, 0))
    field = root.field(SLOTS["Model"]["blob"])
    at, _ = root.vector(field)
    return with_vectors(data[: at - COUNT_BYTES], [field], [(len(blob), blob)])


def _tensors(tensors: list[TensorRecord]) -> tuple[bytes, bytes, list[int]]:
    """The sections tensors, types and dims."""
    dims = _Dims()
    types: dict[bytes, int] = {}
    known: dict[tuple[Shape, int, int], int] = {}  # few tensors are of a type of their own
    records = bytearray()
    for t in tensors:
        key = t.shape, t.dtype, t.place
        if key not in known:
            kind = {
                "bytes": t.nbytes,
                "dims": dims.index(t.shape),
                "rank": len(t.shape),
                "dtype": t.dtype,
                "place": t.place,
            }
            known[key] = types.setdefault(pack("TensorType", kind), len(types))
        held = {"offset": t.offset, "scale": t.scale, "zero_point": t.zero_point}
        records += pack("Tensor", held | {"type": known[key]})
    return bytes(records), b"".join(types), dims.values


def _places(section: Section, numbers: Sequence[int], begin: int = 0) -> list[Place]:
    """Those of the numbers that vary."""
    found = [(begin + i, expression_of(n)) for i, n in enumerate(numbers)]
    return [Place(section, at, e) for at, e in found if e is not None]


def _varying(
    b: flatbuffers.Builder, symbols: Sequence[Symbol], places: Sequence[Place]
) -> dict[str, int]:
    """The sections symbols, expressions and varying."""
    expressions, records = stored(places)
    data = b"".join(
        pack("Varying", {"at": at, "expression": e, "section": s}) for at, e, s in records
    )
    offsets = []
    for symbol in symbols:
        name = b.CreateString(symbol.name)
        b.StartObject(len(SLOTS["Symbol"]))
        b.PrependUOffsetTRelativeSlot(SLOTS["Symbol"]["name"], name, 0)
        for field in ("lowest", "highest", "step"):
            b.PrependUint32(getattr(symbol, field))
            b.Slot(SLOTS["Symbol"][field])
        offsets.append(int(b.EndObject()))
    return {
        "expressions": _vector(b, expressions, 1, 1),
        "varying": _vector(b, data, STRUCTS["Varying"][2], STRUCTS["Varying"][3]),
        "symbols": _tables(b, offsets),
    }


def _with_checksums(data: bytearray) -> bytes:
    at, _, _ = checksum_position(data)
    data[at : at + 8] = struct.pack("<II", *checksums(data))
    return bytes(data)


def _vector(b: flatbuffers.Builder, data: bytes, element: int, align: int) -> int:
    b.StartVector(element, len(data) // element, align)
    b.head -= len(data)
    b.Bytes[b.head : b.head + len(data)] = data
    return int(b.EndVector())


def _struct(
    b: flatbuffers.Builder, table: str, field: str, name: str, values: Mapping[str, Number]
) -> None:
    data = pack(name, values)
    b.Prep(STRUCTS[name][3], len(data))
    b.head -= len(data)
    b.Bytes[b.head : b.head + len(data)] = data
    b.PrependStructSlot(SLOTS[table][field], b.Offset(), 0)


def _strings(b: flatbuffers.Builder, fields: Mapping[str, str]) -> dict[str, int]:
    return {name: b.CreateString(text) for name, text in fields.items()}


def _table(b: flatbuffers.Builder, name: str, offsets: Mapping[str, int]) -> int:
    b.StartObject(len(SLOTS[name]))
    for field, offset in offsets.items():
        b.PrependUOffsetTRelativeSlot(SLOTS[name][field], offset, 0)
    return int(b.EndObject())


def _pruned(b: flatbuffers.Builder, pruned: Mapping[int, tuple[bool, ...]]) -> int:
    offsets = []
    for op, kept in sorted(pruned.items()):
        mask = _vector(b, np.packbits(kept, bitorder="little").tobytes(), 1, 1)
        b.StartObject(len(SLOTS["Pruned"]))
        b.PrependUOffsetTRelativeSlot(SLOTS["Pruned"]["kept"], mask, 0)
        for field, number in (("op", op), ("channels", len(kept))):
            b.PrependUint16(number)
            b.Slot(SLOTS["Pruned"][field])
        offsets.append(int(b.EndObject()))
    return _tables(b, offsets)


def _states(b: flatbuffers.Builder, states: Sequence[StateRecord]) -> int:
    offsets = []
    for state in states:
        names = _strings(b, {"input": state.input, "output": state.output})
        b.StartObject(len(SLOTS["State"]))
        for field, offset in names.items():
            b.PrependUOffsetTRelativeSlot(SLOTS["State"][field], offset, 0)
        b.PrependUint16(state.tensor)
        b.Slot(SLOTS["State"]["tensor"])
        offsets.append(int(b.EndObject()))
    return _tables(b, offsets)


def _tables(b: flatbuffers.Builder, offsets: list[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _ios(b: flatbuffers.Builder, ios: list[IoRecord]) -> int:
    offsets = []
    for io in ios:
        name = b.CreateString(io.name)
        shape = _vector(b, np.array(io.held_shape, "<u4").tobytes(), 4, 4)
        texts = "".join(f"{label}\0" for label in io.labels).encode()
        labels = _vector(b, texts, 1, 1) if texts else 0
        axes = _vector(b, bytes(io.axes), 1, 1) if io.axes else 0
        b.StartObject(len(SLOTS["Io"]))
        b.PrependUOffsetTRelativeSlot(SLOTS["Io"]["name"], name, 0)
        b.PrependUOffsetTRelativeSlot(SLOTS["Io"]["shape"], shape, 0)
        b.PrependUOffsetTRelativeSlot(SLOTS["Io"]["labels"], labels, 0)
        b.PrependUOffsetTRelativeSlot(SLOTS["Io"]["axes"], axes, 0)
        # Written even when 0: the C reader wants every field of an Io to be there.
        b.PrependUint16(io.onnx_dtype)
        b.Slot(SLOTS["Io"]["onnx_dtype"])
        b.PrependUint16(io.tensor)
        b.Slot(SLOTS["Io"]["tensor"])
        b.PrependUint16Slot(SLOTS["Io"]["counted_by"], io.counted_by, 0)
        b.PrependUint8Slot(SLOTS["Io"]["counted_axis"], io.counted_axis, 0)
        offsets.append(b.EndObject())
    return _tables(b, offsets)
