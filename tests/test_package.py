"""The package as users get it: what is installed, and that it is imported under one name."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import edgekit


def test_edgekit_is_imported_once():
    tail = edgekit.Session.__module__.removeprefix("edgekit")
    assert [name for name in sys.modules if name.endswith(tail)] == ["edgekit" + tail]


def test_the_runtime_sources_are_shipped():
    root = Path(edgekit.__file__).parent
    for name in (
        "runtime_c/CMakeLists.txt",
        "runtime_c/include/edgekit/edgekit.h",
        "runtime_c/schema/edge.fbs",
        "runtime_c/src/model/model.c",
        "runtime_c/src/ops/conv/conv2d.c",
        "runtime_c/src/weights/nibbles.c",
        "targets/x86_64/kernels.cmake",
        "targets/x86_64/target.toml",
        "toolkit/report/report.html",
        "__main__.py",
        "py.typed",
    ):
        assert (root / name).is_file(), name


def test_the_public_names_are_there_and_documented():
    for name in edgekit.__all__:
        assert getattr(edgekit, name).__doc__ or name == "__version__"
    assert {*edgekit.__all__} <= {*dir(edgekit)}
    with pytest.raises(AttributeError, match="no attribute 'quantise'"):
        _ = edgekit.quantise


def test_the_public_names_come_from_where_type_checkers_see_them():
    tree = ast.parse(Path(edgekit.__file__).read_text())
    seen = {
        alias.name: f".{node.module}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert seen == edgekit._HOMES
    assert sorted([*seen, "__version__"]) == edgekit.__all__


@pytest.mark.parametrize(
    "code",
    [
        "import edgekit",
        "from edgekit.toolkit.cli import main; main(['--version'])",
    ],
)
def test_what_needs_no_numpy_does_not_import_it(code):
    code = f"import sys; {code}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_edgekit_does_not_import_onnxruntime():
    code = "import sys, edgekit; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
