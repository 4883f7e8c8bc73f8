"""A NaN is not hidden: float kernels hand it on, whatever they clamp to."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgekit
from edgekit.toolkit.runtime import kernel_tables

CHANNELS = 40  # full vectors and a tail


def net(path, op, shape, weight, **attributes):
    given = np.random.default_rng(0).normal(size=weight).astype(np.float32)
    nodes = [
        helper.make_node(op, ["x", "w"], ["y"], **attributes),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(given, "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize("kernels", kernel_tables())
@pytest.mark.parametrize(
    ("op", "shape", "weight", "attributes"),
    [
        ("MatMul", [1, 30], (30, CHANNELS), {}),
        ("Conv", [1, 5, 7, 7], (CHANNELS, 5, 3, 3), {}),
        ("Conv", [1, CHANNELS, 7, 7], (CHANNELS, 1, 3, 3), {"group": CHANNELS}),
    ],
)
def test_a_nan_comes_out(tmp_path, kernels, op, shape, weight, attributes):
    net(tmp_path / "m.onnx", op, shape, weight, **attributes)
    edgekit.convert(tmp_path / "m.onnx", tmp_path / "m.edge")
    session = edgekit.Session(tmp_path / "m.edge", kernels)
    x = np.ones(shape, np.float32)
    assert np.isfinite(session.run({"x": x})["z"]).all()
    x[...] = np.nan
    assert np.isnan(session.run({"x": x})["z"]).all()
