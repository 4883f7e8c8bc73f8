"""Cross-compile the runtime for a target, with the operators that one model uses and no others."""

from __future__ import annotations

import atexit
import json
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ... import runtime_c, targets
from ...targets import Target
from ..errors import UserError
from ..files import read_edge
from ..format.model import EdgeModel
from ..format.reader import read
from ..format.schema import OpKind
from ..format.strip import stripped
from ..format.writer import write
from ..retarget import retarget
from .custom import CFile, compiles_not, files_for
from .deploy import link_deployment
from .described import describe_for_c
from .folder import check_folder, install
from .naming import Names, names_of, own_symbols
from .process import ProgramFailedError, generator, require, run
from .project import Prepared, write_project
from .self_test import self_test

# Flash is what firmware is short of; devices with an operating system are not.
BUILD_TYPE = {True: "MinSizeRel", False: "Release"}

ARENAS = ("shared", "apart")
"""Memory of several models: of the largest for all, or of each."""

CALLED_BY_USERS = (
    "ek_model_open",
    "ek_session_size",
    "ek_session_init",
    "ek_session_input",
    "ek_session_output",
    "ek_run",
    "ek_kernels_select",
)


@dataclass(frozen=True)
class Size:
    """Bytes of the runtime with one model's operators, linked without what is never called.

    `library` is what it calls of the compiler's and the C library, code and constants, on bare
    metal; elsewhere they are the system's.
    """

    text: int
    rodata: int
    data: int
    bss: int
    library: int = 0

    @property
    def flash(self) -> int:
        """All but variables that start as zeros."""
        return self.text + self.rodata + self.data + self.library


@dataclass(frozen=True)
class Archive:
    """A compiled runtime."""

    library: Path
    target: Target
    size: Size
    undefined: list[str]
    own_symbols: list[str]  # that depend on the operators built in
    sources: list[tuple[Path, list[str]]]  # files and their compiler flags
    generated: list[Path]
    flags: list[str]  # of the compiler and the linker, that the toolchain file gives


@dataclass(frozen=True)
class Built:
    """What `edgekit build` made. `kept` are files that the user changed; they are as they were."""

    output: str
    target: str
    size: dict[str, int]
    undefined: list[str]
    files: list[str]
    kept: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def load_target(name: str) -> Target:
    """The target called `name`. Raises UserError."""
    try:
        return targets.load(name)
    except ValueError as why:
        raise UserError(str(why)) from why


def prepare(data: bytes, target: Target, source: str = "model") -> bytes:
    """The file as the target executes it: packed for its kernels if it wants that."""
    model = read(data, source)
    if not target.plan or model.target == target.plan:
        return data
    return retarget(data, model, target.plan)


@dataclass(frozen=True)
class Parts:
    """What of the runtime a model needs, by the names of the C files."""

    ops: tuple[str, ...]
    codecs: tuple[str, ...]
    starts: bool = False  # initial values of persistent tensors
    regions: bool = False  # operators that may not run, or run again
    several: bool = False  # models, on one arena
    custom: tuple[CFile, ...] = ()  # operators of the user's


def parts_of(*models: EdgeModel) -> Parts:
    """Bodies of operators, codecs of weights, C of the user's. Raises UserError without that."""
    every = [(op, op.form(model.tensors)) for model in models for op in model.ops]
    coded = {name for op, name in every if op.is_coded}
    ops = {f"{name}_coded" if name in coded else name for _, name in every}
    codecs = {op.codec.name.lower() for op, _ in every if op.is_coded}
    starts = any(model.starts for model in models)
    regions = any(op.kind == OpKind.Region for op, _ in every)
    several, custom = len(models) > 1, files_for(models)
    return Parts(tuple(sorted(ops)), tuple(sorted(codecs)), starts, regions, several, custom)


_compiled: dict[tuple[str, Parts], Archive] = {}


