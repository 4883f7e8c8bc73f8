"""The folder that `edgekit build` leaves: a small firmware project that builds as it stands."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ... import runtime_c, targets
from ...targets import Target
from ..format.model import EdgeModel
from .deploy import write_deployment
from .naming import PLAIN, PLAIN_NAMES, Names, is_own, rename_archive

if TYPE_CHECKING:
    from .build import Archive

_MAIN = """/* Runs the model once on an input of zeros. Start here. */
#include <stdlib.h>
#include <string.h>

#include "edgekit/edgekit.h"
#include "{header}.h"

{memory}
int main(void)
{{
    const ek_kernels *kernels = {p}_kernels_select(NULL);
    ek_model model;
    ek_session *session;
    ek_io in, out;

    if ({p}_model_open(&model, {p}_model_data, {p}_model_bytes, EK_OPEN_DEFAULT)) return 1;
{session}
    for (uint32_t i = 0; i < ek_input_count(&model); i++) {{
        if (ek_session_input(session, i, &in)) return 3;
        memset(in.data, in.zero_point, in.bytes); /* real 0 = quantized zero_point */
    }}
    if (ek_run(session)) return 4;
    if (ek_session_output(session, 0, &out)) return 5;
    /* out.data holds out.bytes bytes; quantized ones: real = out.scale * (q - out.zero_point) */
    return 0;
}}
"""

_FIXED_MEMORY = """\
/* All the memory edgekit uses. */
static uint8_t memory[{P}_SESSION_BYTES] __attribute__((aligned(EK_ALIGN)));
"""
_FIXED_SESSION = """\
    if (ek_session_init(&session, memory, sizeof memory, &model, kernels)) return 2;"""

_ASKED_SESSION = """\
    /* Arena and state, and what this CPU's kernels pack the weights into. */
    size_t bytes;
    if (ek_session_size(&model, kernels, &bytes)) return 2;
    void *memory = aligned_alloc(EK_ALIGN, (bytes + EK_ALIGN - 1) / EK_ALIGN * EK_ALIGN);
    if (!memory || ek_session_init(&session, memory, bytes, &model, kernels)) return 2;"""

_MODEL_H = """/* The model, in read-only memory, and the memory it needs. */
#ifndef {P}_MODEL_H
#define {P}_MODEL_H

#include "edgekit/edgekit.h"

#ifdef __cplusplus
extern "C" {{
#endif

#define {P}_ARENA_BYTES {arena}
#define {P}_PERSISTENT_BYTES {persistent}
{session}
extern const uint8_t {p}_model_data[];
extern const uint32_t {p}_model_bytes;
{functions}
#ifdef __cplusplus
}}
#endif
#endif
"""

_FIXED_BYTES = """\
/* Of a session's memory, aligned to EK_ALIGN. */
#define {P}_SESSION_BYTES (EK_SESSION_OVERHEAD + {P}_ARENA_BYTES + {P}_PERSISTENT_BYTES)
"""

_FUNCTIONS = """
/* As ek_model_open and ek_kernels_select, with the operators that this model uses. Other models
 * have functions of their own; the rest of edgekit/edgekit.h is common to all. */
