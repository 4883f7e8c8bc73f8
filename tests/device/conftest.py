"""Targets, and what of them this machine can build and run."""

import os
from pathlib import Path

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.device.process import find

MODELS = Path(os.environ.get("EDGEKIT_MODELS", Path(__file__).parents[3] / "shared" / "models"))


@pytest.fixture
def ready():
    """Skips a test whose target cannot be built for or run here; returns the Target."""

    def check(name):
        target = targets.load(name)
        for program, package in (
            (target.compiler, target.packages),
            (target.emulator, target.emulator_package),
            ("cmake", "cmake"),
        ):
            if not find(program):
                pytest.skip(f"{program} is not installed (package {package})")
        return target

    return check


@pytest.fixture(scope="session")
def model_file(tmp_path_factory, digits):
    """A model by name ("digits", or of the collection) -> its int8 file and 20 samples."""
    made = {}

    def make(name):
        if name not in made:
            made[name] = _quantized(name, tmp_path_factory.mktemp(name), digits)
        return made[name]

    return make


def _quantized(name, folder, digits):
    import edgekit

    if name == "digits":
        onnx = digits / "digits.onnx"
        arrays = dict(np.load(digits / "eval.npz"))
        samples = {"image": arrays["image"][:20]}
    else:
        if not (MODELS / name).is_dir():
            pytest.skip(f"the model collection has no {name} here (set EDGEKIT_MODELS)")
        onnx = MODELS / name / "model.onnx"
        samples = _collection_samples(name)
    out = folder / "model.edge"
    feeds = [{k: v[i : i + 1] for k, v in samples.items()} for i in range(20)]
    edgekit.quantize(onnx, feeds, out, observer="minmax")
    return out, feeds


def _collection_samples(name):
    """The first 20 evaluation samples of a model of the collection, by its loader."""
    import importlib.util
    import warnings

    spec = importlib.util.spec_from_file_location("eval_lib", MODELS / "eval_lib.py")
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves files to the collector
        samples = library.load_inputs(str(MODELS / name), "eval")
    return {k: v[:20] for k, v in samples.items()}
