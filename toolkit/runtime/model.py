"""An .edge file, opened and proved by the C runtime."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...runtime_c._ffi import ffi, lib
from ..errors import CustomOperatorError, UserError
from ..files import read_edge
from ..format import names, program
from ..format.model import NUMPY_OF, EdgeModel
from ..format.reader import counted_outputs, empty_ports, port_axes, provenance, read, varying
from ..format.schema import OpKind, RegionFn
from ..format.structs import size, unpack
from ..ir import Array, Shape
from ..numerics import BY_ONNX, HAS_NARROW, INTEGERS, STRING, UINT8, numpy_dtype
from ..preprocessing import Record, preprocessing_of
from .operators import registered, taken_fault

T = TypeVar("T")
D = TypeVar("D", bytes, memoryview)

_CACHE_LINE = 64
_NO_OP = 0xFFFFFFFF

_NUMPY_OF: dict[int, Any] = {int(code): dtype for code, dtype in NUMPY_OF.items()}


@dataclass(frozen=True)
class IoInfo:
    """An input or output. `dtype` is the type in the runtime, `onnx_dtype` that of the ONNX model.

    `shape` is in ONNX layout; `axes` are its axes in the order on the device (empty: the same).
    real = scale * (q - zero_point); scale 0: not quantized. `labels` are the strings of the numbers
    in the runtime (`is_text`), or for floats the names of the last axis.
    """

    name: str
    shape: Shape
    dtype: np.dtype[Any]
    onnx_dtype: np.dtype[Any]
    scale: float
    zero_point: int
    labels: tuple[str, ...] = ()
    is_text: bool = False
    axes: tuple[int, ...] = ()

    @cached_property
    def is_quantized(self) -> bool:
        """Whether it is float in the ONNX model and quantized in the file."""
        held = (*INTEGERS, UINT8)
        return self.scale > 0 and self.onnx_dtype.kind == "f" and self.dtype in held

    @cached_property
    def held_shape(self) -> Shape:
        """The shape on the device."""
        return tuple(self.shape[a] for a in self.axes) if self.axes else self.shape

    def as_held(self, array: Array) -> Array:
        """An array of `shape` with its axes in the order of the device."""
        return array.transpose(self.axes) if self.axes else array

    def as_onnx(self, held: Array) -> Array:
        """An array of `held_shape` with its axes in the order of the ONNX model."""
        return held.transpose(np.argsort(self.axes)) if self.axes else held


@dataclass(frozen=True)
class OpOutput:
    """The first output of an operator, in the runtime's layout (NHWC)."""

    name: str
    kind: OpKind
    shape: Shape
    dtype: np.dtype[Any]
    scale: float
    zero_point: int


def words(status: int) -> str:
    """A status as the runtime says it."""
    return str(ffi.string(lib.ek_status_str(status)).decode())


def aligned(nbytes: int) -> NDArray[np.uint8]:
    """Zeroed bytes that start on a cache line."""
    raw = np.zeros(nbytes + _CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + nbytes]