def compile_runtime(target: Target, *models: EdgeModel) -> Archive:
    """libedgekit.a for `target` with the operators of `models`.

    It is compiled once in this process and lies in a folder that goes when the process ends. Raises
    UserError for a missing toolchain.
    """
    parts = parts_of(*models)  # what models lack is said before what this machine lacks
    compiler = require(target.compiler, target.packages, f"building for {target.name}")
    cmake = require("cmake", "cmake", f"building for {target.name}")
    key = target.name, parts
    if key not in _compiled:
        folder = tempfile.TemporaryDirectory()
        try:
            _compiled[key] = _compile(target, parts, Path(folder.name), compiler, cmake)
        except BaseException:
            folder.cleanup()
            raise
        atexit.register(folder.cleanup)
    return _compiled[key]


def toolchain_options(target: Target) -> list[str]:
    """What cmake is told to compile for a target; nothing for this machine's own compiler."""
    file = target.folder / "toolchain.cmake"
    if not file.exists():
        return [f"-DCMAKE_C_COMPILER={target.compiler}"]
    return [f"-DCMAKE_TOOLCHAIN_FILE={file}", f"-DEDGEKIT_TARGET={target.name}"]


def _compile(target: Target, parts: Parts, folder: Path, compiler: str, cmake: str) -> Archive:
    known = any(name == target.name for name, _ in _compiled)
    command: list[str | Path] = [
        cmake,
        "-S",
        runtime_c.SOURCE,
        "-B",
        folder,
        *generator(known),
        f"-DCMAKE_BUILD_TYPE={BUILD_TYPE[target.bare_metal]}",
        *toolchain_options(target),
        f"-DEDGEKIT_TARGETS={target.kernels}",
        f"-DEDGEKIT_TARGETS_DIR={targets.FOLDER}",
        f"-DEDGEKIT_TABLES={';'.join(target.tables)}",
        f"-DEDGEKIT_OPS={';'.join(parts.ops)}",
        f"-DEDGEKIT_CODECS={';'.join(parts.codecs)}",
        f"-DEDGEKIT_CUSTOM={';'.join(str(file.path) for file in parts.custom)}",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        f"-DEDGEKIT_STARTS={'ON' if parts.starts else 'OFF'}",
        f"-DEDGEKIT_REGIONS={'ON' if parts.regions else 'OFF'}",
        f"-DEDGEKIT_PACK_AT_LOAD={'OFF' if target.plan else 'ON'}",
    ]
    try:
        run(command, f"configuring the runtime for {target.name}")
        run([cmake, "--build", folder, "--parallel", "2"], f"compiling for {target.name}")
    except ProgramFailedError as why:
        if (theirs := compiles_not(parts.custom, why.printed)) is not None:
            raise theirs from why
        missing = re.search(r"fatal error: (\S+): No such file|cannot read spec file", why.printed)
        if missing is None:
            raise
        raise UserError(
            f"building for {target.name}: {compiler} finds no C library "
            f"({missing[1] or 'specs'} is missing); install it: apt-get install {target.packages}"
        ) from why
    library = folder / "libedgekit.a"
    size, undefined = _measure(library, target, compiler, folder, parts.several)
    generated = [
        folder / f"ek_{what}.inc" for what in ("ops", "codecs", "custom", "targets", "plans")
    ]
    own = own_symbols(target, library)
    return Archive(
        library, target, size, undefined, own, _sources(folder), generated, _flags(folder)
    )


def build(
    models: str | Path | Sequence[str | Path],
    target_name: str,
    output: str | Path,
    *,
    sources: bool = False,
    name: str | None = None,
    force: bool = False,
    layout: str | None = None,
    arena: str = ARENAS[0],
) -> Built:
    """Write what a firmware project needs of models on a target into the folder `output`.

    libNAME.a (or, with `sources`, the C files it is made of), headers, each model without
    provenance and names of operators as .edge and as a C array, its self-test, what makes inputs of
    pixels if the file says how, CMakeLists.txt and main.c that build as they stand, size.json.

    Files and symbols of one model begin with `name`, by default that of its file. Those of several
    begin with the names of their files; `name` is that of their library, which holds the runtime
    once, and main.c has one `arena` for all ("shared") or one for each ("apart").

    `layout` (library.LAYOUTS) makes it a library of C files for another build system instead, with
    the files that the models need and an example.

    What an earlier build wrote is replaced; a main.c that was edited since is kept, and any other
    file that would be lost is refused. `force` overwrites both. Raises UserError; then the folder
    is as it was.
    """
    target, out = load_target(target_name), Path(output)
    files = [Path(models)] if isinstance(models, (str, Path)) else [Path(m) for m in models]
    check_folder(out)
    each, names = names_of(target, files, name)
    parts = [_prepared(file, target, own) for file, own in zip(files, each, strict=True)]
    shared = arena == "shared" and len(parts) > 1
    with tempfile.TemporaryDirectory() as temporary:
        archive = compile_runtime(target, *(part.model for part in parts))
        staged = Path(temporary) / "out"
        size = write_project(staged, parts, archive, names, sources, layout, shared)
        if target.project and layout is None:
            link_deployment(staged, target, Path(temporary) / "project")
        kept = install(staged, out, force=force, own=("main.c", "example/main.c"))
        written = sorted(str(p.relative_to(staged)) for p in staged.rglob("*") if p.is_file())
    return Built(str(out), target.name, size, archive.undefined, written, kept)


