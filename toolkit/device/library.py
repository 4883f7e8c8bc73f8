"""A build as a library of C files for another build system: what is needed, and its manifest."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import __version__, runtime_c, targets
from ..errors import UserError
from .naming import Names, is_own
from .process import require, run
from .single_file import single_file
from .templates import render, rendered

if TYPE_CHECKING:
    from .build import Archive

CONFIG = "edgekit_config.h"
ANDROID = "android"
SINGLE_FILE = "single-file"
SOURCES = "src"
_INCLUDE = runtime_c.SOURCE / "include" / "edgekit"
_PUBLIC = (_INCLUDE / "edgekit.h", _INCLUDE / "link.h")
_OF_INPUTS = {"pixels": _INCLUDE / "picture.h", "sounds": _INCLUDE / "sound.h"}
"""By what an input is made of."""


@dataclass(frozen=True)
class Layout:
    """A build system: its files, each made by the template of that name in targets/layouts, with
    the model's name for {prefix}, and how to go on from there."""

    files: dict[str, str]
    start: str


LAYOUTS = {
    "cmake": Layout(
        {"cmake/CMakeLists.txt": "CMakeLists.txt"},
        "add_subdirectory(FOLDER) and link the library named after the model",
    ),
    "makefile": Layout({"makefile/Makefile": "Makefile"}, "make CC=... CFLAGS=..."),
    "zephyr": Layout(
        {
            "zephyr/module.yml": "zephyr/module.yml",
            "zephyr/CMakeLists.txt": "zephyr/CMakeLists.txt",
            "zephyr/Kconfig": "zephyr/Kconfig",
        },
        "west build -- -DZEPHYR_EXTRA_MODULES=FOLDER",
    ),
    "arduino": Layout(
        {"arduino/library.properties": "library.properties"}, "copy it to the libraries folder"
    ),
    "esp-idf": Layout(
        {
            "esp-idf/idf_component.yml": "idf_component.yml",
            "esp-idf/CMakeLists.txt": "CMakeLists.txt",
        },
        "copy it to the components folder of the project",
    ),
    "platformio": Layout(
        {"platformio/library.json": "library.json"}, "copy it to the lib folder of the project"
    ),
    "cmsis-pack": Layout(
        {"cmsis-pack/pack.pdsc": "edgekit.{prefix}.pdsc"},
        "zip -r edgekit.NAME.VERSION.pack . makes the pack",
    ),
    ANDROID: Layout(
        {
            "android/build.gradle.kts": "build.gradle.kts",
            "android/CMakeLists.txt": "CMakeLists.txt",
            "android/AndroidManifest.xml": "AndroidManifest.xml",
            "android/model.kt": "kotlin/{prefix}.kt",
            "android/jni.c": "jni/{prefix}_jni.c",
        },
        'copy it into the project of the app, and include(":NAME") in settings.gradle.kts',
    ),
    "single-file": Layout(
        {"single-file/source.c": "{prefix}.c", "single-file/header.h": "{prefix}.h"},
        "compile the one .c file with your program",
    ),
}


def write_library(
    folder: Path, layout: str, archive: Archive, names: Names, values: dict[str, Any]
) -> None:
    """Write the runtime's sources that a program with the model can reach, and the manifest.

    The model's own files are in `folder`/src already. All sources include edgekit_config.h, so none
    needs flags of its own.
    """
    if archive.target.project:
        raise UserError(f"--layout: {archive.target.name} has its own kind of project")
    if layout == ANDROID and not archive.target.android:
        found = ", ".join(n for n in targets.names() if targets.load(n).android)
        raise UserError(f"--layout {layout} is for the targets {found}, not {archive.target.name}")
    root = folder / SOURCES
    made = [model["about"] for model in values["models"]]
    own = (h for kind, h in _OF_INPUTS.items() if any(getattr(one, kind) for one in made))
    files = dict(_reached(archive, names, (*_PUBLIC, *own)))
    common = set.intersection(*(set(defines) for _, _, defines in files.values()))
    texts: dict[Path, str] = {}
    for to, (source, flags, defines) in files.items():
        told = {
            "defines": [_define(d) for d in defines if d not in common],
            "ignored": [f.removeprefix("-Wno-") for f in flags if f.startswith("-Wno-")],
            "text": source.read_text(),
        }
        texts[to] = rendered("layouts/source.c", **told)
    sources = {source: flags for source, flags, _ in files.values()}
    for path in _included(archive, sources.items()) - sources.keys():
        place = _place(path)
        if path in archive.generated:
            place = Path(f"{names.renamed(path.stem)}.inc")
        text = path.read_text()
        for table in _of_other_cpus(archive)[1]:
            text = text.replace(f" EK_TARGET({table})", "")
        texts[place.with_suffix(".inc") if place.suffix == ".c" else place] = text
    for to, text in texts.items():
        (root / to).parent.mkdir(parents=True, exist_ok=True)
        (root / to).write_text(_with_names(text, archive, names))
    config = [_define(d) for d in sorted(common)]
    (root / CONFIG).write_text(rendered("layouts/config.h", defines=config))
    compiled = sorted(p.relative_to(folder).as_posix() for p in root.rglob("*.c"))
    manifest = {
        **values,
        **(single_file(folder, compiled, archive, names) if layout == SINGLE_FILE else {}),
        "files": compiled,
        "abis": archive.target.android,
        "version": __version__,
        "word": re.sub(r"[^a-z0-9]+", "-", names.prefix.lower()).strip("-"),
    }
    for template, form in LAYOUTS[layout].files.items():
        name = form.format(prefix=names.prefix)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        render(f"layouts/{template}", folder, name, **manifest)
    if layout == SINGLE_FILE:
        shutil.rmtree(root)