ek_status {p}_model_open(ek_model *model, const void *data, size_t bytes, uint32_t flags);
const ek_kernels *{p}_kernels_select(const char *name);
"""

_CMAKE = """# cmake -B build -DCMAKE_TOOLCHAIN_FILE=toolchain.cmake -DEDGEKIT_TARGET={target}
# cmake --build build
cmake_minimum_required(VERSION 3.20)
project({p}_on_{target} C)
add_executable(app main.c {header}.c{start})
target_include_directories(app PRIVATE include{runner})
{runtime}{script}
target_link_libraries(app PRIVATE m)
"""

_SCRIPT = """
target_link_options(app PRIVATE "-T${CMAKE_CURRENT_SOURCE_DIR}/link.ld")
set_target_properties(app PROPERTIES LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/link.ld")"""

STACK_BYTES = 0x2000

_OF_TABLES = "-DEK_OMIT_"  # what a table leaves out
INSTANCES = "generated"
"""The build's folder of files that are one for each element type."""

_OF_GCC = ("-fno-schedule-insns",)


def linker_script(target: Target) -> str:
    """The script for the board that QEMU emulates."""
    text = (target.folder / "link.ld.in").read_text()
    values = {
        "TARGET": target.name,
        "CODE_ORIGIN": hex(target.memory["code"][0]),
        "CODE_BYTES": hex(target.memory["code"][1]),
        "RAM_ORIGIN": hex(target.memory["ram"][0]),
        "RAM_BYTES": hex(target.memory["ram"][1]),
        "STACK_BYTES": hex(STACK_BYTES),
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def model_source(data: bytes, names: Names = PLAIN_NAMES) -> str:
    """The file as a C array that stays in flash."""
    p = names.prefix
    rows = (",".join(str(b) for b in data[i : i + 32]) + ",\n" for i in range(0, len(data), 32))
    return (
        f'#include "{names.header}.h"\n\n'
        f"const uint8_t {p}_model_data[] __attribute__((aligned(64))) = {{\n"
        + "".join(rows)
        + f"}};\nconst uint32_t {p}_model_bytes = {len(data)};\n"
    )


def _place(source: Path) -> Path:
    """Where a source lies below the project's src/."""
    if source.parent.name == INSTANCES:
        return Path(INSTANCES) / source.name
    families = targets.FOLDER
    return source.relative_to(families if families in source.parents else runtime_c.SOURCE / "src")


def _copy_template(folder: Path, instance: str) -> None:
    """Copy the file that an instance for one element type includes."""
    for name in re.findall(r'#include "(.*)"', instance):
        to = folder / "src" / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(runtime_c.SOURCE / "src" / name, to)


def _copy_sources(folder: Path, archive: Archive, names: Names) -> str:
    """Copy what the archive was compiled from; return the lines of CMake that compile it.

    All lies below src/, which is the one folder to search for headers. Each file keeps the flags
    it was compiled with. What is the model's own begins with its name.
    """
    runtime, families = runtime_c.SOURCE / "src", targets.FOLDER
    lines = ["target_include_directories(app PRIVATE src)"]
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
        options = ";".join(f"$<$<C_COMPILER_ID:GNU>:{f}>" if f in _OF_GCC else f for f in flags)
        lines.append(f"target_sources(app PRIVATE {to})")
        lines.append(f'set_source_files_properties({to} PROPERTIES COMPILE_OPTIONS "{options}")')
    # Kernels of one family may be those of another, compiled anew.
    used = {s.relative_to(families).parts[0] for s, _ in archive.sources if families in s.parents}
    searched = [(families, families / family) for family in sorted(used)]
    for below, headers in ((runtime, runtime), *searched):
        for header in headers.rglob("*.h"):
            to = folder / "src" / header.relative_to(below)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(header, to)
    for written in archive.generated:
        shutil.copy(written, folder / "src" / f"{names.renamed(written.stem)}.inc")
    return "\n".join(lines)


def write_project(
    folder: Path, data: bytes, model: EdgeModel, archive: Archive, names: Names, sources: bool
) -> dict[str, int]:
    """Fill `folder`; return what size.json holds."""
    target = archive.target
    (folder / "include").mkdir(parents=True)
    shutil.copytree(runtime_c.SOURCE / "include" / "edgekit", folder / "include" / "edgekit")
    if sources:
        runtime = _copy_sources(folder, archive, names)
    else:
        to = folder / names.library
        rename_archive(target, archive.library, archive.own_symbols, names, to)
        runtime = f'target_link_libraries(app PRIVATE "${{CMAKE_CURRENT_SOURCE_DIR}}/{to.name}")'
    for toolchain in ("toolchain.cmake", "ndk.cmake"):
        if (target.folder / toolchain).exists():
            shutil.copy(target.folder / toolchain, folder)
    (folder / names.edge).write_bytes(data)
    (folder / f"{names.header}.c").write_text(model_source(data, names))
    (folder / f"{names.header}.h").write_text(_header(model, names, target.bare_metal))
    if target.bare_metal:
        shutil.copy(target.folder / "start.c", folder)
        shutil.copy(targets.FOLDER / "runner" / "io.h", folder)
        (folder / "link.ld").write_text(linker_script(target))
    if target.project:
        write_deployment(folder, target, runtime)
        return _write_size(folder, data, model, archive)
    bare = target.bare_metal
    values = {"p": names.prefix, "P": names.prefix.upper(), "header": names.header}
    (folder / "main.c").write_text(
        _MAIN.format(
            memory=_FIXED_MEMORY.format(**values) if bare else "",
            session=(_FIXED_SESSION if bare else _ASKED_SESSION).format(**values),
            **values,
        )
    )
    (folder / "CMakeLists.txt").write_text(
        _CMAKE.format(
            target=target.name,
            start=" start.c" if bare else "",
            runner=" ." if bare else "",
            runtime=runtime,
            script=_SCRIPT if bare else "",
            **values,
        )
    )
    return _write_size(folder, data, model, archive)


def _header(model: EdgeModel, names: Names, fixed: bool) -> str:
    """Declarations of the model; `fixed`: what a session needs is known now."""
    p = names.prefix
    values = {"p": p, "P": p.upper()}
    return _MODEL_H.format(
        arena=model.memory.arena_bytes,
        persistent=model.memory.persistent_bytes,
        session=_FIXED_BYTES.format(**values) if fixed else "",
        functions="" if p == PLAIN else _FUNCTIONS.format(**values),
        **values,
    )


def _write_size(folder: Path, data: bytes, model: EdgeModel, archive: Archive) -> dict[str, int]:
    memory = model.memory
    size = {
        **asdict(archive.size),
        "model": len(data),
        "arena": memory.arena_bytes,
        "persistent": memory.persistent_bytes,
    }
    (folder / "size.json").write_text(json.dumps(size, indent=2) + "\n")
    return size


__all__ = ["linker_script", "model_source", "write_project"]
