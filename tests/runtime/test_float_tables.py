"""Calibration runs in float32; x86 tables round alike, so it is the same on all such CPUs."""

import numpy as np
import pytest

import edgekit
from edgekit.toolkit.runtime import kernel_tables

X86 = [name for name in kernel_tables() if name.startswith("x86")]


@pytest.mark.skipif(len(X86) < 2, reason="needs a CPU with two x86 tables")
def test_x86_tables_give_the_same_floats(digits, tmp_path):
    edgekit.convert(digits / "digits.onnx", tmp_path / "f.edge")
    images = np.load(digits / "eval.npz")["image"][:8]
    sessions = [edgekit.Session(tmp_path / "f.edge", name) for name in X86]
    for image in images:
        seen = []
        for session in sessions:
            layers = []
            session.run_layers(
                {"image": image[None]}, lambda *at, to=layers: to.append(at[2].copy())
            )
            seen.append(layers)
        for others in seen[1:]:
            for layer, other in zip(seen[0], others, strict=True):
                assert layer.tobytes() == other.tobytes()
