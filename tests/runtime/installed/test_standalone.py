"""runtime_c builds, installs and runs alone: with CMake, with make, with a compiler."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgekit.runtime_c import SOURCE
from edgekit.toolkit.device.build import parts_of
from edgekit.toolkit.format import schema
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.runtime import Session

STRICT = "-O0 -Wpedantic -Wconversion -Wsign-conversion -Wcast-qual -Werror"


def must(*command, **more):
    done = subprocess.run(command, capture_output=True, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout!r}\n{done.stderr.decode()}"
    return done.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"needs {program}")


def block(language):
    """The block of code in that language of the README."""
    text = (SOURCE / "README.md").read_text()
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture
def alone(tmp_path):
    """A copy of the folder, with nothing beside it, and the README's program."""
    shutil.copytree(SOURCE, tmp_path / "alone" / "runtime_c")
    (tmp_path / "main.c").write_text(block("c"))
    return tmp_path / "alone" / "runtime_c"


@pytest.fixture(scope="module")
def answers(digits_edge):
    """Assert that a program answers as the runtime of this process does."""
    session = Session(digits_edge)
    images = np.random.default_rng(0).integers(0, 17, (3, 1, 1, 8, 8)).astype(np.float32) / 16
    raw = b"".join(session.to_raw({"image": image})[0].tobytes() for image in images)
    expected = [session.run_raw({"image": image})["probabilities"][0] for image in images]

    def check(program):
        got = np.frombuffer(must(program, digits_edge, input=raw), np.int8)
        np.testing.assert_array_equal(got, np.concatenate([np.ravel(e) for e in expected]))

    return check


PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(consumer C)
find_package(edgekit 0.1 REQUIRED)
if(NOT edgekit_VERSION STREQUAL "0.1.0")
  message(FATAL_ERROR "version ${edgekit_VERSION}")
endif()
add_executable(app ../main.c)
target_link_libraries(app PRIVATE edgekit::edgekit)
"""


def test_cmake_installs_a_package(alone, answers, tmp_path):
    cmake = shutil.which("cmake") or shutil.which("cmake", path=Path(sys.executable).parent)
    need("cc", "make", *([] if cmake else ["cmake"]))
    made, prefix, consumer = tmp_path / "made", tmp_path / "prefix", tmp_path / "consumer"
    plain = ("-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0")
    must(cmake, "-S", alone, "-B", made, *plain)
    must(cmake, "--build", made)
    must(cmake, "--install", made, "--prefix", prefix)
    shutil.rmtree(alone)
    shutil.rmtree(made)
    consumer.mkdir()
    (consumer / "CMakeLists.txt").write_text(PROJECT)
    must(cmake, "-S", consumer, "-B", consumer / "b", *plain, f"-DCMAKE_PREFIX_PATH={prefix}")
    must(cmake, "--build", consumer / "b")
    answers(consumer / "b" / "app")
    (package,) = prefix.rglob("edgekit.pc")
    assert "prefix=${pcfiledir}/../..\n" in package.read_text()
    assert "Version: 0.1.0\n" in package.read_text()


@pytest.mark.parametrize(
    ("compiler", "standard", "chosen"), [("gcc", "c99", True), ("clang-19", "c11", False)]
)
def test_make_installs_the_library(
    alone, answers, digits_edge, tmp_path, compiler, standard, chosen
):
    need(compiler, "make", "ar", "sed")
    prefix = tmp_path / "prefix"
    flags = ["-C", alone, f"CC={compiler}", f"CFLAGS={STRICT} -std={standard}"]
    if chosen:
        parts = parts_of(read(digits_edge.read_bytes(), digits_edge.name))
        flags += [f"OPS={' '.join(parts.ops)}", f"CODECS={' '.join(parts.codecs)}"]
    must("make", *flags)
    assert b" -c " not in must("make", *flags)
    must("make", *flags, "install", f"PREFIX={prefix}")
    shutil.rmtree(alone)
    package = (prefix / "lib" / "pkgconfig" / "edgekit.pc").read_text()
    for line in (
        "prefix=${pcfiledir}/../..",
        "libdir=${prefix}/lib",
        "includedir=${prefix}/include",
        "Version: 0.1.0",
        "Libs: -L${libdir} -ledgekit -lm",
        "Cflags: -I${includedir}",
    ):
        assert line in package.splitlines()
    found = [f"-I{prefix}/include", f"-L{prefix}/lib", "-ledgekit", "-lm"]
    if shutil.which("pkg-config"):
        where = {"PKG_CONFIG_PATH": prefix / "lib" / "pkgconfig", "PATH": "/usr/bin:/bin"}
        found = must("pkg-config", "--cflags", "--libs", "edgekit", env=where).decode().split()
    program = tmp_path / "app"
    must(compiler, *STRICT.split(), "-std=c11", tmp_path / "main.c", *found, "-o", program)
    answers(program)
    need("nm")
    assert b"ek_op_name" not in must("nm", program)


def test_make_refuses_an_operator_that_does_not_exist(alone):
    need("make", "sed")
    done = subprocess.run(
        ["make", "-C", alone, "OPS=conv2d_s8 conv9d_s8"], capture_output=True, text=True
    )
    assert done.returncode
    assert "no operator conv9d_s8" in done.stderr


NAMES = """
#include <stdio.h>
#include "edgekit/edgekit.h"
static _Alignas(EK_ALIGN) uint8_t file[1 << 16];
int main(int argc, char **argv)
{
    ek_model model;
    FILE *opened = fopen(argv[argc - 1], "rb");
    size_t bytes = fread(file, 1, sizeof file, opened);
    if (ek_model_open(&model, file, bytes, EK_OPEN_DEFAULT)) return 1;
    uint32_t i = 0;
    for (; ek_op_name(&model, i); i++) puts(ek_op_name(&model, i));
    return ek_op_name(&model, UINT32_MAX) || ek_op_name(NULL, 0);
}
"""


def test_a_compiler_alone(alone, answers, digits_edge, tmp_path):
    need("gcc", "sh", "sed")
    (tmp_path / "build.sh").write_text("set -e\n" + block("sh"))
    objects, program, names = tmp_path / "o", tmp_path / "app", tmp_path / "names"
    objects.mkdir()
    built = {"CC": "gcc", "CFLAGS": f"{STRICT} -Wall -Wextra", "OUT": objects}
    must("sh", tmp_path / "build.sh", cwd=alone, env={"PATH": "/usr/bin:/bin", **built})
    must("gcc", f"-I{alone}/include", tmp_path / "main.c", *objects.iterdir(), "-lm", "-o", program)
    answers(program)
    (tmp_path / "names.c").write_text(NAMES)
    must("gcc", f"-I{alone}/include", tmp_path / "names.c", *objects.iterdir(), "-lm", "-o", names)
    model = read(digits_edge.read_bytes(), digits_edge.name)
    kinds = [schema.NAMES[op.kind, op.is_variant(model.tensors)] for op in model.ops]
    assert must(names, digits_edge).decode().split() == kinds
