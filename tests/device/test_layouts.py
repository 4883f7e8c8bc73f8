"""A build as a library: the files that are needed, without a warning, and a manifest that holds."""

import json
import re
import subprocess
from xml.etree import ElementTree

import pytest

from edgekit.toolkit.cli import main
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.library import LAYOUTS
from edgekit.toolkit.device.process import find

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
ARM = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
FIELDS = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url",
          "architectures"}  # fmt: skip
"""Of the Arduino library specification 1.5, all that are required."""


@pytest.fixture(scope="module")
def portable(model_file, tmp_path_factory):
    """The library of a target without kernels of its own: C for any compiler."""
    if not find("cmake"):
        pytest.skip("cmake is not installed")
    out = tmp_path_factory.mktemp("portable") / "lib"
    build(model_file("digits")[0], "generic", out, layout="makefile", name="digits")
    return out


def sources(folder):
    return sorted(str(p.relative_to(folder)) for p in (folder / "src").rglob("*.c"))


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_any_compiler_makes_a_program_that_passes_its_test(portable, tmp_path, compiler):
    """64-bit pointers change nothing, and no source needs a flag of its own."""
    if not find(compiler):
        pytest.skip(f"{compiler} is not installed")
    command = [compiler, "-std=c11", "-O1", *WARNINGS, "-Isrc", *sources(portable),
               "example/main.c", "-lm", "-o", tmp_path / "app"]  # fmt: skip
    done = subprocess.run(command, cwd=portable, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    ran = subprocess.run([tmp_path / "app"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "self-test passed\n")


def test_the_makefile_makes_the_archive(portable):
    subprocess.run(["make", "-s", "-j2", "CFLAGS=-O0"], cwd=portable, check=True)
    listed = subprocess.run(["nm", "-g", "libdigits.a"], cwd=portable, capture_output=True,
                            text=True, check=True).stdout  # fmt: skip
    assert "T digits_model_open" in listed and " T ek_model_open" not in listed


def test_no_file_is_left_over(portable):
    """A compiler reads each of them, and no operator that the model does not have is there."""
    root = portable / "src"
    there = [p for p in root.rglob("*") if p.is_file() and p.suffix != ".o"]
    files = {p.relative_to(portable).as_posix() for p in there}
    command = ["gcc", "-MM", "-Isrc", *sources(portable), "example/main.c"]
    listed = subprocess.run(command, cwd=portable, capture_output=True, text=True, check=True)
    read = set(re.sub(r"^\S+:|\\$", "", listed.stdout, flags=re.M).split())
    normal = {str((portable / f).resolve().relative_to(portable.resolve())) for f in read}
    assert normal - {"example/main.c"} == files
    assert not [f for f in files if "/ops/norm/" in f and "softmax" not in f]
    for name in sources(portable):
        own = re.search(r"/digits_(model|self_test|input)\.c$", name)
        text = (portable / name).read_text()
        assert own or text.startswith('#include "edgekit_config.h"\n'), name


@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "clang-19"])
def test_kernels_of_a_core_compile_without_a_warning(ready, model_file, tmp_path, compiler):
    ready("cortex_m4")
    if not find(compiler):
        pytest.skip(f"{compiler} is not installed")
    out = tmp_path / "lib"
    build(model_file("int16x4")[0], "cortex_m4", out, layout="cmake", name="net")
    clang = ["--target=arm-none-eabi", "-isystem", "/usr/lib/arm-none-eabi/include"]
    command = [compiler, *(clang if "clang" in compiler else []), *ARM, "-std=c11", "-Os",
               *WARNINGS, "-Isrc", "-fsyntax-only", *sources(out)]  # fmt: skip
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_manifest_names_the_sources_and_what_is_required(model_file, tmp_path, layout, capsys):
    out = tmp_path / "lib"
    words = ["build", model_file("digits")[0], "--target", "generic", "-o", out, "--layout", layout,
             "--name", "digits"]  # fmt: skip
    assert main([str(w) for w in words]) == 0
    assert "example/main.c" in capsys.readouterr().err
    files, text = sources(out), {}
    for name in LAYOUTS[layout].files.values():
        text[name] = (out / name.format(prefix="digits")).read_text()
    if layout in ("cmake", "makefile", "zephyr", "esp-idf"):
        listing = next(t for n, t in text.items() if n.endswith(("CMakeLists.txt", "Makefile")))
        assert re.findall(r"src/\S+\.c", listing) == files
    if layout == "arduino":
        fields = dict(line.split("=", 1) for line in text["library.properties"].splitlines())
        assert fields.keys() >= FIELDS and all(fields.values())
        assert fields["category"] == "Data Processing"
        assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
        assert (out / "src" / fields["includes"]).is_file()
    if layout == "cmsis-pack":
        pack = ElementTree.fromstring(text.popitem()[1].encode())
        assert all(pack.findtext(tag) for tag in ("vendor", "name", "description", "url"))
        (component,) = pack.iter("component")
        assert component.get("Cclass") and component.get("Cgroup")
        assert pack.find("releases/release").get("version") == component.get("Cversion")
        listed = [f.get("name") for f in pack.iter("file") if f.get("category") == "sourceC"]
        assert listed == files and all((out / f.get("name")).exists() for f in pack.iter("file"))
    if layout == "platformio":
        told = json.loads(text["library.json"])
        assert {"name", "version", "description", "keywords"} <= told.keys()
        assert "license" not in told
    if layout == "esp-idf":
        assert re.search(r'^version: "\d+\.\d+\.\d+"$', text["idf_component.yml"], re.M)
        assert "idf_component_register(" in text["CMakeLists.txt"]
    if layout == "zephyr":
        module = text["zephyr/module.yml"]
        assert re.search(r"^name: \S+$", module, re.M) and "  cmake: zephyr" in module
        option = re.search(r"config (\w+)", text["zephyr/Kconfig"])[1]
        assert f"CONFIG_{option}" in text["zephyr/CMakeLists.txt"]
    if layout == "cmake":
        (tmp_path / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(app C)\nadd_subdirectory(lib)\n"
            "add_executable(app lib/example/main.c)\ntarget_link_libraries(app PRIVATE digits m)\n"
        )
        subprocess.run(["cmake", "-B", "b"], cwd=tmp_path, check=True, capture_output=True)
        subprocess.run(["cmake", "--build", "b"], cwd=tmp_path, check=True, capture_output=True)
        assert subprocess.run([tmp_path / "b" / "app"], check=False).returncode == 0
