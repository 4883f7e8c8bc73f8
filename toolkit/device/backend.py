"""What an accelerator's target brings: how models are placed, run and built for it.

`backend` in a target.toml names a module of that folder, whose BACKEND is a Backend. The toolkit
knows no accelerator by name; everything it asks of one is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from ... import targets
from ...targets import Target
from ..errors import UserError
from ..ir import Array
from ..runtime import IoInfo

Settings = Mapping[str, Any]
"""Values of a backend's settings by name, all of them."""


@dataclass(frozen=True)
class Setting:
    """Something of an accelerator that users choose with --set NAME=VALUE.

    `parse` makes the value of a word, or raises ValueError that says what would be right.
    """

    name: str
    help: str
    default: Any
    parse: Callable[[str], Any]


@dataclass(frozen=True)
class Table:
    """Rows to show: a column's name may begin with > (right) or ~ (elide), as cli/output has it."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Findings:
    """What a backend found or wrote, for programs and for people. `kept` are files that the user
    changed and a build left alone."""

    json: Mapping[str, Any]
    tables: tuple[Table, ...]
    lines: tuple[str, ...]
    kept: Sequence[str] = ()


class Answering(Protocol):
    """A session on a device: answers with arrays by ONNX name."""

    kernels: str

    @property
    def outputs(self) -> tuple[IoInfo, ...]: ...

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]: ...


class Backend(Protocol):
    """All methods raise UserError; `device` is what the user gave with --device."""

    settings: tuple[Setting, ...]

    def devices(self) -> str:
        """The devices of this machine, in words."""

    def session(
        self, source: str | Path, device: str | None, settings: Settings, max_memory: int | None
    ) -> Answering:
        """The file `source` on a device; what that lacks runs on this machine."""

    def bench(self, model: str | Path, device: str | None, settings: Settings) -> Findings:
        """One inference on a device."""

    def explore(self, model: str | Path, board: str) -> Findings:
        """Estimates of every size that the accelerator may have on a board of that name."""

    def build(
        self, model: str | Path, output: str | Path, settings: Settings, *, force: bool
    ) -> Findings:
        """Write a folder from which the accelerator is built and `model` run on it.

        Files of the user's are left alone as `edgekit.toolkit.device.build.build` does.
        """


def backend_of(target: Target) -> Backend | None:
    """The backend of a target; None where the runtime is cross-compiled for it, or it is this
    machine."""
    if not target.backend:
        return None
    module = import_module(f"{targets.__name__}.{target.folder.name}.{target.backend}")
    found: Backend = module.BACKEND
    return found


def settings_of(target: Target, given: Mapping[str, str] | None) -> dict[str, Any]:
    """The settings of a target's backend: those `given`, as words, and the defaults of the others.

    Raises UserError for names and values that it does not have, and for a target without settings.
    """
    backend, given = backend_of(target), given or {}
    known = {s.name: s for s in backend.settings} if backend else {}
    for name in given:
        if not known:
            raise UserError(f"--set {name}: {target.name} has no settings")
        if name not in known:
            raise UserError(
                f"--set {name}: {target.name} has no such setting; there are: {', '.join(known)}"
            )
    found = {name: setting.default for name, setting in known.items()}
    for name, word in given.items():
        try:
            found[name] = known[name].parse(word)
        except ValueError as why:
            raise UserError(f"--set {name}={word}: {why}") from why
    return found


__all__ = ["Answering", "Backend", "Findings", "Setting", "Table", "backend_of", "settings_of"]
