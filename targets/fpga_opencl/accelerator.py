"""The accelerator through the C of host/: devices, programs on them, sessions."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ...runtime_c._ffi import ffi, lib
from ...toolkit.errors import UserError
from ...toolkit.runtime import MAX_MEMORY, Model, Session
from ...toolkit.runtime.session import Turn

SECONDS = 60.0
"""Time that one layer may take on a device before it is given up."""


@dataclass(frozen=True)
class OpenClDevice:
    """An OpenCL device of this machine. `channels`: stages can run at the same time."""

    index: int
    platform: str
    name: str
    version: str
    memory_bytes: int
    channels: bool
    accelerator: bool
    alignment: int


@dataclass(frozen=True)
class OpStats:
    """What an operator did in the last run; bytes crossed because of it."""

    on_device: bool
    to_device_bytes: int
    to_host_bytes: int
    seconds: float


def require_host() -> None:
    """Raises UserError where the C of host/ is not in the runtime of this process."""
    if not hasattr(lib, "ek_opencl_open"):
        raise UserError(
            "this build of edgekit cannot drive the FPGA accelerator (EDGEKIT_BACKENDS)"
        )


def opencl_devices() -> list[OpenClDevice]:
    """Every device of every OpenCL driver here. Raises UserError that says why there is none."""
    require_host()
    info, error = ffi.new("ek_opencl_info *"), ffi.new("ek_opencl_error *")
    found: list[OpenClDevice] = []
    while (status := lib.ek_opencl_device_info(len(found), info, error)) == lib.EK_OK:
        found.append(
            OpenClDevice(
                len(found),
                _text(info.platform),
                _text(info.name),
                _text(info.version),
                int(info.memory_bytes),
                bool(info.channels),
                bool(info.accelerator),
                int(info.alignment),
            )
        )
    if status != lib.EK_ERR_ARG or not found:
        raise UserError(_text(error.text))
    return found


class _OnDevice:
    """A context manager for what lives on a device: sessions are closed before their device."""

    _finalizer: weakref.finalize[..., object]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """False after `close`."""
        return self._finalizer.alive

    def close(self) -> None:
        """Let go of what this holds on the device."""
        self._finalizer()


class Accelerator(_OnDevice):
    """A device with the accelerator's program on it. A context manager.

    Sessions on it, of any threads, run one after the other: each takes `turn`.
    `program` is OpenCL C, built with `options`, or a binary for the device. `memory_bytes` limits
    what is allocated there (0: what it has). Raises UserError.
    """

    def __init__(
        self,
        device: OpenClDevice,
        program: bytes,
        options: str = "",
        *,
        seconds: float = SECONDS,
        memory_bytes: int = 0,
    ) -> None:
        self.device = device
        self.turn = Turn()
        self._error = ffi.new("ek_opencl_error *")
        code, flags = ffi.from_buffer(program), ffi.new("char[]", options.encode())
        settings = ffi.new("ek_opencl_settings *")
        settings.device, settings.program, settings.program_bytes = device.index, code, len(program)
        settings.options, settings.seconds = flags, seconds
        settings.memory_bytes = memory_bytes
        handle = ffi.new("ek_opencl **")
        self.must(lib.ek_opencl_open(handle, settings, self._error))
        self.handle = handle[0]
        self._finalizer = weakref.finalize(self, lib.ek_opencl_close, self.handle)
        config = ffi.new("ek_opencl_config *")
        lib.ek_opencl_get_config(self.handle, config)
        self.config: dict[str, int] = {name: int(getattr(config, name)) for name, _ in _FIELDS}

    def binary(self) -> bytes:
        """The built program, which opens again without building."""
        size = ffi.new("size_t *")
        self.must(lib.ek_opencl_binary(self.handle, ffi.NULL, size, self._error))
        room = ffi.new("uint8_t[]", int(size[0]))
        self.must(lib.ek_opencl_binary(self.handle, room, size, self._error))
        return bytes(ffi.buffer(room))

    def must(self, status: int) -> None:
        if status != lib.EK_OK:
            raise UserError(f"{self.device.name}: {_text(self._error.text)}")

    @property
    def error(self) -> Any:
        """Where the backend says what went wrong."""
        return self._error


class AcceleratedSession(_OnDevice, Session):
    """A session whose operators run where the file places them (`EdgeModel.placement`).

    Results are those of a Session, to the bit. A context manager. Raises UserError.
    """

    def __init__(
        self,
        source: str | Path | bytes | Model,
        accelerator: Accelerator,
        kernels: str | None = None,
        max_memory: int | None = MAX_MEMORY,
    ) -> None:
        super().__init__(source, kernels, max_memory)
        self._accelerator = accelerator
        handle = ffi.new("ek_accelerated **")
        with accelerator.turn:
            accelerator.must(
                lib.ek_accelerated_open(
                    handle,
                    accelerator.handle,
                    self._session,
                    self.model.handle,
                    accelerator.error,
                )
            )
        self._accelerated = handle[0]
        self._finalizer = weakref.finalize(self, lib.ek_accelerated_close, self._accelerated)
        self.kernels = f"{accelerator.device.name}, host {self.kernels}"

    def _execute(self) -> None:
        acc = self._accelerator
        with acc.turn:
            acc.must(lib.ek_accelerated_run(self._open(), acc.error))

    def _open(self) -> Any:
        """The handle; UserError once the session or its device is closed."""
        if not (self.is_open and self._accelerator.is_open):
            raise UserError(f"{self.model.source}: the session on the device is closed")
        return self._accelerated

    def close(self) -> None:
        """Let go of what this holds on the device, after a run of another thread."""
        with self._turn, self._accelerator.turn:
            super().close()

    def stats(self) -> list[OpStats]:
        """Of the last run: each operator, and last what came home for the outputs."""
        op = ffi.new("ek_accelerated_op *")
        found = []
        with self._turn:
            for i in range(len(self.op_outputs) + 1):
                lib.ek_accelerated_get_op(self._open(), i, op)
                found.append(
                    OpStats(
                        bool(op.on_device),
                        int(op.to_device_bytes),
                        int(op.to_host_bytes),
                        float(op.seconds),
                    )
                )
        return found


_FIELDS = ffi.typeof("ek_opencl_config").fields if hasattr(lib, "ek_opencl_open") else []


def _text(chars: Any) -> str:
    return str(ffi.string(chars).decode(errors="replace")).strip()
