"""What there is to build for, and what of it this machine can build and run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ... import targets
from ..errors import UserError
from ..format.model import DTYPE_OF
from ..format.schema import FORMS
from ..numerics import ACTIVATIONS
from .backend import Backend, backend_of
from .process import find


@dataclass(frozen=True)
class TargetInfo:
    """A target; `toolchain` and `emulator` are "found", "not needed", or how to install them.

    `dtypes` are those of activations: every target executes all operators, by portable kernels
    where its own do less. `settings` are those of --set, by name: help and default.
    """

    name: str
    description: str
    isa: str
    dtypes: list[str]
    tables: list[str]
    toolchain: str
    emulator: str
    hardware: str
    settings: dict[str, dict[str, Any]]
    also: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def listing() -> list[TargetInfo]:
    """Every target, by name."""
    computed = {element for _, _, element in FORMS}
    served = [str(t) for t in ACTIVATIONS if DTYPE_OF[t] in computed]
    rows = []
    for t in map(targets.load, targets.names()):
        host, backend = not t.emulator, backend_of(t)
        rows.append(
            TargetInfo(
                t.name,
                t.description,
                t.isa,
                served,
                list(t.tables),
                "not needed" if backend else _state(t.compiler, t.packages),
                _devices(backend)
                if backend
                else "not needed"
                if host
                else _state(t.emulator, t.emulator_package),
                "yes" if host and not backend else t.hardware or "never",
                {s.name: {"help": s.help, "default": s.default} for s in backend.settings}
                if backend
                else {},
                list(t.also),
            )
        )
    return rows


def _devices(backend: Backend) -> str:
    """The accelerator's devices on this machine, or why there is none."""
    try:
        return backend.devices()
    except UserError as why:
        return str(why)


def _state(program: str, package: str) -> str:
    return "found" if find(program) else f"apt-get install {package}"
