"""BatchNormalization as Mul and Add."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import Node
from edgekit.toolkit.ops import definition

BACKEND_OPS = {"BatchNormalization"}
PARAMETERS = {"BatchNormalization": 1}
REFUSED = {
    "training_mode": "training mode",
}


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-6)


@pytest.mark.parametrize("shape", [(2, 5), (2, 5, 3), (2, 5, 3, 4)])
def test_onnxruntime_agrees(run_onnx, shape):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(np.float32)
    c = {k: rng.uniform(0.5, 2, 5).astype(np.float32) for k in ("scale", "bias", "mean", "var")}
    run_onnx("BatchNormalization", {"x": x}, c, epsilon=1e-3).agree()


def test_it_never_reaches_the_runtime():
    node = Node("BatchNormalization", [], [], name="bn")
    with pytest.raises(ValueError, match="Mul and Add"):
        definition("BatchNormalization").infer(node)
