"""The sources of every target compile without a warning, with gcc and with clang."""

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
GCC = {"riscv32_imc": ["-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"]}
GCC_ONLY = "-fno-schedule-insns"


def compile_all(command, archive, sources):
    """The messages of a compiler about each source that it does not accept."""
    include = [f"-I{d}" for d in (runtime_c.SOURCE / "src", runtime_c.SOURCE / "include",
                                  targets.FOLDER, archive.library.parent)]  # fmt: skip

    def compiled(entry):
        path, flags = entry
        words = [*command, "-Wall", "-Wextra", *flags, "-Werror", *include, "-c", path]
        done = subprocess.run(
            [*words, "-o", "/dev/null"], capture_output=True, text=True, check=False
        )
        return f"{path.name}: {done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(2) as pool:
        return [said for said in pool.map(compiled, sources) if said]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("name", CROSS)
def test_the_sources_of_a_target_compile_without_a_warning(ready, model_file, name, compiler):
    """Its own and, of one core of each family, the portable ones."""
    target = ready(name)
    archive = compile_runtime(target, read(model_file("int16x4")[0].read_bytes()))
    family = targets.FOLDER / target.kernels
    first = next(n for n in CROSS if targets.load(n).kernels == target.kernels)
    sources = [s for s in archive.sources if family in s[0].parents or name == first]
    assert len(sources) >= 8 or name == "armv7_linux" or not target.tables
    command = [target.compiler, *GCC.get(name, [])]
    if compiler == "clang":
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
