"""What the C library promises to whoever links it."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from edgekit.runtime_c import SOURCE
from edgekit.toolkit.runtime import Session

TESTS = Path(__file__).parents[1]

# What a C compiler may call by itself, and what we allow.
FREESTANDING = {"memcpy", "memset", "memmove", "memcmp"}
MATH = re.compile(
    r"(exp|log|sqrt|a?tanh?|erf|a?sinh?|a?cosh?|pow|floor|ceil|rint|nearbyint|round|fmod|fabs|expm1|log1p|fmin|fmax|copysign|frexp|ldexp)f?"
)
HEADERS = sorted(p.name for p in (SOURCE / "include" / "edgekit").glob("*.h"))


def must(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """The portable part, compiled as for a device: no target, no sanitizer, freestanding."""
    if not shutil.which("gcc") or not shutil.which("make"):
        pytest.skip("needs gcc and make")
    folder = tmp_path_factory.mktemp("objects")
    flags = "-O1 -ffreestanding -fno-stack-protector -fno-pie -Werror"
    must(["make", "-C", SOURCE, "CC=gcc", f"CFLAGS={flags}", f"BUILD={folder}"])
    return sorted(folder.rglob("*.o"))


def symbols(objects, *flags):
    """(object, its symbols with nm's letter) of each that has any."""
    found = {}
    for line in must(["nm", "-A", *flags, *objects]).splitlines():
        path, kind, name = re.fullmatch(r"(.*\.o):.* (\w) (\S+)", line).groups()
        found.setdefault(Path(path), {})[name] = kind
    assert found.keys() <= set(objects)
    return found.items()


def test_all_that_is_visible_has_the_prefix(objects):
    defined = symbols(objects, "-g", "--defined-only")
    assert len(defined) == len(objects) > 100
    for obj, names in defined:
        strangers = [s for s in names if not s.startswith("ek_")]
        assert not strangers, f"{obj.name} defines {strangers}"


FLOATS = re.compile(r"_f(16|32|64)$|^convert$")
"""Files that compute in floats."""


def test_no_c_library_but_memory_and_mathematics_of_floats(objects):
    defined = {s for _, names in symbols(objects, "-g", "--defined-only") for s in names}
    for obj, names in symbols(objects, "-u"):
        needs = set(names) - defined - FREESTANDING - {"_GLOBAL_OFFSET_TABLE_"}
        if FLOATS.search(obj.stem):
            needs = {s for s in needs if not MATH.fullmatch(s)}
        assert not needs, f"{obj.name} needs {sorted(needs)}"


def test_no_writable_globals(objects):
    for obj, names in symbols(objects, "--defined-only"):
        state = [s for s, kind in names.items() if kind in "bBcC"]
        data = [s for s, kind in names.items() if kind in "dD"]
        sections = must(["objdump", "-t", obj]) if data else ""
        constant = re.findall(r" \.data\.rel\.ro\S*\s.* (\S+)$", sections, re.MULTILINE)
        relocated = sorted(set(data) - set(constant))
        assert not state + relocated, f"{obj.name} keeps {state + relocated}"


def test_no_float_instruction_in_integer_files(objects):
    for obj in objects:
        if FLOATS.search(obj.stem) or "f32" in obj.name:
            continue
        code = must(["objdump", "-d", "--no-show-raw-insn", obj])
        found = re.findall(r"\b((?:mul|add|sub|div|sqrt)s[sd]|cvt[a-z0-9]+)\b", code)
        if obj.stem in ("cast", "quantize_s8", "dequantize_s8"):
            continue
        assert not found, f"{obj.name} computes in floats: {sorted(set(found))}"


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(("compiler", "standard"), [("gcc", "c11"), ("g++", "c++17")])
def test_headers_stand_alone(header, compiler, standard):
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    language = "c" if compiler == "gcc" else "c++"
    must(
        [compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wundef", "-Werror", "-pedantic",
         f"-I{SOURCE / 'include'}", "-x", language, "-fsyntax-only", "-"],
        input=f'#include "edgekit/{header}"\n#include "edgekit/{header}"\n',
    )  # fmt: skip


MAIN = """
#include <stdio.h>
int main(int argc, char **argv)
{
    static uint8_t model[64 * 1024] __attribute__((aligned(EK_ALIGN)));
    int8_t image[64], answer[10];
    FILE *file = fopen(argv[argc - 1], "rb");
    size_t bytes = fread(model, 1, sizeof model, file);
    if (fread(image, 1, 64, stdin) != 64 || classify(model, bytes, image, answer)) return 1;
    return fwrite(answer, 1, 10, stdout) != 10;
}
"""


def test_the_program_of_the_tutorial_answers(objects, digits_edge, tmp_path):
    page = (TESTS.parent / "docs" / "tutorial.md").read_text()
    (program,) = re.findall(r"^```c\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    source, made = tmp_path / "classify.c", tmp_path / "classify"
    source.write_text(program + MAIN)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-no-pie", f"-I{SOURCE / 'include'}"]
    must(["gcc", *flags, source, *objects, "-lm", "-o", made])
    session = Session(digits_edge)
    image = np.random.default_rng(0).integers(0, 17, (1, 1, 8, 8)).astype(np.float32) / 16
    (raw,) = session.to_raw({"image": image})
    done = subprocess.run([made, session.model.source], input=raw.tobytes(), capture_output=True)
    assert done.returncode == 0
    answer = np.frombuffer(done.stdout, np.int8)
    np.testing.assert_array_equal(answer, session.run_raw({"image": image})["probabilities"][0])
