"""The folder that `edgekit build` leaves: a small firmware project that builds as it stands."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import runtime_c, targets
from ...targets import Target
from ..format.model import EdgeModel
from ..runtime import Model
from .deploy import write_deployment
from .described import Described, c_string
from .library import SINGLE_FILE, SOURCES, write_library
from .naming import PLAIN, PLAIN_NAMES, Names, is_own, rename_archive
from .self_test import SelfTest
from .templates import render

if TYPE_CHECKING:
    from .build import Archive

STACK_BYTES = 0x2000

_OF_TABLES = "-DEK_OMIT_"  # what a table leaves out
INSTANCES = "generated"
"""The build's folder of files that are one for each element type."""

_OF_GCC = ("-fno-schedule-insns",)


@dataclass(frozen=True)
class Prepared:
    """A model as it goes into a program: `data` are the bytes of `model`, for the target."""

    names: Names
    data: bytes
    model: EdgeModel
    about: Described
    test: SelfTest | None


def write_linker_script(folder: Path, target: Target) -> Path:
    """Write the script for the board that QEMU emulates; return its path."""
    (code, code_bytes), (ram, ram_bytes) = target.memory["code"], target.memory["ram"]
    render(
        f"{target.folder.name}/link.ld",
        folder,
        target=target.name,
        code_origin=hex(code),
        code_bytes=hex(code_bytes),
        ram_origin=hex(ram),
        ram_bytes=hex(ram_bytes),
        stack_bytes=hex(STACK_BYTES),
    )
    return folder / "link.ld"


def write_model_source(folder: Path, data: bytes, names: Names = PLAIN_NAMES) -> None:
    """Write the file as a C array that stays in flash."""
    values: dict[str, Any] = {"prefix": names.prefix, "header": names.header, "data": data}
    render("project/model.c", folder, f"{names.header}.c", **values)


def _place(source: Path) -> Path:
    """Where a source lies below the project's src/."""
    if source.parent.name == INSTANCES:
        return Path(INSTANCES) / source.name
    for below in (targets.FOLDER, runtime_c.SOURCE / "src"):
        if below in source.parents:
            return source.relative_to(below)
    return Path("custom") / source.name  # of the user's


def _copy_template(folder: Path, instance: str) -> None:
    """Copy the file that an instance for one element type includes."""
    for name in re.findall(r'#include "(.*)"', instance):
        to = folder / "src" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(runtime_c.SOURCE / "src" / name, to)


def _copy_sources(folder: Path, archive: Archive, names: Names) -> list[tuple[Path, list[str]]]:
    """Copy what the archive was compiled from; return the files to compile, with their options.

    All lies below src/, which is the one folder to search for headers. Each file keeps the flags
    it was compiled with. What is the model's own begins with its name.
    """
    runtime, families = runtime_c.SOURCE / "src", targets.FOLDER
    copied = []
    for source, flags in archive.sources:
        to, text = Path("src") / _place(source), source.read_text()
        if source.parent.name == INSTANCES:
            _copy_template(folder, text)
        if is_own(source):
            to = to.with_name(f"{names.prefix}_{source.name}")
            for written in archive.generated:
                text = text.replace(f'"{written.name}"', f'"{names.renamed(written.stem)}.inc"')
            flags = [*flags, *(f"-D{s}={names.renamed(s)}" for s in archive.own_symbols)]
        else:
            flags = [f for f in flags if not f.startswith(_OF_TABLES)]
        (folder / to.parent).mkdir(parents=True, exist_ok=True)
        (folder / to).write_text(text)
        options = [f"$<$<C_COMPILER_ID:GNU>:{f}>" if f in _OF_GCC else f for f in flags]
        copied.append((to, options))
    headers = [(header, runtime) for header in runtime.rglob("*.h")]
    headers += [(header, families) for header in _headers_of_tables(archive)]
    for header, below in headers:
        to = folder / "src" / header.relative_to(below)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(header, to)
    for written in archive.generated:
        shutil.copy(written, folder / "src" / f"{names.renamed(written.stem)}.inc")
    return copied


def _headers_of_tables(archive: Archive) -> set[Path]:
    """What the sources of kernel tables include of targets/, directly or not."""
    found: set[Path] = set()
    left = [source for source, _ in archive.sources if targets.FOLDER in source.parents]
    while left:
        path = left.pop()
        for name in re.findall(r'#include "(.*)"', path.read_text()):
            header = Path(os.path.normpath(path.parent / name))
            if header.is_file() and header not in found and targets.FOLDER in header.parents:
                found.add(header)
                left.append(header)
    return found


def _write_companions(folder: Path, values: dict[str, Any]) -> list[str]:
    """Write the C of the model beside its data, as far as there is any; return the files."""
    written = []
    about = values["about"]
    inputs = about.pixels or about.sounds
    for template, wanted in (("input", inputs), ("self_test", values["self_test"])):
        if wanted:
            file = f"{values['prefix']}_{template}.c"
            render(f"project/{template}.c", folder, file, **values)
            written.append(file)
    return written


