"""What each device can do. A folder is a device family: facts, kernels, toolchain."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Target:
    """The facts of one `[target.<name>]` of targets/<kernels>/target.toml.

    What stands above the first `[target...]` of a file holds for all of its targets.
    """

    name: str
    isa: str
    description: str
    kernels: str  # the folder with kernels.cmake (and toolchain.cmake, unless it is the host)
    tables: tuple[str, ...]  # kernel tables built in, best last; the reference is always there
    plan: str = ""  # the table that files are packed and planned for; empty: they stay generic
    alignment: int = 16  # bytes, of a model and of a session's memory
    bare_metal: bool = False
    backend: str = ""  # an accelerator's module in the folder, as toolkit/device/backend.py has it
    project: tuple[str, ...] = ()  # what its folder deploy/ makes; empty: no such folder
    world: tuple[str, ...] = ()  # sources of a program beside main.c: start-up, io, C library
    headers: tuple[str, ...] = ()  # that they and deploy/ include
    compiler: str = "cc"
    linker: tuple[str, ...] = ()  # what the compiler wants to be told when it links
    binutils: str = (
        ""  # the names of its size, nm and objcopy, with {} for them; empty: as gcc has them
    )
    packages: str = ""  # the distribution's packages that hold the compiler
    emulator: str = ""  # empty: runs on this machine
    emulator_package: str = ""
    counted: str = "instructions"  # what the emulator counts; never cycles
    hardware: str = ""  # where it ran on real hardware
    machine: str = ""  # of the emulator
    cpus: tuple[str, ...] = ()  # that the emulator runs it as
    memory: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # region: (address, bytes)

    @property
    def folder(self) -> Path:
        return FOLDER / self.kernels

    def tool(self, name: str) -> str:
        """The program of binutils called `name` for this target."""
        return (self.binutils or self.compiler.removesuffix("gcc") + "{}").format(name)


def _entries() -> Iterator[tuple[str, Path, dict[str, Any]]]:
    for path in sorted(FOLDER.glob("*/target.toml")):
        facts = tomllib.loads(path.read_text())
        targets = facts.pop("target", {})
        for name, own in targets.items():
            yield name, path, {"kernels": path.parent.name, **facts, **own}


def names() -> list[str]:
    """Every target that edgekit knows."""
    return sorted(name for name, _, _ in _entries())


def load(name: str) -> Target:
    """The target of that name. Raises ValueError that names those that exist."""
    for found, path, facts in _entries():
        if found == name:
            return _target(name, path, facts)
    known = names()
    spelled = name.lower().replace("-", "_").replace(" ", "_")
    close = get_close_matches(spelled, known, n=1, cutoff=0.75)
    hint = f"did you mean '{close[0]}'? T" if close else "t"
    raise ValueError(f"no target '{name}'; {hint}here are: {', '.join(known)}")


def _target(name: str, path: Path, facts: dict[str, Any]) -> Target:
    known = {f.name for f in fields(Target)} - {"name"}
    wrong = sorted(set(facts) - known) + sorted({"isa", "description", "tables"} - set(facts))
    if wrong:
        raise ValueError(f"{path}: target '{name}': unknown or missing facts: {', '.join(wrong)}")
    own: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
    own["memory"] = {region: (at, size) for region, (at, size) in facts.get("memory", {}).items()}
    return Target(name=name, **own)
