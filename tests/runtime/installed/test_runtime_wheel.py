"""edgekit-runtime: the same Session, of the same files, where there are numpy and cffi alone."""

import json
import os
import pkgutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

import edgekit
from edgekit.toolkit.runtime import Session, kernel_tables

ROOT = Path(__file__).parents[3]
PROJECT = ROOT / "runtime_c" / "python"
NEEDED = ("numpy", "cffi", "pycparser", "_cffi_backend")

RUN = """
import json, sys
import numpy as np
from edgekit_runtime import Session, UserError, kernel_tables

session = Session(sys.argv[1])
x = np.load(sys.argv[2])
found = {table: Session(sys.argv[1], table).run_raw({"image": x})["probabilities"].tobytes().hex()
         for table in kernel_tables()}
try:
    Session(b"nothing")
    refused = ""
except UserError as why:
    refused = str(why)
print(json.dumps({"raw": found, "refused": refused, "kernels": session.kernels}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's files and with what it needs, and the wheel."""
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
               "-w", folder, PROJECT, f"-Cbuild-dir={folder / 'build'}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = folder.glob("*.whl")
    bare = folder / "bare"
    zipfile.ZipFile(wheel).extractall(bare)
    for home in {Path(np.__file__).parents[1], *(Path(p) for p in sys.path if "site-pack" in p)}:
        for path in home.iterdir():
            if path.name.split(".")[0] in NEEDED and not (bare / path.name).exists():
                (bare / path.name).symlink_to(path)
    return bare, wheel


def run(bare, code, *arguments):
    """What a Python without site-packages prints that finds `bare`."""
    command = [sys.executable, "-S", "-c", code, *map(str, arguments)]
    environment = {"PYTHONPATH": str(bare), "PATH": os.environ["PATH"]}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_gives_the_bytes_of_the_whole_package(installed, digits_edge, digits_calib, tmp_path):
    np.save(tmp_path / "x.npy", digits_calib[:20])
    told = json.loads(run(installed[0], RUN, digits_edge, tmp_path / "x.npy"))
    assert list(told["raw"]) == kernel_tables()
    for table, raw in told["raw"].items():
        want = Session(digits_edge, table).run_raw({"image": digits_calib[:20]})["probabilities"]
        assert bytes.fromhex(raw) == want.tobytes()
    assert "model: " in told["refused"]


def test_it_holds_the_files_of_edgekit_and_no_second_ones(installed):
    bare, wheel = installed
    package = bare / "edgekit_runtime"
    for path in package.rglob("*.py"):
        same = path.relative_to(package)
        origin = PROJECT / "__init__.py" if str(same) == "__init__.py" else ROOT / same
        assert path.read_bytes() == origin.read_bytes(), path
    assert wheel.stat().st_size < 1 << 20
    assert (package / "LICENSE").is_file() and (package / "py.typed").is_file()
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["version"] == edgekit.__version__
    assert f'__version__ = "{edgekit.__version__}"' in (PROJECT / "__init__.py").read_text()
    assert [d.split(">")[0] for d in project["dependencies"]] == ["numpy", "cffi"]


IMPORTS = """
import sys
import numpy
before = set(sys.modules)
import edgekit_runtime
print(*sorted(sys.modules.keys() - before))
"""


def test_it_imports_little_and_all_of_its_modules_import(installed):
    bare, _ = installed
    loaded = run(bare, IMPORTS).split()
    assert len(loaded) < 130, loaded  # it had 105
    assert not {"onnx", "scipy", "flatbuffers", "ml_dtypes", "PIL", "asyncio"} & set(loaded)
    package = bare / "edgekit_runtime"
    names = [m.name for m in pkgutil.walk_packages([str(package)], "edgekit_runtime.")]
    below = [str(p.relative_to(bare).with_suffix("")) for p in package.rglob("*.py")]
    modules = {name.replace("/", ".").removesuffix(".__init__") for name in below} | set(names)
    run(bare, "import importlib, sys\nfor m in sys.argv[1:]: importlib.import_module(m)",
        *sorted(modules))  # fmt: skip


def test_wheels_of_all_systems_are_configured():
    told = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    assert told["build"] == "cp311-*" and told["linux"]["archs"] == ["x86_64", "aarch64"]
    assert {"musllinux-aarch64-image", "manylinux-x86_64-image"} <= told["linux"].keys()
    assert {"macos", "windows"} <= told.keys()
    assert (PROJECT / "package.cmake").is_file()
