"""The HVX kernels under qemu-hexagon: the same bytes as the reference, every vector access aligned
or said not to be, and what a matrix product costs in packets."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAMILY = ROOT / "targets" / "hexagon_hvx"
CMAKE = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
NEEDED = {"clang-19": "clang-19", "ld.lld-19": "lld-19", "llvm-ar-19": "llvm-19"}
MISSING = [package for program, package in NEEDED.items() if not shutil.which(program)]

pytestmark = [
    pytest.mark.skipif(CMAKE is None, reason="needs CMake"),
    pytest.mark.skipif(bool(MISSING), reason=f"needs {' '.join(MISSING)} (apt-get install)"),
]
emulated = pytest.mark.skipif(
    shutil.which("qemu-hexagon") is None, reason="needs qemu-hexagon (package qemu-user)"
)


def build(folder, *targets, flags="", arch="v66"):
    configure = [
        CMAKE,
        *("-S", ROOT / "runtime_c", "-B", folder),
        f"-DCMAKE_TOOLCHAIN_FILE={FAMILY / 'toolchain.cmake'}",
        f"-DEDGEKIT_HEXAGON_ARCH={arch}",
        "-DEDGEKIT_TARGETS=hexagon_hvx",
        "-DEDGEKIT_TESTS=ON",
        "-DCMAKE_BUILD_TYPE=MinSizeRel",
    ]
    for command in (configure, [CMAKE, "--build", folder, "-j", "2", "--target", *targets]):
        environment = {**os.environ, "CFLAGS": flags}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        assert "warning:" not in done.stdout + done.stderr, done.stdout + done.stderr
    return folder / "kernels"


def emulate(*command):
    return subprocess.run(
        ["qemu-hexagon", *command], capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    programs = ("check_kernels", "misaligned")
    return build(tmp_path_factory.mktemp("checked"), *programs, flags="-DEK_HVX_CHECK")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return build(tmp_path_factory.mktemp("plain"), "speed", "misaligned")


@emulated
@pytest.mark.parametrize("seed", ["1", "20260101", "77"])
def test_the_kernels_agree_with_the_reference_and_align_their_accesses(checked, seed):
    done = emulate(checked / "check_kernels", seed, "--trials", "700", "--table", "hexagon_hvx")
    assert done.returncode == 0, done.stdout + done.stderr


@emulated
def test_a_misaligned_vector_load_is_caught_where_the_emulator_hides_it(checked, plain):
    hidden = emulate(plain / "misaligned")
    assert (hidden.returncode, hidden.stdout) == (0, "byte 0\n")  # of the line, not of the address
    assert emulate(checked / "misaligned").returncode != 0


def test_only_one_header_touches_memory_with_vectors():
    access = re.compile(
        r"\*\s*\((const )?HVX_U?Vector|\(\s*(const )?HVX_U?Vector(Pair)?\s*\*\s*\)|vmemu"
    )
    sources = [*FAMILY.rglob("*.c"), *FAMILY.rglob("*.h")]
    assert len(sources) > 10
    found = [s.name for s in sources if access.search(s.read_text())]
    assert found == ["vectors.h"]


def counted(plain, tmp_path, *arguments):
    """Packets of the known loop and of one product, and what the program printed."""
    cc = shutil.which("cc")
    if not cc:
        pytest.skip("counting needs a C compiler of this machine")
    counter = tmp_path / "count.so"
    source = ROOT / "targets" / "emulation" / "count.c"
    subprocess.run([cc, "-O2", "-shared", "-fPIC", "-o", counter, source], check=True)
    lines = tmp_path / "counts.txt"
    done = emulate("-plugin", f"{counter},out={lines}", plain / "speed", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    marks = [int(line.split()[1]) for line in lines.read_text().splitlines()]
    return marks[1] - marks[0] - 1, marks[3] - marks[2] - 1, done.stdout


@emulated
@pytest.mark.parametrize(("element", "gain"), [("s8", 100), ("s16", 80)])
def test_a_product_takes_few_packets(plain, tmp_path, element, gain):
    loop, fast, answer = counted(plain, tmp_path, "hexagon_hvx", element, "256", "256", "256")
    assert loop == 1 + 3 * 1000  # packets of three instructions count once
    assert 256**3 / fast >= 60
    _, slow, wanted = counted(plain, tmp_path, "ref", element, "256", "256", "256")
    assert answer == wanted
    assert slow > gain * fast


@pytest.mark.parametrize("arch", ["v68", "v73"])
def test_later_cores_compile(tmp_path, arch):
    build(tmp_path / arch, "check_kernels", arch=arch)
