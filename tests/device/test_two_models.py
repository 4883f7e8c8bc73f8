"""Two models of one build: one library, one arena, and each gives the host's bytes there."""

import json
import re
import subprocess

import pytest

from edgekit import targets
from edgekit.toolkit.cli import main
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

static uint8_t arena[MODELS_ARENA_BYTES] __attribute__((aligned(EK_ALIGN)));
static int in, out;

#define OPEN(name)                                                                               \\
    do {                                                                                         \\
        static ek_model model;                                                                   \\
        static uint8_t memory[1 << 20] __attribute__((aligned(EK_ALIGN)));                       \\
        size_t bytes, most;                                                                      \\
        const ek_kernels *kernels = name##_kernels_select(0);                                    \\
        if (name##_model_open(&model, name##_model_data, name##_model_bytes, EK_OPEN_CHECKSUM))  \\
            return 1;                                                                            \\
        if (ek_session_size_shared(&model, kernels, &bytes, &most) || most > sizeof arena)       \\
            return 2;                                                                            \\
        if (ek_session_init_shared(&name, memory, bytes, arena, most, &model, kernels)) return 3; \\
    } while (0)

static int answer(ek_session *session)
{
    ek_io io;
    if (ek_session_input(session, 0, &io) || io_read(in, io.data, io.bytes) != io.bytes) return 4;
    if (ek_run(session) || ek_session_output(session, 0, &io)) return 5;
    return io_write(out, io.data, io.bytes) != io.bytes;
}

int main(int argc, char **argv)
{
    ek_session *wide, *digits;
    in = io_open(argv[argc - 2], 0), out = io_open(argv[argc - 1], 1);
    OPEN(wide);
    OPEN(digits);
    if (answer(wide) || answer(digits) || answer(wide) || answer(digits)) return 6;
    io_close(in);
    io_close(out);
    return 0;
}
"""


@pytest.fixture
def files(model_file, tmp_path):
    """Both models' files, called as their symbols shall begin."""
    for model, called in MODELS.items():
        (tmp_path / f"{called}.edge").write_bytes(model_file(model)[0].read_bytes())
    return [tmp_path / f"{called}.edge" for called in MODELS.values()]


def make(folder):
    own = folder / "toolchain.cmake"
    chain = [f"-DCMAKE_TOOLCHAIN_FILE={own}"] if own.exists() else []
    run(["cmake", "-S", folder, "-B", folder / "b", *chain], "configuring")
    run(["cmake", "--build", folder / "b"], "building")
    return folder / "b" / "app"


def execute(target, program, *words):
    command = [program, *words]
    if target.bare_metal:
        said = "".join(f",arg={word}" for word in ("app", *words))
        command = [
            target.emulator, "-M", target.machine, "-display", "none", "-monitor", "none",
            "-serial", "none", "-semihosting-config", f"enable=on,target=native{said}",
            "-kernel", program,
        ]  # fmt: skip
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize(("name", "sources"), [("cortex_m4", True), ("generic", False)])
def test_two_models_on_one_arena_give_the_hosts_bytes(files, ready, model_file, name, sources):
    target, folder = ready(name), files[0].parent / "fw"
    built = build(files, name, folder, sources=sources)
    assert {"wide.edge", "digits_model.h", "wide_self_test.c", "models.h"} <= set(built.files)
    assert ("libmodels.a" in built.files) != sources
    text = (folder / "models.h").read_text()
    arena = int(re.search(r"MODELS_ARENA_BYTES (\d+)", text)[1])
    assert built.size["arena"] == arena
    assert built.size["model"] == sum(len((folder / f.name).read_bytes()) for f in files)
    said = execute(target, make(folder))
    assert said == "wide: self-test passed\ndigits: self-test passed\n"

    raw, wanted = [], []
    for model in MODELS:
        path, feeds = model_file(model)
        session = Session(path)
        raw += [b"".join(a.tobytes() for a in session.to_raw(feeds[0]))]
        wanted += [next(iter(session.run_raw(feeds[0]).values())).tobytes()]
    (folder / "main.c").write_text(MAIN)
    if not target.bare_metal:
        main_c = MAIN + (RUNNER / "io_linux.c").read_text().replace('"io.h"', f'"{RUNNER}/io.h"')
        (folder / "main.c").write_text(
            main_c.replace('#include "io.h"', f'#include "{RUNNER}/io.h"')
        )
    program = make(folder)
    (folder / "b/in.bin").write_bytes(b"".join(raw * 2))
    execute(target, program, "in.bin", "out.bin")
    assert (folder / "b/out.bin").read_bytes() == b"".join(wanted * 2)
    assert any(b"".join(wanted))


def test_a_library_of_two_models_has_what_both_need_once(files, capsys):
    """And arenas apart, one for each."""
    folder = files[0].parent / "lib"
    words = ["build", *files, "--target", "generic", "-o", folder, "--layout", "makefile",
             "--name", "nets", "--arena", "apart", "--json"]  # fmt: skip
    assert main([str(w) for w in words]) == 0
    told = json.loads(capsys.readouterr().out)
    arenas = [int(re.search(r"_ARENA_BYTES (\d+)", (folder / f"src/{m}_model.h").read_text())[1])
              for m in MODELS.values()]  # fmt: skip
    assert told["size"]["arena"] == sum(arenas)
    sources = sorted(str(p.relative_to(folder)) for p in (folder / "src").rglob("*.c"))
    assert sources.count("src/session.c") == 1 and "src/nets_registry.c" in sources
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Isrc"]
    command = ["gcc", *flags, *sources, "example/main.c", "-lm", "-o", "app"]
    subprocess.run(command, cwd=folder, check=True)
    ran = subprocess.run([folder / "app"], capture_output=True, text=True, check=True)
    assert ran.stderr.count("self-test passed") == 2


def test_files_whose_names_make_the_same_symbols_are_refused(files, capsys):
    folder = files[0].parent
    (folder / "other").mkdir()
    for same, what in (("wide", "another model"), ("models", "the library")):
        clash = folder / "other" / f"{same}.edge"
        clash.write_bytes(files[0].read_bytes())
        words = ["build", files[0], clash, "--target", "cortex_m4", "-o", folder / "x"]
        assert main([str(w) for w in words]) == 2
        assert f"{clash}: '{same}' is also the name of {what}" in capsys.readouterr().err
    for target in ("fpga_opencl", "hexagon_hvx"):
        words = ["build", *files, "--target", target, "-o", folder / "x"]
        assert main([str(w) for w in words]) == 2
        assert "one model; build each into its own folder" in capsys.readouterr().err


def test_archives_of_two_builds_differ_in_what_has_their_names_only(files, ready, tmp_path):
    """A linker that has both takes a member of either: those of one name must be the same."""
    target = ready("cortex_m4")
    wide, digits = {}, {}
    for members, file in ((wide, files[0]), (digits, files[1])):
        called = file.stem
        build(file, "cortex_m4", tmp_path / called)
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


@pytest.mark.parametrize(
    ("file", "prefix"), [("my-net 2.edge", "my_net_2"), ("1st.edge", "m1st"), ("ek.edge", "ek_")]
)
def test_names_of_files_become_names_of_c(ready, model_file, tmp_path, file, prefix):
    ready("cortex_m4")
    path = tmp_path / file
    path.write_bytes(model_file("digits")[0].read_bytes())
    files = set(build(path, "cortex_m4", tmp_path / "fw").files)
    assert {f"{prefix}_model.c", f"{prefix}_model.h", f"lib{prefix}.a", f"{prefix}.edge"} <= files
    make(tmp_path / "fw")
