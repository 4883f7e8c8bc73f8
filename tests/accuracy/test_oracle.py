"""onnxruntime as the truth: the same on every processor."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.accuracy import make_oracle
from edgekit.toolkit.model_files import load

RNG = np.random.default_rng(0)
FLOAT = TensorProto.FLOAT


def model(nodes, shape, constants):
    given = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info("y", FLOAT, None)], given,
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


def test_sums_of_integers_do_not_saturate():
    """On x86-64 without VNNI, onnxruntime's do unless it is told."""
    weights = RNG.integers(-127, 128, (24, 5)).astype(np.int8)
    content = model(
        [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
         helper.make_node("MatMulInteger", ["q", "w", "z"], ["i"]),
         helper.make_node("Cast", ["i"], ["y"], to=FLOAT)],
        [6, 24], {"w": weights},
    )  # fmt: skip
    x = RNG.integers(0, 256, (6, 24)).astype(np.float32)
    x[0, :2] = 0, 255
    (y,) = make_oracle(content, load(content)).run({"x": x}).values()
    np.testing.assert_array_equal(y, x @ weights.astype(np.float32))


def test_convolutions_that_the_exact_way_cannot_load_still_run():
    one = np.float32(1)
    content = model(
        [helper.make_node("QuantizeLinear", ["x", "one", "zero"], ["q"]),
         helper.make_node("QLinearConv", ["q", "one", "zero", "w", "one", "zero", "one", "zero"],
                          ["r"]),
         helper.make_node("DequantizeLinear", ["r", "one", "zero"], ["y"])],
        [1, 1, 4, 4], {"one": one, "zero": np.int8(0), "w": np.ones((1, 1, 2, 2), np.int8)},
    )  # fmt: skip
    (y,) = (
        make_oracle(content, load(content)).run({"x": np.ones((1, 1, 4, 4), np.float32)}).values()
    )
    np.testing.assert_array_equal(y, np.full((1, 1, 3, 3), 4, np.float32))
