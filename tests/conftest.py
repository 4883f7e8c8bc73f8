"""What many tests need: the demo's network and its samples."""

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

import edgekit  # an editable build that is due comes before the launcher of objects
from edgekit.toolkit.passes import UntilQuiet
from edgekit.toolkit.quantize.ranges import calibration
from edgekit.toolkit.runtime import cores, many_runs

LAUNCHER = Path(__file__).parent / "compiling" / "launcher.c"
DIGITS = Path(__file__).parent.parent / "docs" / "examples" / "digits"


def compile_once():
    """Keep the objects of all that tests build with CMake, for the other tests of this run.

    EDGEKIT_OBJECTS may name a folder that keeps them for other runs too.
    """
    cc, keep = shutil.which("cc"), os.environ.get("EDGEKIT_OBJECTS")
    if not cc or "CMAKE_C_COMPILER_LAUNCHER" in os.environ:
        return
    folder = Path(keep or tempfile.mkdtemp(prefix="edgekit-objects-"))
    folder.mkdir(parents=True, exist_ok=True)
    if not keep:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    launcher = folder / f"launcher.{os.getpid()}"
    if subprocess.run([cc, "-O2", LAUNCHER, "-o", launcher], check=False).returncode == 0:
        os.environ["EDGEKIT_OBJECTS"] = str(folder)
        os.environ["CMAKE_C_COMPILER_LAUNCHER"] = str(launcher)


compile_once()  # before the workers of xdist start, which inherit it


@pytest.fixture(scope="session", autouse=True)
def temporary_folders(tmp_path_factory):
    """Temporary folders lie where pytest removes them: workers of xdist exit before they do."""
    tempfile.tempdir = str(tmp_path_factory.mktemp("temporary"))


@pytest.fixture(autouse=True)
def strict_passes(monkeypatch):
    """Passes that undo each other are an error in tests."""
    monkeypatch.setattr(UntilQuiet, "strict", True)


@pytest.fixture(scope="session")
def digits():
    """Folder with digits.onnx, calib.npz and eval.npz."""
    return DIGITS


@pytest.fixture(scope="session")
def digits_calib():
    """Calibration images float32 [128, 1, 8, 8]."""
    return np.load(DIGITS / "calib.npz")["image"]


@pytest.fixture(scope="session")
def digits_edge(tmp_path_factory):
    """The demo's network in int8, by min-max ranges: the path of the file."""
    path = tmp_path_factory.mktemp("digits") / "digits.edge"
    edgekit.quantize(DIGITS / "digits.onnx", DIGITS / "calib.npz", path, observer="minmax")
    return path


@pytest.fixture
def three_cores(monkeypatch):
    """Work of any size is done on three cores, whatever operators other tests registered."""
    monkeypatch.setattr(many_runs, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(many_runs, "any_registered", lambda: False)
    monkeypatch.setattr(calibration, "STEP_SECONDS", 0.0)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