def _define(flag: str) -> str:
    name, _, value = flag.removeprefix("-D").partition("=")
    return f"#define {name} {value}".rstrip()


def _of_other_cpus(archive: Archive) -> tuple[set[Path], list[str]]:
    """Sources that are compiled for more than the target's every CPU has, and their tables."""
    common = set.intersection(*(set(flags) for _, flags in archive.sources))
    own = {
        source
        for source, flags in archive.sources
        if any(flag.startswith("-m") for flag in flags if flag not in common)
    }
    text = "".join(source.read_text() for source in own if source.name == "table.c")
    return own, re.findall(r"ek_target ek_target_(\w+)", text)


def _reached(
    archive: Archive, names: Names, public: Iterable[Path]
) -> Iterator[tuple[Path, tuple[Path, list[str], list[str]]]]:
    """Where each source goes below src/ that is linked, the source, its flags, and those that its
    copy defines."""
    needed = _linked(archive, public)
    without, _ = _of_other_cpus(archive)
    for source, flags in archive.sources:
        if source.name not in needed or source in without:
            continue
        to = _place(source)
        defines = [f for f in flags if f.startswith("-D") and f != "-DNDEBUG"]
        if is_own(source):
            to = to.with_name(f"{names.prefix}_{source.name}")
            if names.renamed("ek_x") != "ek_x":
                defines += [f"-D{s}={names.renamed(s)}" for s in archive.own_symbols]
        else:
            defines = [d for d in defines if not d.startswith("-DEK_OMIT_")]
        yield to, (source, flags, defines)


def _place(source: Path) -> Path:
    """Where a source or header lies below src/."""
    runtime = runtime_c.SOURCE
    for below in (targets.FOLDER, runtime / "src", runtime / "include"):
        if below in source.parents:
            return source.relative_to(below)
    return Path("generated") / source.name  # or of the user's


def _linked(archive: Archive, headers: Iterable[Path]) -> set[str]:
    """The names of the sources whose objects a program with all functions of `headers` links."""
    target = archive.target
    text = "".join(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S) for header in headers)
    public = set(re.findall(r"^[a-z][\w \*]*\b(ek_\w+)\(", text, re.M))
    roots = sorted(public - {"ek_kernels_reference"})
    folder = archive.library.parent
    compiler = require(target.compiler, target.packages, f"building for {target.name}")
    command: list[str | Path] = [compiler, *target.linker, "-r", "-nostdlib", "-Wl,--gc-sections"]
    command += [f"-Wl,-e,{roots[0]}", f"-Wl,-Map={folder / 'all.map'}"]
    command += [f"-Wl,-u,{symbol}" for symbol in roots]
    run([*command, archive.library, "-o", folder / "all.o"], "linking the runtime")
    listed = (folder / "all.map").read_text()
    found = re.findall(r"libedgekit\.a\((\S+?\.c)\.(?:obj|o)\)", listed)
    return set(found)


def _included(archive: Archive, compiled: Iterable[tuple[Path, list[str]]]) -> set[Path]:
    """What these sources include, directly or not, of the runtime, targets and the build."""
    target, build = archive.target, archive.library.parent
    compiler = require(target.compiler, target.packages, f"building for {target.name}")
    below = (runtime_c.SOURCE / "src", runtime_c.SOURCE / "include", targets.FOLDER, build)
    found: set[Path] = set()
    for source, flags in compiled:
        command: list[str | Path] = [compiler, *target.linker, *flags, "-MM", source]
        text = run([*command, *(f"-I{folder}" for folder in below)], "listing headers")
        words = text.replace("\\\n", " ").partition(": ")[2]
        paths = re.split(r"(?<!\\)\s+", words.strip())
        found |= {Path(os.path.normpath(p.replace("\\ ", " "))) for p in paths}
    return found


def _with_names(text: str, archive: Archive, names: Names) -> str:
    """A source with its includes as they are called in the library."""
    for written in archive.generated:
        text = text.replace(f'"{written.name}"', f'"{names.renamed(written.stem)}.inc"')
    return re.sub(r'(#include "[^"]+)\.c"', r'\1.inc"', text)
