"""The bytes of an .edge file -> EdgeModel, for `inspect` and the tests.

What runs a file is the C reader; this one serves people. It checks less, and turns whatever goes
wrong with a damaged file into one UserError.
"""

from __future__ import annotations

import struct
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .. import files
from ..errors import UserError
from . import names, program
from .checksums import checksum_position, checksums
from .flat import Data, Table, follow
from .model import (
    ABSENT,
    FORMAT_VERSION,
    IDENTIFIER,
    EdgeModel,
    IoRecord,
    Memory,
    Provenance,
    Start,
    StateRecord,
    TensorRecord,
)
from .schema import SLOTS, DType, Place, Section, Term
from .structs import size, unpack
from .varying import Expression, Symbol, Varying

_AXES = 8  # that an input or output has at most


def read_file(path: str | Path) -> EdgeModel:
    """Parse the file at `path`. Raises UserError naming it."""
    return read(files.read_edge(path), str(path))


def read(
    data: Data, source: str = "model", *, checked: bool = True, constants: bool = True
) -> EdgeModel:
    """Parse `data`; `source` names it in errors. Unless `checked`, checksums are not compared;
    without `constants` the blob stays empty. Raises UserError."""
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        raise UserError(f"{source}: not an .edge file (no EDGE identifier at byte 4)")
    try:
        reader = _Reader(data)
        _check_version(reader.version(), source)
        model = reader.model(constants)
        stored = struct.unpack_from("<II", data, checksum_position(data)[0])
        if checked and stored != checksums(data):
            raise UserError(f"{source}: corrupted: checksums do not match; convert the model again")
    except UserError:
        raise
    except Exception as why:
        raise UserError(f"{source}: corrupted .edge file ({why}); convert the model again") from why
    return model


def empty_ports(data: bytes) -> tuple[list[IoRecord], list[IoRecord]]:
    """The inputs and the outputs without elements of a file that has been opened."""
    reader = _Reader(data)
    return reader._optional_ios("empty_inputs"), reader._optional_ios("empty_outputs")


