"""The compiler's launcher: an object is used again only where it would be the same."""

import os
import shutil
import subprocess

import pytest

COMPILER = """#!/bin/sh
echo >> "$0.calls"
exec cc "$@"
"""
SOURCE = """
#include "shared.h"
#include "generated.h"
#ifdef EK_MORE
#include "more.h"
#endif
int answer(void) { return SHARED + GENERATED; }
"""


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """compiled(folder, *flags) -> how often the compiler has run, and the object's bytes."""
    launcher = os.environ.get("CMAKE_C_COMPILER_LAUNCHER", "")
    if not shutil.which("cc") or "launcher" not in launcher:
        pytest.skip("needs a C compiler and this launcher")
    monkeypatch.setenv("EDGEKIT_OBJECTS", str(tmp_path / "objects"))
    (tmp_path / "objects").mkdir()
    cc = tmp_path / "cc"
    cc.write_text(COMPILER)
    cc.chmod(0o755)
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "shared.h").write_text("#define SHARED 1\n")
    (tmp_path / "more.h").write_text("#ifdef EK_LESS\n#define EK_LESS_STILL 1\n#endif\n")

    def compile_in(name, *flags, generated=1, cc=cc):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "generated.h").write_text(f"#define GENERATED {generated}\n")
        (folder / "a.o").unlink(missing_ok=True)
        words = [
            launcher,
            cc,
            *flags,
            f"-I{folder}",
            "-MD",
            "-MT",
            "a.o",
            "-MF",
            "a.d",
            "-o",
            "a.o",
        ]
        words += ["-c", "../a.c" if name == "relative" else tmp_path / "a.c"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"{folder}/generated.h" in (folder / "a.d").read_text()
        return len((tmp_path / "cc.calls").read_text()), (folder / "a.o").read_bytes()

    return compile_in


def test_in_another_folder_the_object_is_used_again(compiled):
    first, second = compiled("one"), compiled("two")
    assert first == second and first[0] == 1
    assert compiled("two", "-DEK_NEVER_READ")[0] == 1


def test_what_is_read_counts(compiled, tmp_path):
    first = compiled("one")
    assert compiled("one", "-O2")[0] == 2
    count, other = compiled("two", generated=2)
    assert count == 3 and other != first[1]
    (tmp_path / "shared.h").write_text("#define SHARED 7\n")
    count, changed = compiled("one")
    assert count == 4 and changed not in (first[1], other)
    (tmp_path / "cc").write_text(COMPILER + "# a newer one\n")
    assert compiled("one")[0] == 5


def test_a_definition_counts_where_its_name_is_read(compiled):
    more, less = ["-DEK_MORE"], ["-DEK_MORE", "-DEK_LESS"]  # more.h alone reads EK_LESS
    said = [compiled("one", *flags)[0] for flags in ([], more, less, more, less)]
    assert said == [1, 2, 3, 3, 3]
    # Since then the command may read more.h too, and what it read before is not told apart.
    assert [compiled("two", *flags)[0] for flags in ([], more, [], less)] == [4, 4, 4, 4]


def test_warnings_are_said_each_time(tmp_path, compiled):
    (tmp_path / "a.c").write_text(SOURCE + "#warning again\n")
    assert [compiled("one")[0] for _ in range(2)] == [1, 2]
