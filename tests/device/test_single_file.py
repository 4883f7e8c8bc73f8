"""A build as one .c and one .h: compilers take it, and it gives the bytes of an ordinary one."""

import re
import subprocess

import pytest

from edgekit import targets
from edgekit.toolkit.device.amalgamation import amalgamated
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.process import find
from edgekit.toolkit.format.writer import write

from ..fuzz import corpus
from .test_two_models import execute, make

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-Os"]
OF_TARGET = {
    "generic": {"gcc": ["-O1"], "clang-19": ["-O1", "-std=c99"]},
    "cortex_m4": {
        "arm-none-eabi-gcc": M4,
        "clang-19": [*M4, "--target=arm-none-eabi", "-isystem", "/usr/lib/arm-none-eabi/include"],
    },
    "aarch64_linux": {
        "aarch64-linux-gnu-gcc": ["-O1"],
        "clang-19": ["-O1", "--target=aarch64-linux-gnu"],
    },
}


def compiled(folder, name, *command):
    done = subprocess.run([*command, *WARNINGS, f"-I{folder}", "-c", f"{folder}/{name}.c"],
                          cwd=folder, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.parametrize("target", OF_TARGET)
def test_each_compiler_takes_it_without_a_warning(ready, model_file, tmp_path, target):
    found = ready(target)
    out = tmp_path / "one"
    built = build(model_file("digits")[0], target, out, layout="single-file", name="net")
    assert built.files == ["example/main.c", "net.c", "net.h", "size.json"]
    for compiler, flags in reversed(OF_TARGET[target].items()):
        if find(compiler):
            compiled(out, "net", compiler, *flags)
    if target == "cortex_m4":  # in the place of the archive
        build(model_file("digits")[0], target, tmp_path / "fw", name="net")
        project = (tmp_path / "fw/CMakeLists.txt").read_text()
        project = project.replace("net_model.c net_self_test.c", "../one/net.c")
        project = re.sub(r"target_link_libraries\(app PRIVATE \".*\n", "", project)
        (tmp_path / "fw/CMakeLists.txt").write_text(project)
        program = make(tmp_path / "fw")
    else:
        compiler = next(iter(OF_TARGET[target]))
        program = out / "app"
        command = [compiler, "-static", "-I.", "net.o", "example/main.c", "-lm", "-o", program]
        compiled(out, "net", compiler, "-O1")
        subprocess.run(command, cwd=out, check=True)
    if found.emulator and not found.bare_metal:
        done = subprocess.run([found.emulator, program], capture_output=True, text=True, check=True)
        assert done.stderr == "self-test passed\n"
        assert "aarch64_dotprod" not in (out / "net.c").read_text()
        assert "net_target_aarch64_neon" in (out / "net.c").read_text()
    else:
        assert execute(targets.load(target), program) == "self-test passed\n"


def test_operators_that_share_names_of_their_own_fit_into_one_file(tmp_path):
    """Each of these models passes its self-test, and int8, int16 and float32 go together."""
    files = []
    for i, case in enumerate(list(corpus.CASES)[::6]):
        files.append(tmp_path / f"m{i}.edge")
        files[-1].write_bytes(write(corpus.one_operator(case)))
    out = tmp_path / "one"
    build(files, "generic", out, layout="single-file", name="nets")
    compiled(out, "nets", "gcc", "-O0")
    command = ["gcc", "-I.", "nets.o", "example/main.c", "-lm", "-o", "app"]
    subprocess.run(command, cwd=out, check=True)
    ran = subprocess.run([out / "app"], capture_output=True, text=True, check=True)
    assert ran.stderr.count("self-test passed") == len(files)


def test_a_name_keeps_its_meaning_in_each_file():
    header = "typedef struct handle handle;\nint get(const handle *h);\n"
    shared = header + "enum { MOST = 3 };\nstatic inline int twice(int x) { return 2 * x; }\n"
    use = "static int step(int x) { return twice(x) + MOST; }\nint a(void) { return step(1); }\n"
    first = shared + use
    second = (
        f"{header}enum {{ MOST = 4 }};\nstruct p {{ int step; }};\n"
        "static int step(struct p *q, int x)\n{ return q->step + x + MOST; }\n"
        "int b(int n) { struct p q = { .step = n }; return step(&q, n); }\n"
    )
    third = shared + "int c(int step) { return twice(step); }\n"
    text = amalgamated(header, [first, second, third])
    assert text.count("typedef struct handle") == 0 and text.count("int twice(int x)") == 1
    assert "enum { MOST_2 = 4 };" in text
    assert "static int step_2(struct p *q, int x)\n{ return q->step + x + MOST_2; }" in text
    assert "{ struct p q = { .step = n }; return step_2(&q, n); }" in text
    assert "int c(int step) { return twice(step); }" in text
