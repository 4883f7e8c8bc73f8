"""The dev models: where they are, and what programs that go through all of them share.

The models come from $EDGEKIT_MODELS, read by its eval_lib.py.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import edgekit
from edgekit.calibration import CalibrationError

ROOT = Path(__file__).parents[2]
MODELS = Path(os.environ.get("EDGEKIT_MODELS", ROOT.parent / "shared" / "models"))
QUICK = {"observer": "minmax", "rounding": "nearest", "limit": 8, "on_low_accuracy": "warn"}
"""Versions without a floor of accuracy (before 812026d) have no on_low_accuracy: leave it out."""


def eval_lib():
    """The module of the collection that reads its models."""
    spec = importlib.util.spec_from_file_location("eval_lib", MODELS / "eval_lib.py")
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    return library


def state_of(meta):
    """The output that each input of state is fed with, by name; empty without state."""
    outputs = [o["name"] for o in meta["outputs"]]
    return {name: outputs[at] for name, at in meta.get("stateful", {}).items()}


@contextmanager
def quantized(name, how):
    """(model.edge of a model, its evaluation arrays), in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        expand = [sys.executable, MODELS / "eval_lib.py", "expand", MODELS / name, folder]
        subprocess.run(expand, check=True, stdout=subprocess.DEVNULL)
        edge = Path(folder) / "model.edge"
        edgekit.quantize(MODELS / name / "model.onnx", Path(folder) / "calib.npz", edge, **how)
        with np.load(Path(folder) / "eval.npz") as arrays:
            yield edge, dict(arrays)


def feeds_of(session, arrays, most):
    """The first samples as `session` takes them."""
    for i in range(min(most, *(len(arrays[io.name]) for io in session.inputs))):
        yield {io.name: np.asarray(arrays[io.name][i]).reshape(io.shape) for io in session.inputs}


def rows(about, row):
    """(name, row(name, options), error) of the models that the command line names; one of the two
    is None. The options are those of `edgekit.quantize`: QUICK, or none with --default."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--models", help="names of folders, or their parts, with commas between")
    parser.add_argument("--default", action="store_true", help="default settings, all samples")
    given = parser.parse_args()
    wanted = given.models.split(",") if given.models else [""]
    for path in sorted(MODELS.glob("*/model.onnx")):
        name = path.parent.name
        if not any(part in name for part in wanted):
            continue
        try:
            yield name, row(name, {} if given.default else QUICK), None
        except (edgekit.UserError, CalibrationError) as error:
            yield name, None, str(error).splitlines()[0]
