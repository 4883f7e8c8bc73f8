"""libedgekit.so: what it exports, how it is found, and programs in C++ that link it."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from edgekit.runtime_c import SOURCE

from .test_standalone import answers as answers  # a fixture
from .test_standalone import block, must, need

CPP = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where cmake has installed it; `edgekit.pc` says how to use it."""
    cmake = shutil.which("cmake") or shutil.which("cmake", path=Path(sys.executable).parent)
    need("cc", "make", "nm", *([] if cmake else ["cmake"]))
    folder = tmp_path_factory.mktemp("shared")
    shutil.copytree(SOURCE, folder / "alone" / "runtime_c")
    plain = ["-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0"]
    made = folder / "made"
    must(cmake, "-S", folder / "alone/runtime_c", "-B", made, *plain, "-DBUILD_SHARED_LIBS=ON")
    must(cmake, "--build", made, "-j2")
    must(cmake, "--install", made, "--prefix", folder / "prefix")
    return folder / "prefix"


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", (SOURCE / "include/edgekit" / header).read_text(), flags=re.S)
    return set(re.findall(r"^\w[\w *]*?\b(ek_\w+)\(", text, re.M))


def test_it_exports_the_public_functions_at_a_version_and_no_more(prefix):
    (library,) = prefix.rglob("libedgekit.so")
    assert library.resolve().name == "libedgekit.so.0.1.0"
    lines = must("nm", "-D", "--defined-only", "--with-symbol-versions", library).decode()
    found = dict(re.findall(r" T (\w+)@@(\w+)$", lines, re.M))
    headers = ("edgekit.h", "link.h", "picture.h", "sound.h", "update.h")
    assert set(found) == set.union(*map(declared, headers))
    assert {"ek_sound_frame", "ek_picture_fit"} <= set(found)
    assert set(found.values()) == {"EDGEKIT_0"}
    assert {"ek_run", "ek_session_init_shared", "ek_link_poll", "ek_status_str"} <= set(found)
    assert re.search(rb"SONAME +libedgekit\.so\.0\n", must("objdump", "-p", library))


ABI = """
#include "edgekit/edgekit.h"
#include "edgekit/link.h"
_Static_assert(sizeof(ek_io) == 48 && offsetof(ek_io, onnx_dtype) == 44, "ek_io");
_Static_assert(sizeof(ek_model) == 176 && offsetof(ek_model, failed_op) == 148, "ek_model");
_Static_assert(sizeof(ek_link) == 560, "ek_link");
_Static_assert(EK_SESSION_OVERHEAD == 96, "EK_SESSION_OVERHEAD");
"""


def test_what_programs_hold_keeps_its_size(tmp_path):
    """On 64-bit CPUs. A change here is a change of edgekit_abi in runtime_c/cmake/shared.cmake."""
    (tmp_path / "abi.c").write_text(ABI)
    must("cc", "-std=c11", f"-I{SOURCE / 'include'}", "-fsyntax-only", tmp_path / "abi.c")


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_the_readmes_program_in_cpp_answers(prefix, answers, tmp_path, compiler):
    need(compiler)
    (tmp_path / "main.cpp").write_text(block("cpp"))
    (package,) = prefix.rglob("edgekit.pc")
    found = [f"-I{prefix}/include", f"-L{package.parent.parent}", "-ledgekit", "-lm"]
    if shutil.which("pkg-config"):
        where = {"PKG_CONFIG_PATH": package.parent, "PATH": "/usr/bin:/bin"}
        found = must("pkg-config", "--cflags", "--libs", "edgekit", env=where).decode().split()
    rpath = f"-Wl,-rpath,{package.parent.parent}"
    must(compiler, *CPP, tmp_path / "main.cpp", *found, rpath, "-o", tmp_path / "app")
    answers(tmp_path / "app")
    linked = must("objdump", "-p", tmp_path / "app").decode()
    assert re.search(r"NEEDED +libedgekit\.so\.0\n", linked)


WRAPPER = """
#include <array>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include "edgekit/edgekit.hpp"

static edgekit::memory<1 << 16> file, room, arena;

static_assert(!std::is_copy_constructible_v<edgekit::model>);
static_assert(!std::is_copy_constructible_v<edgekit::session>);
static_assert(std::is_nothrow_move_constructible_v<edgekit::session>);
static_assert(edgekit::dtype_of<float> == EK_DTYPE_FLOAT32 && edgekit::dtype_of<char16_t> == -1);

int main(int, char **argv)
{
    std::FILE *opened = std::fopen(argv[1], "rb");
    const std::size_t bytes = std::fread(file.bytes, 1, sizeof file.bytes, opened);
    edgekit::model model;
    edgekit::session session;
    assert(!session && session.run().code() == EK_ERR_ARG && !session.input(0) && !session.step(1));
    assert(model.open({ file.bytes, 100 }).code() == EK_ERR_CORRUPT);
    assert(!model.open({ file.bytes, bytes }));
    assert(model.inputs() == 1 && model.outputs() == 1 && !model.input(1) && !model.output(1));
    assert(!model.input(0)->as<std::int8_t>()); /* a model has no memory */
    const auto needed = model.session_bytes();
    assert(needed && *needed <= sizeof room.bytes);
    assert(session.init(model, { room.bytes, *needed - 1 }).code() == EK_ERR_MEMORY);
    assert(!std::strcmp(edgekit::error(EK_ERR_MEMORY).text(), ek_status_str(EK_ERR_MEMORY)));
    assert(!session.init(model, room) && session);
    edgekit::session moved = static_cast<edgekit::session &&>(session);
    assert(!session && moved);

    const auto image = moved.input(0);
    assert(image && image->shape().size() == 4 && image->shape()[2] == 8 && image->is_quantized());
    assert(!moved.input_as<std::int16_t>(0) && moved.input_as<float>(0).why().code() == EK_ERR_ARG);
    std::array<float, 64> pixels{};
    for (std::size_t i = 0; i < pixels.size(); i++) pixels[i] = static_cast<float>(i % 17) / 16;
    std::array<float, 10> scores{}, again{};
    assert(image->write({ pixels.data(), 63 }) && !image->write(pixels));
    const auto q = moved.input_as<std::int8_t>(0);
    const int want = static_cast<int>(pixels[16] / image->scale() + 0.5f) + image->zero_point();
    assert(q && q->size() == 64 && (*q)[16] == want);
    assert(!moved.run());
    const auto out = moved.output(0);
    assert(out && out->read({ scores.data(), 9 }) && !out->read(scores));
    const auto raw = moved.output_as<std::int8_t>(0);
    static_assert(std::is_same_v<decltype(*raw), const edgekit::span<const std::int8_t> &>);
    assert(scores[3] == out->scale() * static_cast<float>((*raw)[3] - out->zero_point()));

    edgekit::session other; /* on an arena of its own, in steps */
    assert(!other.init(model, room, arena, ek_kernels_select(nullptr)));
    assert(!other.input(0)->write(pixels));
    for (auto left = other.step(2); assert(left), *left; left = other.step(2)) continue;
    assert(!other.output(0)->read(again) && again == scores && !other.reset());
    return 0;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_the_wrapper_checks_what_it_is_given(prefix, digits_edge, tmp_path, compiler):
    need(compiler)
    (tmp_path / "main.cpp").write_text(WRAPPER)
    (library,) = prefix.rglob("libedgekit.so")
    flags = [*CPP, f"-I{prefix / 'include'}", f"-Wl,-rpath,{library.parent}"]
    must(compiler, *flags, tmp_path / "main.cpp", library, "-o", tmp_path / "app")
    must(tmp_path / "app", digits_edge)
