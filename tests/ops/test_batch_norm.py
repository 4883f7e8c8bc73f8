"""BatchNormalization as Mul and Add."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.ir import Node
from edgekit.toolkit.ops import definition

BACKEND_OPS = {"BatchNormalization"}
PARAMETERS = {"BatchNormalization": 1}
REFUSED = {
    "test_batchnorm_example_training_mode": "training mode",
    "test_batchnorm_epsilon_training_mode": "training mode",
}


def test_backend(backend_case):
    if backend_case.refusal:
        with pytest.raises(UnsupportedError, match=backend_case.refusal):
            backend_case.run()
        return
    for name, got in backend_case.run().items():
        np.testing.assert_allclose(got, backend_case.want[name], rtol=1e-5, atol=1e-6)


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