def _of_model(part: Prepared, common: dict[str, Any]) -> dict[str, Any]:
    """What the templates of one model's C read."""
    return {
        **common,
        "prefix": part.names.prefix,
        "header": part.names.header,
        "arena": part.model.memory.arena_bytes,
        "persistent": part.model.memory.persistent_bytes,
        "symbols": [replace(s, name=c_string(s.name)) for s in part.model.symbols],
        "bind_bytes": Model(part.data).bind_bytes,
        "about": part.about,
        "self_test": part.test,
    }


def _write_models(folder: Path, parts: Sequence[Prepared], values: dict[str, Any]) -> list[str]:
    """Write the C of all models and their library's header; return what is to be compiled."""
    written = []
    for part, own in zip(parts, values["models"], strict=True):
        write_model_source(folder, part.data, part.names)
        render("project/model.h", folder, f"{part.names.header}.h", **own)
        written += [f"{part.names.header}.c", *_write_companions(folder, own)]
    if values["several"]:
        render("project/models.h", folder, f"{values['header']}.h", **values)
    return written


def _values(
    parts: Sequence[Prepared], archive: Archive, names: Names, shared: bool
) -> dict[str, Any]:
    """What the templates read: of the library, and of each model in turn."""
    target = archive.target
    common: dict[str, Any] = {
        "target": target.name,
        "bare_metal": target.bare_metal,
        "toolchain": (target.folder / "toolchain.cmake").exists(),
        "renamed": names.prefix != PLAIN,
        "several": len(parts) > 1,
        "single_file": False,
        "shared": shared,
        "library": names,
        "arena": max(part.model.memory.arena_bytes for part in parts),
    }
    if target.project:
        parts = [replace(part, test=None) for part in parts]
    models = [_of_model(part, common) for part in parts]
    headers = [f"{part.names.header}.h" for part in parts]
    own = {"prefix": names.prefix, "header": names.header, "models": models, "headers": headers}
    return {**common, **own}


def write_project(
    folder: Path,
    parts: Sequence[Prepared],
    archive: Archive,
    names: Names,
    sources: bool = False,
    layout: str | None = None,
    shared: bool = False,
) -> dict[str, int]:
    """Fill `folder` with the models and the library called `names`; return what size.json holds.

    With a `layout` (library.LAYOUTS), as one. `shared`: main.c has one arena for all models.
    """
    target = archive.target
    values = _values(parts, archive, names, shared)
    if layout is not None:
        own = folder / SOURCES
        (folder / "example").mkdir(parents=True)
        own.mkdir()
        _write_models(own, parts, values)
        if layout == SINGLE_FILE:
            values |= {"headers": [f"{names.prefix}.h"], "single_file": True}
        render("project/main.c", folder / "example", **{**values, "bare_metal": False})
        write_library(folder, layout, archive, names, values)
        return _write_size(folder, parts, archive, shared)
    (folder / "include").mkdir(parents=True)
    shutil.copytree(runtime_c.SOURCE / "include" / "edgekit", folder / "include" / "edgekit")
    copied = _copy_sources(folder, archive, names) if sources else []
    if not sources:
        to = folder / names.library
        rename_archive(target, archive.library, archive.own_symbols, names, to)
    for toolchain in ("toolchain.cmake", "ndk.cmake"):
        if (target.folder / toolchain).exists():
            shutil.copy(target.folder / toolchain, folder)
    for part in parts:
        (folder / part.names.edge).write_bytes(part.data)
    values |= {"sources": copied, "compiled": _write_models(folder, parts, values)}
    if target.bare_metal:
        shutil.copy(target.folder / "start.c", folder)
        for header in ("bare_metal.h", "io.h"):
            shutil.copy(targets.FOLDER / "runner" / header, folder)
        write_linker_script(folder, target)
    if target.project:
        write_deployment(folder, target)
        render("project/runtime.cmake", folder, **values)
        return _write_size(folder, parts, archive, shared)
    render("project/main.c", folder, **values)
    render("project/CMakeLists.txt", folder, **values)
    return _write_size(folder, parts, archive, shared)


def _write_size(
    folder: Path, parts: Sequence[Prepared], archive: Archive, shared: bool
) -> dict[str, int]:
    arenas = [part.model.memory.arena_bytes for part in parts]
    size = {
        **asdict(archive.size),
        "model": sum(len(part.data) for part in parts),
        "arena": max(arenas) if shared else sum(arenas),
        "persistent": sum(part.model.memory.persistent_bytes for part in parts),
    }
    (folder / "size.json").write_text(json.dumps(size, indent=2) + "\n")
    return size


__all__ = ["Prepared", "write_linker_script", "write_model_source", "write_project"]
