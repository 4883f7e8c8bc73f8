"""The sources of every target compile without a warning, with gcc and with clang."""

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from edgekit import runtime_c, targets
from edgekit.toolkit.device.build import build, compile_runtime
from edgekit.toolkit.device.process import find
from edgekit.toolkit.format.reader import read

CROSS = [n for n in targets.names() if targets.load(n).compiler.endswith("-gcc")]
PICOLIBC = "/usr/lib/picolibc/riscv64-unknown-elf"
CLANG = {
    "cortex_m": ["--target=arm-none-eabi", "-isystem", "/usr/lib/arm-none-eabi/include"],
    "aarch64_linux": ["--target=aarch64-linux-gnu"],
    "armv7_linux": ["--target=arm-linux-gnueabihf"],
    "riscv64_linux": ["--target=riscv64-linux-gnu"],
    "riscv32_imc": [
        *("--target=riscv32-unknown-elf", "-march=rv32imc", "-isystem", f"{PICOLIBC}/include")
    ],
}
GCC_ONLY = "-fno-schedule-insns"


def compile_all(command, archive, sources):
    """The messages of a compiler about each source that it does not accept."""
    include = [f"-I{d}" for d in (runtime_c.SOURCE / "src", runtime_c.SOURCE / "include",
                                  targets.FOLDER, archive.library.parent)]  # fmt: skip

    def compiled(entry):
        path, flags = entry
        # What is plain C says all in its meaning; code of kernels must be made too.
        made = ["-c"] if targets.FOLDER in path.parents else ["-fsyntax-only"]
        words = [*command, "-Wall", "-Wextra", *flags, "-Werror", *include, *made, path]
        done = subprocess.run(
            [*words, "-o", "/dev/null"], capture_output=True, text=True, check=False
        )
        return f"{path.name}: {done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        return [said for said in pool.map(compiled, sources) if said]


def archive_of(name, model_file):
    return compile_runtime(targets.load(name), read(model_file("int16x4")[0].read_bytes()))


@pytest.mark.parametrize("name", CROSS)
def test_the_build_of_a_target_is_without_a_warning(ready, model_file, tmp_path, name):
    """By gcc, with the very commands of the build; all that compiles says nothing."""
    ready(name)
    archive = archive_of(name, model_file)
    launcher = os.environ.get("CMAKE_C_COMPILER_LAUNCHER")
    commands = json.loads((archive.library.parent / "compile_commands.json").read_text())
    assert len(commands) == len(archive.sources) > 30

    def said(entry):
        words = shlex.split(entry["command"])
        assert {"-Wall", "-Wextra"} <= set(words)
        at = words.index("-o")
        out = tmp_path / Path(words[at + 1]).name
        words[at : at + 2] = ["-MD", "-MT", out.name, "-MF", f"{out}.d", "-o", str(out)]
        done = subprocess.run(
            [*([launcher] if launcher else []), *words],
            cwd=entry["directory"], capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stderr if done.stderr or done.returncode or not out.exists() else ""

    with ThreadPoolExecutor(2) as pool:
        assert not [told for told in pool.map(said, commands) if told]


@pytest.mark.parametrize("name", CROSS)
def test_the_sources_of_a_target_compile_with_clang_without_a_warning(ready, model_file, name):
    """Its own and, of one core of each family, the portable ones."""
    target = ready(name)
    archive = archive_of(name, model_file)
    family = targets.FOLDER / target.kernels
    first = next(n for n in CROSS if targets.load(n).kernels == target.kernels)
    sources = [s for s in archive.sources if family in s[0].parents or name == first]
    assert len(sources) >= 8 or name == "armv7_linux" or not target.tables
    if not find("clang-19"):
        pytest.skip("clang-19 is not installed (package clang-19)")
    if target.kernels == "cortex_m" and not Path("/usr/lib/arm-none-eabi/include").is_dir():
        pytest.skip("newlib's headers are not where Debian has them")
    command = ["clang-19", *CLANG.get(name, CLANG.get(target.kernels, []))]
    sources = [(path, [f for f in flags if f != GCC_ONLY]) for path, flags in sources]
    assert not compile_all(command, archive, sources)


def test_flags_of_gcc_are_for_gcc_only(ready, model_file, tmp_path):
    """As CMakeLists.txt says them: clang warns of them once a file."""
    ready("aarch64_linux")
    build(model_file("int16x4")[0], "aarch64_linux", tmp_path / "app", sources=True)
    text = (tmp_path / "app" / "CMakeLists.txt").read_text()
    assert text.count(GCC_ONLY) == text.count(f"$<$<C_COMPILER_ID:GNU>:{GCC_ONLY}>") > 0
