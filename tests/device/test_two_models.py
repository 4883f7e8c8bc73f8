"""Models that were built apart link into one program, and each gives the host's bytes there."""

import re
import subprocess

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.process import run
from edgekit.toolkit.runtime import Session

RUNNER = targets.FOLDER / "runner"
MODELS = {"int16x4": "wide", "digits": "digits"}

MAIN = """
#include "edgekit/edgekit.h"
#include "io.h"
#include "digits_model.h"
#include "wide_model.h"

static uint8_t memory[1 << 20] __attribute__((aligned(EK_ALIGN)));

#define RUN(name)                                                                                \\
    do {                                                                                         \\
        ek_model model;                                                                          \\
        ek_session *session;                                                                     \\
        ek_io io;                                                                                \\
        if (name##_model_open(&model, name##_model_data, name##_model_bytes, EK_OPEN_CHECKSUM))  \\
            return 1;                                                                            \\
        if (ek_session_init(&session, memory, sizeof memory, &model, name##_kernels_select(0)))  \\
            return 2;                                                                            \\
        if (ek_session_input(session, 0, &io) || io_read(in, io.data, io.bytes) != io.bytes)     \\
            return 3;                                                                            \\
        if (ek_run(session) || ek_session_output(session, 0, &io)) return 4;                     \\
        if (io_write(out, io.data, io.bytes) != io.bytes) return 5;                              \\
    } while (0)

int main(int argc, char **argv)
{
    const int in = io_open(argv[argc - 2], 0), out = io_open(argv[argc - 1], 1);
    RUN(wide);
    RUN(digits);
    io_close(in);
    io_close(out);
    return 0;
}
"""


@pytest.fixture
def built(ready, model_file, tmp_path):
    """Both models built for a target, each into the folder of its name."""

    def make(name, sources=False):
        target = ready(name)
        for model, called in MODELS.items():
            path, _ = model_file(model)
            build(path, name, tmp_path / called, sources=sources, name=called)
        return target

    return make


def link(folder, target):
    """One program of both folders' archives."""
    (folder / "main.c").write_text(MAIN)
    first = folder / "wide"
    io = [first / "start.c"] if target.bare_metal else [RUNNER / "io_linux.c"]
    script = f'target_link_options(app PRIVATE "-T{first}/link.ld")' if target.bare_metal else ""
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(two C)\n"
        f"add_executable(app main.c wide/wide_model.c digits/digits_model.c {io[0]})\n"
        f"target_include_directories(app PRIVATE wide/include wide digits {RUNNER})\n"
        "target_link_libraries(app PRIVATE ${CMAKE_SOURCE_DIR}/wide/libwide.a "
        f"${{CMAKE_SOURCE_DIR}}/digits/libdigits.a m)\n{script}\n"
    )
    configure = [
        "cmake", "-S", folder, "-B", folder / "b", f"-DEDGEKIT_TARGET={target.name}",
        f"-DCMAKE_TOOLCHAIN_FILE={first / 'toolchain.cmake'}",
    ]  # fmt: skip
    run(configure, "configuring")
    run(["cmake", "--build", folder / "b"], "linking")
    return folder / "b" / "app"


@pytest.mark.parametrize("name", ["cortex_m4", "aarch64_linux"])
def test_two_models_in_one_program_give_the_hosts_bytes(built, model_file, tmp_path, name):
    target = built(name)
    program = link(tmp_path, target)
    raw, wanted = b"", b""
    for model in MODELS:
        path, feeds = model_file(model)
        session = Session(path)
        raw += b"".join(a.tobytes() for a in session.to_raw(feeds[0]))
        wanted += next(iter(session.run_raw(feeds[0]).values())).tobytes()
    (tmp_path / "in.bin").write_bytes(raw)
    command = [target.emulator, program, "in.bin", "out.bin"]
    if target.bare_metal:
        semihosting = "enable=on,target=native,arg=app,arg=in.bin,arg=out.bin"
        command = [
            target.emulator, "-M", target.machine, "-display", "none", "-monitor", "none",
            "-serial", "none", "-semihosting-config", semihosting, "-kernel", program,
        ]  # fmt: skip
    run(command, "emulating", cwd=tmp_path, limit=60)
    assert (tmp_path / "out.bin").read_bytes() == wanted
    assert np.frombuffer(wanted, np.int8).any()


def test_archives_of_two_models_differ_in_what_has_their_names_only(built, tmp_path):
    """The linker takes a member of either archive: those of one name must be the same."""
    target = built("cortex_m4")
    wide, digits = {}, {}
    for members, called in ((wide, "wide"), (digits, "digits")):
        dump = run([target.tool("objdump"), "-s", tmp_path / called / f"lib{called}.a"], "dumping")
        for name, content in re.findall(
            r"^(\S+):  +file format(.*?)(?=^\S+:  |\Z)", dump, re.M | re.S
        ):
            members.setdefault(name, set()).add(content)
    shared = {n for n in wide.keys() & digits.keys() if not n.startswith(("registry.", "table."))}
    assert len(shared) > 30
    for name in shared:  # of several files of one name, an operator's may be missing
        assert wide[name] <= digits[name] or digits[name] <= wide[name], name
    printed = run([target.tool("nm"), "-g", "--defined-only", tmp_path / "wide/libwide.a"], "nm")
    symbols = {line.split()[-1] for line in printed.splitlines() if line.strip()}
    assert {"wide_model_open", "wide_kernels_select", "wide_target_cortex_m_dsp"} <= symbols
    assert not {"ek_model_open", "ek_kernels_select", "ek_target_cortex_m_dsp"} & symbols


def test_sources_of_two_models_are_the_same_files_but_for_their_names(built, tmp_path):
    built("cortex_m4", sources=True)
    wide, digits = (
        {p.relative_to(tmp_path / m): p for p in (tmp_path / m / "src").rglob("*") if p.is_file()}
        for m in MODELS.values()
    )
    for path in wide.keys() & digits.keys():
        assert wide[path].read_bytes() == digits[path].read_bytes(), path
    folders = {"ops", "weights", "generated"}  # operators of one alone
    own = {p.name for p in wide.keys() - digits.keys() if p.parts[1] not in folders}
    assert own == {"wide_registry.c", "wide_table.c"} | {
        f"wide_{what}.inc" for what in ("ops", "codecs", "targets", "plans")
    }
    flags = [
        dict(re.findall(r"properties\((\S+) PROPERTIES COMPILE_OPTIONS \"(.*)\"\)", text))
        for text in ((tmp_path / m / "CMakeLists.txt").read_text() for m in MODELS.values())
    ]
    for source in flags[0].keys() & flags[1].keys():
        assert flags[0][source] == flags[1][source], source


@pytest.mark.parametrize(
    ("file", "prefix"), [("my-net 2.edge", "my_net_2"), ("1st.edge", "m1st"), ("ek.edge", "ek_")]
)
def test_names_of_files_become_names_of_c(ready, model_file, tmp_path, file, prefix):
    ready("cortex_m4")
    path = tmp_path / file
    path.write_bytes(model_file("digits")[0].read_bytes())
    files = set(build(path, "cortex_m4", tmp_path / "fw").files)
    assert {f"{prefix}_model.c", f"{prefix}_model.h", f"lib{prefix}.a", f"{prefix}.edge"} <= files
    command = ["cmake", "-B", "b", "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake"]
    for step in ([*command, "-DEDGEKIT_TARGET=cortex_m4"], ["cmake", "--build", "b"]):
        done = subprocess.run(
            step, cwd=tmp_path / "fw", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
