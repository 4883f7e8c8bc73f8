"""The kernel tables of this build, and the scratch they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...runtime_c._ffi import ffi, lib
from ..errors import UserError
from .model import Model, aligned, words

REFERENCE = "ref"
_TOO_LARGE = 0xFFFFFFFF
_ANY = 0xFF


def kernel_tables() -> list[str]:
    """Names of the tables that this CPU can run: the reference first, the best last."""
    return [name for name, _ in _runnable()]


def name_of(table: Any) -> str:
    """The name of a table that this CPU can run."""
    return next(name for name, candidate in _runnable() if candidate == table)


def _runnable() -> Iterator[tuple[str, Any]]:
    i = 0
    while (raw := lib.ek_kernels_name(i)) != ffi.NULL:
        if (found := lib.ek_kernels_select(raw)) != ffi.NULL:
            yield ffi.string(raw).decode(), found
        i += 1


def table(name: str | None) -> Any:
    """The table called `name`, or the best one. Raises UserError if it cannot run here."""
    found = lib.ek_kernels_select(ffi.NULL if name is None else name.encode())
    if found == ffi.NULL:
        raise UserError(
            f"no kernel table '{name}' for this CPU; there are: {', '.join(kernel_tables())}"
        )
    return found


@dataclass(frozen=True)
class OpForm:
    """An operator as the runtime tells its bodies apart: its number in the file (OpRecord.number),
    the DType that it computes in (None for kinds that take any) and its struct."""

    kind: int
    element: int | None
    params: bytes


def scratch_bytes(kernels: str | None, op: OpForm) -> int:
    """Bytes of scratch that an operator needs while it runs.

    `kernels` None means the reference, whatever this machine is, so that a plan is the same
    everywhere.
    Raises ValueError if this build lacks the operator or the size leaves 32 bits.
    """
    return _scratch(table(kernels or REFERENCE), op)


def _scratch(table: Any, op: OpForm) -> int:
    padded = ffi.new("uint32_t[]", (len(op.params) + 3) // 4)
    ffi.memmove(padded, op.params, len(op.params))
    element = _ANY if op.element is None else int(op.element)
    found = int(lib.ek_scratch_bytes(table, int(op.kind), element, padded))
    if found == _TOO_LARGE:
        raise ValueError(f"operator kind {op.kind}: not in this build, or its scratch is too large")
    return found


class Planner:
    """Geometry and packing of another CPU's kernel table, to prepare files on this machine.

    Raises UserError if this build knows no table of that name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._table = lib.ek_kernels_plan(name.encode())
        if self._table == ffi.NULL:
            raise UserError(f"no kernel table '{name}' to plan for in this build of edgekit")

    def scratch_bytes(self, op: OpForm) -> int:
        """As `scratch_bytes`, for this table."""
        return _scratch(self._table, op)

    def packed(self, model: Model) -> list[bytes]:
        """The weights of each operator as the table wants them; empty where it packs nothing."""
        size = ffi.new("size_t *")
        found = []
        for op in range(model.handle.op_count):
            self._pack(model, op, ffi.NULL, size)
            room = aligned(int(size[0]))
            if room.size:
                self._pack(model, op, ffi.cast("void *", room.ctypes.data), size)
            found.append(room[: int(size[0])].tobytes())
        return found

    def _pack(self, model: Model, op: int, room: Any, size: Any) -> None:
        status = lib.ek_pack_weights(model.handle, op, self._table, room, size)
        if status != lib.EK_OK:
            raise UserError(f"{model.source}: packing for {self.name}: {words(status)}")