def port_axes(data: bytes) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The `axes` of the inputs and of the outputs of a file that has been opened."""
    reader = _Reader(data)
    inputs, outputs = reader._tables("inputs"), reader._tables("outputs")
    return [reader._axes(t) for t in inputs], [reader._axes(t) for t in outputs]


def varying(data: bytes) -> tuple[tuple[Symbol, ...], list[tuple[int, int, int]]]:
    """The symbols of a file that has been opened, and which axes of inputs they are: (input, axis
    of the ONNX model, symbol)."""
    reader = _Reader(data)
    symbols = reader.symbols()
    found = []
    for i, io in enumerate(reader._ios("inputs", Section.Input) if symbols else []):
        for axis, n in enumerate(io.shape):
            terms = n.expression.terms if isinstance(n, Varying) else ()
            if len(terms) == 1 and terms[0][0] == Term.Symbol and terms[0][1] < len(symbols):
                found.append((i, axis, terms[0][1]))
    return symbols, found


def provenance(data: Data) -> Provenance:
    """Of a file that has been opened."""
    return _Reader(data)._provenance()


def counted_outputs(data: bytes) -> dict[str, tuple[str, int]]:
    """Output -> the one that says how many of its indices are in use, and along which axis; of a
    file that has been opened."""
    reader = _Reader(data)
    if not any(reader._counted(t, "counted_by", 2) for t in reader._tables("outputs")):
        return {}  # as of most files
    ios = reader._ios("outputs")
    return {
        io.name: (ios[io.counted_by - 1].name, io.counted_axis)
        for io in ios
        if 0 < io.counted_by <= len(ios) and io.counted_axis < len(io.shape)
    }


def _check_version(version: int, source: str) -> None:
    if version > FORMAT_VERSION:
        raise UserError(
            f"{source}: format version {version}; this edgekit reads up to "
            f"{FORMAT_VERSION}: upgrade edgekit"
        )
    if version < FORMAT_VERSION:
        raise UserError(
            f"{source}: format version {version}, from before the first release; this edgekit "
            f"reads {FORMAT_VERSION} and later: convert the model again"
        )


class _Reader:
    def __init__(self, data: Data) -> None:
        self.data = data
        (root,) = struct.unpack_from("<I", data, 0)
        self.root = Table(data, root)

    def version(self) -> int:
        return self._scalar(self.root, "Model", "version")

    def model(self, constants: bool = True) -> EdgeModel:
        dims = self._dims(np.frombuffer(self._bytes(self.root, "Model", "dims", 4), "<u4"))
        begins = np.frombuffer(self._bytes(self.root, "Model", "ops", 2), "<u2").tolist()
        types = [
            (tuple(dims[t["dims"] : t["dims"] + t["rank"]]), DType(t["dtype"]), Place(t["place"]))
            for t in self._structs("types", "TensorType")
        ]
        tensors = [
            TensorRecord(shape, dtype, place, t["offset"], t["scale"], t["zero_point"])
            for t in self._structs("tensors", "Tensor")
            for shape, dtype, place in [types[t["type"]]]
        ]
        ops = program.decode(
            self._bytes(self.root, "Model", "program", 1),
            begins,
            self._names() or [""] * len(begins),
            tensors,
            self._varying.get(Section.Program, {}),
        )
        used = {i for op in ops for i in (*op.inputs, *op.outputs)} - {ABSENT}
        if used and max(used) >= len(tensors):
            raise ValueError("an operand names a tensor that is not there")
        memory: Any = unpack("Memory", self.data, self._at(self.root, "Model", "memory"))
        return EdgeModel(
            tensors,
            ops,
            self._ios("inputs", Section.Input),
            self._ios("outputs", Section.Output),
            Memory(**memory),
            self._bytes(self.root, "Model", "blob", 1) if constants else b"",
            self._string(self.root, "Model", "target"),
            self._provenance(),
            self._pruned(),
            self.version(),
            self._placement(),
            self._starts(),
            self._states(),
            self._optional_ios("empty_inputs"),
            self._optional_ios("empty_outputs"),
            self.symbols(),
        )

    def symbols(self) -> tuple[Symbol, ...]:
        """The dimensions whose sizes are chosen."""
        return tuple(
            Symbol(
                self._string(t, "Symbol", "name"),
                *(
                    int(struct.unpack_from("<I", self.data, self._at(t, "Symbol", field))[0])
                    for field in ("lowest", "highest", "step")
                ),
            )
            for t in (self._tables("symbols") if self._has("symbols") else [])
        )

    @cached_property
    def _varying(self) -> dict[int, dict[int, Expression]]:
        """By section, where numbers lie that follow from the sizes."""
        found: dict[int, dict[int, Expression]] = {}
        if self._has("varying"):
            data = self._bytes(self.root, "Model", "expressions", 1)
            for v in self._structs("varying", "Varying"):
                expression = Expression.decoded(data, v["expression"])
                found.setdefault(v["section"], {})[v["at"]] = expression
        return found

    def _dims(self, numbers: Any, section: int = Section.Dims, begin: int = 0) -> list[int]:
        """Dimensions, some of which vary."""
        known = self._varying.get(section, {})
        return [
            Varying(n, known[begin + i]) if begin + i in known else n
            for i, n in enumerate(numbers.tolist())
        ]

    def _starts(self) -> dict[int, Start]:
        found = self._structs("starts", "Start") if self._has("starts") else []
        return {s["tensor"]: Start(s["initial"], s["period"]) for s in found}

    def _states(self) -> list[StateRecord]:
        return [
            StateRecord(
                self._string(t, "State", "input"),
                self._string(t, "State", "output"),
                self._scalar(t, "State", "tensor"),
            )
            for t in (self._tables("states") if self._has("states") else [])
        ]

    def _at(self, table: Table, name: str, field: str) -> int:
        at = table.field(SLOTS[name][field])
        if not at:
            raise ValueError(f"{name}.{field} is missing")
        return at

    def _scalar(self, table: Table, name: str, field: str) -> int:
        (found,) = struct.unpack_from("<H", self.data, self._at(table, name, field))
        return int(found)

    def _string(self, table: Table, name: str, field: str) -> str:
        return self._bytes(table, name, field, 1).decode()

    def _vector(self, table: Table, name: str, field: str) -> tuple[int, int]:
        """Position of the first element, and count."""
        return table.vector(self._at(table, name, field))

    def _bytes(self, table: Table, name: str, field: str, element: int) -> bytes:
        at, count = self._vector(table, name, field)
        if at + count * element > len(self.data):
            raise ValueError(f"{name}.{field} runs past the end of the file")
        return bytes(self.data[at : at + count * element])

    def _structs(self, field: str, struct_name: str) -> list[dict[str, Any]]:
        step = size(struct_name)
        data = self._bytes(self.root, "Model", field, step)
        return [unpack(struct_name, data, i) for i in range(0, len(data), step)]

    def _tables(self, field: str) -> list[Table]:
        at, count = self._vector(self.root, "Model", field)
        return [Table(self.data, follow(self.data, at + 4 * i)) for i in range(count)]

    def _ios(self, field: str, section: int = -1) -> list[IoRecord]:
        return [self._io(t, section, i * _AXES) for i, t in enumerate(self._tables(field))]

    def _io(self, t: Table, section: int, begin: int) -> IoRecord:
        sizes = np.frombuffer(self._bytes(t, "Io", "shape", 4), "<u4")
        held, axes = tuple(self._dims(sizes, section, begin)), self._axes(t)
        return IoRecord(
            self._string(t, "Io", "name"),
            self._scalar(t, "Io", "tensor"),
            self._scalar(t, "Io", "onnx_dtype"),
            tuple(held[axes.index(a)] for a in range(len(axes))) if axes else held,
            self._labels(t),
            self._counted(t, "counted_by", 2),
            self._counted(t, "counted_axis", 1),
            axes,
        )

    def _axes(self, io: Table) -> tuple[int, ...]:
        if not io.field(SLOTS["Io"]["axes"]):
            return ()
        axes = tuple(self._bytes(io, "Io", "axes", 1))
        _, rank = self._vector(io, "Io", "shape")
        if axes and sorted(axes) != list(range(rank)):
            raise ValueError(f"axes {list(axes)} of an input or output of rank {rank}")
        return axes

    def _counted(self, io: Table, field: str, size: int) -> int:
        there = io.field(SLOTS["Io"][field])
        return int.from_bytes(self.data[there : there + size], "little") if there else 0

    def _labels(self, io: Table) -> tuple[str, ...]:
        if not io.field(SLOTS["Io"]["labels"]):
            return ()
        return tuple(self._bytes(io, "Io", "labels", 1).decode().split("\0")[:-1])

    def _has(self, field: str) -> bool:
        """Whether the file has a section that may be left out."""
        return bool(self.root.field(SLOTS["Model"][field]))

    def _names(self) -> list[str]:
        return (
            names.decode(self._bytes(self.root, "Model", "names", 1)) if self._has("names") else []
        )

    def _optional_ios(self, field: str) -> list[IoRecord]:
        return self._ios(field) if self._has(field) else []

    def _pruned(self) -> dict[int, tuple[bool, ...]]:
        found: dict[int, tuple[bool, ...]] = {}
        if not self._has("pruned"):
            return found
        for t in self._tables("pruned"):
            op, channels = (self._scalar(t, "Pruned", f) for f in ("op", "channels"))
            bits = np.frombuffer(self._bytes(t, "Pruned", "kept", 1), np.uint8)
            mask = np.unpackbits(bits, count=channels, bitorder="little")
            found[op] = tuple(bool(k) for k in mask)
        return found

    def _placement(self) -> tuple[bool, ...]:
        if not self._has("placement"):
            return ()
        return tuple(bool(b) for b in self._bytes(self.root, "Model", "placement", 1))

    def _provenance(self) -> Provenance:
        if not self._has("provenance"):
            return Provenance()
        table = Table(self.data, follow(self.data, self._at(self.root, "Model", "provenance")))
        found = Provenance(*(self._string(table, "Provenance", f) for f in SLOTS["Provenance"]))
        _ = found.settings  # which raises where there is no sense in them
        return found
