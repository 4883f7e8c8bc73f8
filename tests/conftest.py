"""What many tests need: the demo's network and its samples."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

# Many tests compile the same sources with the same flags.
if shutil.which("ccache"):
    os.environ.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")

DIGITS = Path(__file__).parent.parent / "docs" / "examples" / "digits"


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
    import edgekit

    path = tmp_path_factory.mktemp("digits") / "digits.edge"
    edgekit.quantize(DIGITS / "digits.onnx", DIGITS / "calib.npz", path, observer="minmax")
    return path
