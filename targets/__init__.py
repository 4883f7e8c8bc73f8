"""The supported devices. A folder is a device family: facts, kernels, toolchain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
_SOFT = "_soft"


@dataclass(frozen=True)
class Target:
    """The facts of one section `[target.<name>]` of targets/<kernels>/target.toml.

    Keys above the first section of a file apply to all of its targets.
    """

    name: str
    isa: str
    description: str
    kernels: str  # the folder with kernels.cmake (and toolchain.cmake, unless it is the host)
    tables: tuple[str, ...]  # kernel tables to include, best last; the reference is always included
    plan: str = ""  # the table that files are packed and planned for; empty: files stay generic
    alignment: int = 16  # bytes, of a model and of a session's memory
    bare_metal: bool = False
    backend: str = ""  # an accelerator's module in the folder, as toolkit/device/backend.py has it
    project: tuple[str, ...] = ()  # files made from its folder deploy/; empty: no such folder
    world: tuple[str, ...] = ()  # sources in addition to main.c: start-up, io, C library
    headers: tuple[str, ...] = ()  # included by these sources and deploy/
    compiler: str = "cc"
    linker: tuple[str, ...] = ()  # compiler flags for linking
    binutils: str = ""  # name pattern of size, nm and objcopy, with {}; empty: derived from gcc's
    packages: str = ""  # distribution packages of the compiler
    emulator: str = ""  # empty: runs on this machine
    emulator_package: str = ""
    emulator_arguments: tuple[str, ...] = ()
    counted: str = "instructions"  # what the emulator counts; never cycles
    hardware: str = ""  # the real device that it ran on, or "never"
    machine: str = ""  # of the emulator
    also: tuple[str, ...] = ()  # prefixes of names of cores and chips that use this target
    android: tuple[str, ...] = ()  # Android ABIs
    soft: bool = False  # there is a toolchain for the same core without an FPU: NAME_soft
    cpus: tuple[str, ...] = ()  # CPU models of the emulator
    memory: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # region: (address, bytes)

    @property
    def folder(self) -> Path:
        return FOLDER / self.kernels

    def tool(self, name: str) -> str:
        """The program of binutils called `name` for this target."""
        return (self.binutils or self.compiler.removesuffix("gcc") + "{}").format(name)


def _entries() -> Iterator[tuple[str, Path, dict[str, Any]]]:
    import tomllib  # takes time, and most files are made for no target

    for path in sorted(FOLDER.glob("*/target.toml")):
        facts = tomllib.loads(path.read_text())
        targets = facts.pop("target", {})
        for name, own in targets.items():
            yield name, path, {"kernels": path.parent.name, **facts, **own}


def names() -> list[str]:
    """The names of all targets."""
    return sorted(name for name, _, _ in _entries())


def load(name: str) -> Target:
    """The target of that name, or the target of a core or chip of that name.

    Case, hyphens and spaces are ignored: "Cortex-M4", "STM32F411" and "cortex_m4" are the same. The
    suffix "soft" selects soft floats. Raises ValueError listing the targets for an unknown name.
    """
    spelled = "".join(c if c.isalnum() else "_" for c in name.lower())
    if spelled.endswith(_SOFT):
        base = load(spelled.removesuffix(_SOFT))
        if not base.soft:
            soft = ", ".join(n for n, _, facts in _entries() if facts.get("soft"))
            raise ValueError(f"{base.name} has no soft-float variant; available for: {soft}")
        return replace(base, name=base.name + _SOFT, description=f"{base.isa}, soft floats")
    entries = list(_entries())
    serves = [(n, path, facts) for n, path, facts in entries if _squeezed(n) == _squeezed(spelled)]
    if not serves:
        serves = [
            (alias, path, {**facts, "name": n})
            for n, path, facts in entries
            for alias in facts.get("also", ())
            if _squeezed(spelled).startswith(_squeezed(alias))
        ]
    if serves:
        found, path, facts = max(serves, key=lambda entry: len(entry[0]))
        return _target(facts.pop("name", found), path, facts)
    known = [n for n, _, _ in entries]
    aliases = {alias: n for n, _, facts in entries for alias in facts.get("also", ())}
    close = get_close_matches(spelled, [*known, *aliases], n=1, cutoff=0.75)
    hint = f"did you mean '{close[0]}'? T" if close else "t"
    raise ValueError(f"no target '{name}'; {hint}here are: {', '.join(sorted(known))}")


def _squeezed(name: str) -> str:
    return name.replace("_", "")


def _target(name: str, path: Path, facts: dict[str, Any]) -> Target:
    known = {f.name for f in fields(Target)} - {"name"}
    wrong = sorted(set(facts) - known) + sorted({"isa", "description", "tables"} - set(facts))
    if wrong:
        raise ValueError(f"{path}: target '{name}': unknown or missing facts: {', '.join(wrong)}")
    own: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
    own["memory"] = {region: (at, size) for region, (at, size) in facts.get("memory", {}).items()}
    return Target(name=name, **own)
