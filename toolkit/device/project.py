"""The folder that `edgekit build` leaves: a small firmware project that builds as it stands."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ... import runtime_c, targets
from ...targets import Target
from ..format.model import EdgeModel
from .deploy import write_deployment

if TYPE_CHECKING:
    from .build import Archive

_MAIN = """/* Runs the model once on an input of zeros. Start here. */
#include <stdlib.h>
#include <string.h>

#include "edgekit/edgekit.h"
#include "model.h"

{memory}
int main(void)
{{
    const ek_kernels *kernels = ek_kernels_select(NULL);
    ek_model model;
    ek_session *session;
    ek_io in, out;

    if (ek_model_open(&model, ek_model_data, ek_model_bytes, EK_OPEN_DEFAULT)) return 1;
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
/* All the memory edgekit uses: {arena} bytes of arena, {persistent} of state, and the session. */
static uint8_t memory[EK_SESSION_OVERHEAD + {session}] __attribute__((aligned(EK_ALIGN)));
"""
_FIXED_SESSION = """\
    if (ek_session_init(&session, memory, sizeof memory, &model, kernels)) return 2;"""

_ASKED_SESSION = """\
    /* {session} bytes of arena and state, and what this CPU's kernels pack the weights into. */
    size_t bytes;
    if (ek_session_size(&model, kernels, &bytes)) return 2;
    void *memory = aligned_alloc(EK_ALIGN, (bytes + EK_ALIGN - 1) / EK_ALIGN * EK_ALIGN);
    if (!memory || ek_session_init(&session, memory, bytes, &model, kernels)) return 2;"""

_MODEL_H = """/* The model, in read-only memory. */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

extern const uint8_t ek_model_data[];
extern const uint32_t ek_model_bytes;

#endif
"""

_CMAKE = """# cmake -B build -DCMAKE_TOOLCHAIN_FILE=toolchain.cmake -DEDGEKIT_TARGET={target}
# cmake --build build
cmake_minimum_required(VERSION 3.20)
project(model_on_{target} C)
add_executable(app main.c model.c{start})
target_include_directories(app PRIVATE include{runner})
{runtime}{script}
target_link_libraries(app PRIVATE m)
"""

_SCRIPT = """
target_link_options(app PRIVATE "-T${CMAKE_CURRENT_SOURCE_DIR}/link.ld")
set_target_properties(app PROPERTIES LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/link.ld")"""

STACK_BYTES = 0x2000


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


def model_source(data: bytes) -> str:
    """The file as a C array that stays in flash."""
    rows = (",".join(str(b) for b in data[i : i + 32]) + ",\n" for i in range(0, len(data), 32))
    return (
        '#include "model.h"\n\n'
        "const uint8_t ek_model_data[] __attribute__((aligned(64))) = {\n"
        + "".join(rows)
        + f"}};\nconst uint32_t ek_model_bytes = {len(data)};\n"
    )


def _copy_sources(folder: Path, archive: Archive) -> str:
    """Copy what the archive was compiled from; return the lines of CMake that compile it.

    All lies below src/, which is the one folder to search for headers. Each file keeps the flags
    it was compiled with.
    """
    runtime, families = runtime_c.SOURCE / "src", targets.FOLDER
    lines = ["target_include_directories(app PRIVATE src)"]
    for source, flags in archive.sources:
        below = families if source.is_relative_to(families) else runtime
        to = Path("src") / source.relative_to(below)
        (folder / to.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / to)
        lines.append(f"target_sources(app PRIVATE {to})")
        lines.append(f'set_source_files_properties({to} PROPERTIES COMPILE_OPTIONS "{flags}")')
    # Kernels of one family may be those of another, compiled anew.
    used = {s.relative_to(families).parts[0] for s, _ in archive.sources if families in s.parents}
    searched = [(families, families / family) for family in sorted(used)]
    for below, headers in ((runtime, runtime), *searched):
        for header in headers.rglob("*.h"):
            to = folder / "src" / header.relative_to(below)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(header, to)
    for written in archive.generated:
        shutil.copy(written, folder / "src")
    return "\n".join(lines)


def write_project(
    folder: Path, data: bytes, model: EdgeModel, archive: Archive, sources: bool
) -> dict[str, int]:
    """Fill `folder`; return what size.json holds."""
    target = archive.target
    (folder / "include").mkdir(parents=True)
    shutil.copytree(runtime_c.SOURCE / "include" / "edgekit", folder / "include" / "edgekit")
    if sources:
        runtime = _copy_sources(folder, archive)
    else:
        shutil.copy(archive.library, folder / "libedgekit.a")
        runtime = 'target_link_libraries(app PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/libedgekit.a")'
    for toolchain in ("toolchain.cmake", "ndk.cmake"):
        if (target.folder / toolchain).exists():
            shutil.copy(target.folder / toolchain, folder)
    (folder / "model.edge").write_bytes(data)
    (folder / "model.c").write_text(model_source(data))
    (folder / "model.h").write_text(_MODEL_H)
    if target.bare_metal:
        shutil.copy(target.folder / "start.c", folder)
        shutil.copy(targets.FOLDER / "runner" / "io.h", folder)
        (folder / "link.ld").write_text(linker_script(target))
    if target.project:
        write_deployment(folder, target, runtime)
        return _write_size(folder, data, model, archive)
    memory = model.memory
    bare = target.bare_metal
    values = {
        "arena": memory.arena_bytes,
        "persistent": memory.persistent_bytes,
        "session": memory.arena_bytes + memory.persistent_bytes,
    }
    (folder / "main.c").write_text(
        _MAIN.format(
            memory=_FIXED_MEMORY.format(**values) if bare else "",
            session=(_FIXED_SESSION if bare else _ASKED_SESSION).format(**values),
        )
    )
    (folder / "CMakeLists.txt").write_text(
        _CMAKE.format(
            target=target.name,
            start=" start.c" if bare else "",
            runner=" ." if bare else "",
            runtime=runtime,
            script=_SCRIPT if bare else "",
        )
    )
    return _write_size(folder, data, model, archive)


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
