"""What a file takes on one target: memory planned, code linked, stack seen in the emulator."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from ...targets import Target
from ..errors import UserError
from ..format.model import EdgeModel
from ..format.reader import read
from ..format.strip import stripped
from ..format.writer import write
from ..runtime import Session
from .bench import random_inputs
from .build import compile_runtime, prepare
from .emulate import Device

T = TypeVar("T")

_SESSION_WORDS = 12
"""EK_SESSION_OVERHEAD, in pointers."""


@dataclass(frozen=True)
class Footprint:
    """Bytes on a target, as `build` prepares the file there, and instructions of one inference.

    `session_bytes` is the arena, state, and the session itself. What could not be measured here is
    None, and `uncounted` says why.
    """

    target: str
    model_bytes: int
    arena_bytes: int
    session_bytes: int | None
    code_bytes: int | None = None
    stack_bytes: int | None = None
    uncounted: tuple[str, ...] = ()
    instructions: int | None = None

    @property
    def flash_bytes(self) -> int:
        """The model and the runtime's code and constants, if these are known."""
        return self.model_bytes + (self.code_bytes or 0)

    @property
    def ram_bytes(self) -> int:
        """The session and its stack, or what of both is known."""
        session = self.arena_bytes if self.session_bytes is None else self.session_bytes
        return session + (self.stack_bytes or 0)


def planned(data: bytes, target: Target) -> Footprint:
    """What is known on the target without compiling or running anything.

    The session is not, where kernels pack the weights when it is made.
    """
    return _planned(stripped(read(prepare(data, target))), target)


def _planned(model: EdgeModel, target: Target) -> Footprint:
    memory = model.memory
    pointer = 4 if target.emulator else struct.calcsize("P")  # planned targets are 32-bit cores
    session = memory.arena_bytes + memory.persistent_bytes + _SESSION_WORDS * pointer
    known = session if target.plan else None
    return Footprint(target.name, len(write(model)), memory.arena_bytes, known)


def footprint(data: bytes, target: Target) -> Footprint:
    """Compile, link and run the generic file `data` for `target`, as far as programs are there."""
    model = stripped(read(prepare(data, target)))
    found = _planned(model, target)

    def code() -> int:
        return compile_runtime(target, model).size.flash

    def run() -> tuple[int, int, int | None, tuple[str, ...]]:
        with Device(data, target) as device:
            inputs = [random_inputs(device.model)]
            ran = device.run(inputs)
            counted, why = _if_possible(
                lambda: device.run(inputs, count=True).instructions, "instructions are not counted"
            )
        return ran.session_bytes, ran.stack_bytes, counted, why

    linked, no_code = _if_possible(code, "code is not counted")
    if linked is None:
        return replace(found, uncounted=no_code)
    if not target.emulator:
        session = Session(data, max_memory=None, numbers=True).memory_bytes
        return replace(
            found,
            session_bytes=found.session_bytes or session,
            code_bytes=linked,
            uncounted=(f"stack is not counted: {target.name} is this machine",),
        )
    ran, no_stack = _if_possible(run, "stack is not counted")
    if ran is None:
        return replace(found, code_bytes=linked, uncounted=no_stack)
    needed, stack, counted, no_stack = ran
    if not stack:
        no_stack = (*no_stack, "stack is not counted: the emulator does not measure it")
    return replace(
        found,
        session_bytes=found.session_bytes or needed,
        code_bytes=linked,
        stack_bytes=stack or None,
        uncounted=no_stack,
        instructions=counted,
    )


def _if_possible(measure: Callable[[], T], otherwise: str) -> tuple[T | None, tuple[str, ...]]:
    try:
        return measure(), ()
    except UserError as why:
        return None, (f"{otherwise}: {why}",)


__all__ = ["Footprint", "footprint", "planned"]