class Model:
    """A file, read and checked. Many sessions may share it, each in its own thread.

    `source` is a path, or the file's bytes, which `name` names in errors. `checksum=False` skips
    comparing the checksums; the structure is always proved. Raises UserError naming the file and
    what is wrong with it.
    """

    def __init__(
        self, source: str | Path | bytes, *, checksum: bool = True, name: str = "model"
    ) -> None:
        self.source = name if isinstance(source, bytes) else str(source)
        self._checked = checksum
        data = source if isinstance(source, bytes) else read_edge(source)
        self.data = aligned(len(data))
        self.data[:] = np.frombuffer(data, np.uint8)
        self.handle = ffi.new("ek_model *")
        status = lib.ek_model_open(
            self.handle,
            ffi.cast("void *", self.data.ctypes.data),
            len(data),
            lib.EK_OPEN_CHECKSUM if checksum else lib.EK_OPEN_DEFAULT,
        )
        if status != lib.EK_OK:
            raise self._refusal(status)
        self._axes = self._read(port_axes, data)
        self.symbols, self.varying_axes = self._read(varying, data)
        self._see_ports()
        self.empty_inputs, self.empty_outputs = self._empty_ports(data)
        self.counted = self._read(counted_outputs, data)
        self._names = self._op_names()

    def _see_ports(self) -> None:
        self.inputs = self._ios(self._axes[0], lib.ek_model_input, lib.ek_input_labels)
        self.outputs = self._ios(self._axes[1], lib.ek_model_output, lib.ek_output_labels)

    def at(self, handle: Any) -> Model:
        """This model at the sizes that a session is bound to, whose copy is at `handle`."""
        bound = copy(self)
        bound.handle = handle
        bound.__dict__.pop("op_outputs", None)
        bound._see_ports()
        return bound

    @property
    def bind_bytes(self) -> int:
        """What a session of it needs to be bound to sizes; 0 where no dimension varies."""
        if not self.symbols:
            return 0
        needed = ffi.new("size_t *")
        if (status := lib.ek_session_bind_size(self.handle, needed)) != lib.EK_OK:
            raise UserError(f"{self.source}: {words(status)}")
        return int(needed[0])

    @cached_property
    def op_outputs(self) -> list[OpOutput]:
        """What operators give, in order of execution."""
        return [self._op_output(i) for i in range(self.handle.op_count)]

    def parsed(self, constants: bool = True) -> EdgeModel:
        """All that the file holds, the `constants` if they are wanted. Raises UserError."""
        return read(self.data.data, self.source, checked=self._checked, constants=constants)

    @cached_property
    def always_run(self) -> frozenset[int]:
        """The operators that every run runs once: those in no branch and no loop, borders left
        out."""
        if all(out.kind != OpKind.Region for out in self.op_outputs):
            return frozenset(range(len(self.op_outputs)))
        found, depth = set(), 0
        for i, op in enumerate(self.parsed(constants=False).ops):
            fn = op.params["fn"] if op.kind == OpKind.Region else None
            depth += fn in (RegionFn.If, RegionFn.Loop)
            if depth == 0:
                found.add(i)
            depth -= fn in (RegionFn.EndIf, RegionFn.EndLoop)
        return frozenset(found)

    def _explain(self, status: int) -> str:
        what = words(status)
        op = int(self.handle.failed_op)
        remedy = {
            lib.EK_ERR_VERSION: "upgrade edgekit, or convert the model again",
            lib.EK_ERR_CORRUPT: "write it again with edgekit quantize or convert",
            lib.EK_ERR_CHECKSUM: "fetch or write it again",
        }.get(status)
        what = f"{what}; {remedy}" if remedy else what
        return what if op == _NO_OP else f"{self._blamed(op)}: {what}"

    def _refusal(self, status: int) -> UserError:
        """What to raise for a file that did not open; other than UserError where that was thrown
        by an operator of the user's."""
        fault, op = taken_fault(), int(self.handle.failed_op)
        text = f"{self.source}: {self._explain(status)}"
        if fault is not None and not isinstance(fault, Exception):
            raise fault
        if fault is not None:
            return CustomOperatorError(f"{self.source}: {self._blamed(op)}: {fault}")
        custom = None if op == _NO_OP else self._custom(op)
        if custom is None:
            return UserError(text)
        name, version = custom
        known = registered(name)
        if known is None:
            return CustomOperatorError(
                f"{self.source}: custom operator {name} is not registered; pass its Python or C "
                "file with --op (edgekit.register_op)"
            )
        if known.version != version:
            return CustomOperatorError(
                f"{self.source}: operator {name} is of version {version} in the file and "
                f"{known.version} in the registered code; convert the model again, or register "
                "that version"
            )
        return CustomOperatorError(f"{text}; its check, or what it needs of scratch, says so")

    def _custom(self, op: int) -> tuple[str, int] | None:
        """Name and version of an operator of the user's; None of others."""
        try:
            kind, _ = self._first_output(op)
            if kind != OpKind.Custom:
                return None
            model = self.parsed()
            found = model.ops[op]
            return model.custom_name(found), int(found.params["version"])
        except (ValueError, IndexError, struct.error):  # a file that is not what it says
            return None

    def _blamed(self, op: int) -> str:
        """An operator that was refused, which need not even lie in the file."""
        name = self._op_names()[op]
        try:
            kind, _ = self._first_output(op)
        except struct.error:
            return f"operator {op}{f' {name!r}' if name else ''}"
        kind_name = OpKind(kind).name if kind in set(OpKind) else f"kind {kind}"
        return f"operator {op} ({kind_name}{f' {name!r}' if name else ''})"

    def _ios(self, ordered: Sequence[tuple[int, ...]], get: Any, labels: Any) -> tuple[IoInfo, ...]:
        """The inputs or outputs, of which `ordered` are the axes."""
        io, size = ffi.new("ek_io *"), ffi.new("uint32_t *")
        found = []
        for i, axes in enumerate(ordered):
            if (status := get(self.handle, i, io)) != lib.EK_OK:
                raise UserError(f"{self.source}: {words(status)}")
            name = ffi.string(io.name).decode(errors="replace")
            if io.onnx_dtype not in BY_ONNX:
                raise UserError(
                    f"{self.source}: '{name}' has ONNX type {io.onnx_dtype}, which is unknown here"
                    f"{'' if HAS_NARROW else '; without ml_dtypes: pip install ml_dtypes'}"
                )
            texts = labels(self.handle, i, size)
            text = bytes(ffi.buffer(texts, size[0])).decode(errors="replace") if size[0] else ""
            held = tuple(io.shape[d] for d in range(io.rank))
            found.append(
                IoInfo(
                    name,
                    tuple(held[axes.index(a)] for a in range(len(axes))) if axes else held,
                    _NUMPY_OF[io.dtype],
                    numpy_dtype(io.onnx_dtype),
                    float(io.scale),
                    int(io.zero_point),
                    tuple(text.split("\0")[:-1]),
                    io.onnx_dtype == STRING,
                    axes,
                )
            )
        return tuple(found)

    def _read(self, part: Callable[[D], T], data: D) -> T:
        """A part of the file that the runtime does not check."""
        try:
            return part(data)
        except Exception as why:
            raise UserError(f"{self.source}: corrupted .edge file ({why})") from why

    def _empty_ports(self, data: bytes) -> list[dict[str, Array]]:
        """By name, the arrays without elements of inputs and outputs that the runtime ignores."""

        def arrays(data: bytes) -> list[dict[str, Array]]:
            return [
                {io.name: np.zeros(io.shape, BY_ONNX[io.onnx_dtype].numpy) for io in ios}
                for ios in empty_ports(data)
                if all(0 in io.shape for io in ios)
            ]

        found = self._read(arrays, data)
        if len(found) < 2:
            raise UserError(f"{self.source}: corrupted .edge file (an empty port has elements)")
        return found

    def _struct(self, field: str, struct: str, i: int) -> dict[str, Any]:
        at = ffi.cast("const char *", getattr(self.handle, field)) + i * size(struct)
        return unpack(struct, bytes(ffi.buffer(at, size(struct))), 0)

    def _op_names(self) -> list[str]:
        """Nothing for operators without a name, as all are where the names make no sense."""
        count = int(self.handle.op_count)
        try:
            found = names.decode(self._bytes("names", "names_bytes"))
        except (ValueError, IndexError):
            found = []
        return found if len(found) == count else [""] * count

    def _bytes(self, field: str, length: str) -> bytes:
        at, size = getattr(self.handle, field), int(getattr(self.handle, length))
        return bytes(ffi.buffer(at, size)) if size else b""

    @cached_property
    def preprocessing(self) -> dict[str, Record]:
        """By input, how it is made of pictures or sound, as the file says. Raises UserError."""
        return preprocessing_of(self._read(provenance, self.data.data), self.source)

    def of_raw(self, feed: Any) -> Any:
        """The feed, with pixels (uint8) and sound (int16) made as the file says, where the input
        takes floats."""
        if not self.preprocessing:
            return feed
        arrays = feed if isinstance(feed, Mapping) else {io.name: feed for io in self.inputs[:1]}
        made = {}
        for io in self.inputs:
            record, given = self.preprocessing.get(io.name), arrays.get(io.name)
            if record is None or given is None or io.onnx_dtype.kind != "f":
                continue
            if isinstance(given, np.ndarray) and record.takes(given, io.dtype):
                made[io.name] = record.of_raw(given, io.name)
        return {**arrays, **made} if made else feed

    @cached_property
    def _program(self) -> bytes:
        return self._bytes("program", "program_bytes")

    def _first_output(self, op: int) -> tuple[int, int]:
        return program.first_output(self._program, self.handle.ops[op])

    def _op_output(self, i: int) -> OpOutput:
        kind, tensor = self._first_output(i)
        t = self._struct("tensors", "Tensor", tensor)
        t |= self._struct("types", "TensorType", t["type"])
        return OpOutput(
            self._names[i],
            OpKind(kind),
            tuple(self.handle.dims[t["dims"] + d] for d in range(t["rank"])),
            _NUMPY_OF[t["dtype"]],
            t["scale"],
            t["zero_point"],
        )
