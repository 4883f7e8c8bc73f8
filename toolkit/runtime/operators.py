"""Operators of the user's that the C runtime of this process has."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...runtime_c._ffi import ffi, lib
from ..errors import CustomOperatorError

MOST = 256
"""Operators that the process has at most."""


@dataclass(frozen=True)
class Registered:
    """`handle` is an ek_custom_operator, of a library if it is C; `kept` is what it points to."""

    name: str
    version: int
    handle: Any
    native: bool
    kept: Any


_registered: dict[str, Registered] = {}
_here = threading.local()


def load_library(library: Path, symbols: Sequence[str], source: str) -> list[Registered]:
    """The operators that a library of `source` defines as ek_custom_SYMBOL, not yet registered.
    Raises CustomOperatorError."""
    found = []
    try:
        loaded = ctypes.CDLL(str(library))
        for symbol in symbols:
            at = ctypes.addressof(ctypes.c_char.in_dll(loaded, f"ek_custom_{symbol}"))
            handle = ffi.cast("const ek_custom_operator *", at)
            if ffi.NULL in (handle.name, handle.check, handle.run):
                raise ValueError(f"{symbol} lacks a name, a check or a run")
            name = ffi.string(handle.name).decode()
            found.append(Registered(name, int(handle.version), handle, True, loaded))
    except (OSError, ValueError) as why:
        raise CustomOperatorError(f"{source}: {why}") from why
    return found


def add(op: Registered) -> None:
    """Have the runtime find an operator, in place of one of its name."""
    if op.name not in _registered and len(_registered) == MOST:
        raise CustomOperatorError(f"{op.name}: more than {MOST} operators")
    _registered[op.name] = op
    for i, each in enumerate(_registered.values()):
        lib.ek_host_operators[i] = each.handle


def registered(name: str) -> Registered | None:
    """The operator that the runtime has of this name."""
    return _registered.get(name)


def any_registered() -> bool:
    """Whether the runtime has any."""
    return bool(_registered)


def keep_fault(fault: BaseException) -> None:
    """Keep what an operator raised, which cannot pass through C, for the caller of the runtime."""
    _here.fault = fault


def taken_fault() -> BaseException | None:
    """What a user's Python raised in the call of this thread that failed; once."""
    fault: BaseException | None = getattr(_here, "fault", None)
    _here.fault = None
    return fault
