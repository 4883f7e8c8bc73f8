"""The package as users get it: what is installed, and that it is imported under one name."""

import subprocess
import sys
from pathlib import Path

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


def test_importing_edgekit_does_not_import_onnxruntime():
    code = "import sys, edgekit; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
