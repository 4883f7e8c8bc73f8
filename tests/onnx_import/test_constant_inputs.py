"""Inputs that have one value for ever become constants."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.model_files import load as optimized
from edgekit.toolkit.model_files import plain_constants
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session


@pytest.fixture
def scaled():
    """y = x * cast(rate), where the rate is an int64."""
    nodes = [
        helper.make_node("Cast", ["rate"], ["r"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "r"], ["y"]),
    ]
    rate = helper.make_tensor_value_info("rate", TensorProto.INT64, [])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x, rate], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return made.SerializeToString()


@pytest.mark.parametrize("rate", [(16000,), 16000, np.array(16000), np.float32([16000])])
def test_a_constant_input_is_not_fed(scaled, rate):
    graph = optimized(scaled, constants={"rate": rate})
    assert plain_constants({"rate": rate}) == {"constants": {"rate": [16000.0]}}
    assert [p.name for p in graph.inputs] == ["x"]
    assert graph.constant_inputs["rate"].dtype == np.int64
    (y,) = Session(build_file(graph)).run({"x": np.ones((1, 4), np.float32)}).values()
    assert np.array_equal(y, np.full((1, 4), 16000, np.float32))


def test_several_values_fill_an_input_in_order(scaled):
    graph = load(scaled, constants={"x": (1, 2, 3, 4)})
    assert np.array_equal(graph.constant_inputs["x"], np.array([[1, 2, 3, 4]], np.float32))


@pytest.mark.parametrize(
    ("constants", "told"),
    [
        ({"rat": (1,)}, "did you mean 'rate'"),
        ({"rate": (1.5,)}, "takes int64"),
        ({"x": (1, 2, 3)}, "3 values; the input has 4"),
        ({"x": (0,), "rate": (1,)}, "at least one must remain"),
    ],
)
def test_what_does_not_fit_is_refused(scaled, constants, told):
    with pytest.raises(UserError, match=told):
        load(scaled, constants=constants)
