"""What must not happen, forbidden by machine: formatting, types, generated files, size of files."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOOLS = Path(sys.executable).parent


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **more)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-8000:]


def tracked(*patterns):
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    return [ROOT / name for name in listing.stdout.split("\n") if name and (ROOT / name).exists()]


def test_ruff():
    run(TOOLS / "ruff", "check", ".")


def test_python_is_formatted():
    run(TOOLS / "ruff", "format", "--check", ".")


def test_c_is_formatted():
    files = [f for f in tracked("*.c", "*.h") if f.name != "format.h"]
    run(TOOLS / "clang-format", "--dry-run", "--Werror", *files)


def test_types(tmp_path):
    # mypy takes the package's name from the folder's, and the checkout may be called anything.
    (tmp_path / "edgekit").symlink_to(ROOT)
    more = {"MYPYPATH": str(tmp_path), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    run(
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "pyproject.toml",
        "--cache-dir",
        ROOT / "build" / "mypy",
        "-p",
        "edgekit.toolkit",
        "-p",
        "edgekit.calibration",
        "-p",
        "edgekit.targets",
        "-m",
        "edgekit",
        env=more,
    )


def test_generated_files_are_up_to_date():
    run(sys.executable, "runtime_c/schema/emit.py", "--check")


SOURCES = (
    "*.py",
    "*.c",
    "*.h",
    "*.cl",
    "*.S",
    "*.s",
    "*.cmake",
    "*.def",
    "*.fbs",
    "*.jinja",
    "*.v",
)
GENERATED = {"format.h", "schema.py"}
MOST_LINES, MOST_FILES = 400, 25


def test_files_are_small_enough_to_hold_in_the_head():
    written = [f for f in tracked(*SOURCES) if f.name not in GENERATED]
    sizes = {str(f.relative_to(ROOT)): len(f.read_text().splitlines()) for f in written}
    assert {name: n for name, n in sizes.items() if n > MOST_LINES} == {}


def test_folders_are_small_enough_to_be_read_as_a_list():
    files = Counter(str(f.parent.relative_to(ROOT)) for f in tracked())
    assert {folder: n for folder, n in files.items() if n > MOST_FILES} == {}