def _prepared(file: Path, target: Target, names: Names) -> Prepared:
    generic = read_edge(file)
    whole = read(prepare(generic, target, str(file)), str(file))
    parsed = stripped(whole)
    about = describe_for_c(whole, names.prefix, str(file))
    return Prepared(names, write(parsed), parsed, about, self_test(generic))


def _sources(folder: Path) -> list[tuple[Path, list[str]]]:
    """The files that were compiled, each with its flags."""
    found = []
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        flags = [w for w in words[1:] if re.match(r"-[DOWfm]|-std", w) and not w.startswith("-MF")]
        found.append((Path(os.path.normpath(entry["file"])), flags))
    return found


def _measure(
    library: Path, target: Target, compiler: str, folder: Path, several: bool
) -> tuple[Size, list[str]]:
    """Link what a user's program reaches into one object, and look at its sections and symbols."""
    linked = folder / "reached.o"
    called = (*CALLED_BY_USERS, *(["ek_session_init_shared"] if several else []))
    roots = [f"-Wl,-u,{symbol}" for symbol in called]
    command: list[str | Path] = [
        compiler,
        *target.linker,
        "-r",
        "-nostdlib",
        "-Wl,--gc-sections",
        f"-Wl,-e,{CALLED_BY_USERS[0]}",
    ]
    run([*command, *roots, library, "-o", linked], "linking the runtime")
    total = _sections(target, linked)
    if target.bare_metal:
        whole = folder / "whole.o"
        own = [*command, *_flags(folder), "-T", os.devnull, *roots, library]
        run([*own, *_LIBRARIES, "-o", whole], "linking the runtime with its libraries")
        both = _sections(target, whole)
        total["library"] = sum(both[k] - total[k] for k in ("text", "rodata", "data"))
    symbols = run([target.tool("nm"), "-u", linked], "listing the runtime's symbols")
    undefined = {line.split()[-1] for line in symbols.splitlines() if line.strip()}
    return Size(**total), sorted(undefined - {"_GLOBAL_OFFSET_TABLE_"})  # which the linker makes


_LIBRARIES = ("-Wl,--start-group", "-lc", "-lm", "-lgcc", "-Wl,--end-group")


def _flags(folder: Path) -> list[str]:
    """What the toolchain file gives the compiler and the linker: they choose the libraries."""
    cache = (folder / "CMakeCache.txt").read_text()
    names = ("CMAKE_C_FLAGS", "CMAKE_EXE_LINKER_FLAGS")
    lines = (re.search(rf"^{name}:STRING=(.*)$", cache, re.M) for name in names)
    return [word for line in lines if line is not None for word in shlex.split(line[1])]


def _sections(target: Target, linked: Path) -> dict[str, int]:
    """Bytes of the sections of an object, by the first part of their names."""
    total = {"text": 0, "rodata": 0, "data": 0, "bss": 0}
    sections = run([target.tool("size"), "-A", linked], "measuring the runtime")
    for name, size in re.findall(r"^\.(\w+)\S*\s+(\d+)", sections, re.M):
        name = name.removeprefix("s") if name in ("sdata", "sbss", "srodata") else name
        if name in total:
            total[name] += int(size)
    return total


__all__ = ["ARENAS", "Archive", "Built", "Size", "build", "compile_runtime", "load_target"]
