"""Every kernel table of the host build against the reference, plain and under sanitizers."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CMAKE = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
# As tests/fuzz/test_fuzz.py has them, so that each object is compiled for both.
SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all -g1 -O1"

pytestmark = pytest.mark.skipif(CMAKE is None, reason="needs CMake")


def build(folder, kind, flags):
    configure = [
        CMAKE,
        *("-S", ROOT / "runtime_c", "-B", folder),
        *([f"-DCMAKE_C_COMPILER={gcc}"] if (gcc := shutil.which("gcc")) else []),
        "-DEDGEKIT_TESTS=ON",
        f"-DCMAKE_BUILD_TYPE={kind}",
        f"-DCMAKE_C_FLAGS={flags}",
    ]
    for command in (configure, [CMAKE, "--build", folder, "--target", "check_kernels", "-j", "2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        assert "warning:" not in done.stdout + done.stderr, done.stdout + done.stderr
    return next(folder.rglob("check_kernels"))


def check(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), "Release", "")


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory):
    return build(tmp_path_factory.mktemp("sanitized"), "None", SANITIZE)


@pytest.mark.parametrize("seed", ["1", "20260101", "4242"])
def test_every_table_agrees_with_the_reference(program, seed):
    done = check(program, seed)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", ["7", "1234567"])
def test_no_kernel_reads_or_writes_out_of_bounds(sanitized, seed):
    done = check(sanitized, seed)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unknown_table_is_refused_by_name(program):
    done = check(program, "1", "--table", "nosuch")
    assert done.returncode == 2
    assert "no table 'nosuch' in this build; there are: ref" in done.stdout
