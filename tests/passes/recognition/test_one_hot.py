"""One-hot vectors times a matrix, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.runtime import Session

N, OUT = 7, 5


def embed(numbers: np.ndarray, shape: tuple[int, ...], flip: bool, bias: bool) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weight, b = rng.normal(size=(N, OUT)), rng.normal(size=OUT)
    given = {"numbers": numbers, "w": weight.astype(np.float32), "b": b.astype(np.float32)}
    given["shape"] = np.array((*shape, 1), np.int64)
    pair = ["numbers", "column"] if flip else ["column", "numbers"]
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["column"]),
        helper.make_node("Equal", pair, ["hot"]),
        helper.make_node("Cast", ["hot"], ["real"], to=1),
        helper.make_node("MatMul", ["real", "w"], ["product" if bias else "y"]),
    ]
    nodes += [helper.make_node("Add", ["product", "b"], ["y"])] if bias else []
    graph = helper.make_graph(
        nodes,
        "one_hot",
        [helper.make_tensor_value_info("x", 6, shape)],
        [helper.make_tensor_value_info("y", 1, (*shape, OUT))],
        [numpy_helper.from_array(v, k) for k, v in given.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("lead", [(), (1,), (1, 1)])
def test_rows_are_gathered(lead, flip, bias):
    model = embed(np.arange(N, dtype=np.int32).reshape(*lead, N), (1, 12), flip, bias)
    graph = load(model)
    run_passes(graph, DEFAULT)
    ops = [n.op for n in graph.nodes]
    assert ops.count("Gather") == 1 and not {"Equal", "Cast", "FullyConnected"} & set(ops)
    x = np.array([[-(2**31), -8, -7, -2, -1, 0, 1, 3, 6, 7, 8, 2**31 - 1]], np.int32)
    ours = Session(build_file(graph)).run({"x": x})["y"]
    theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_array_equal(ours, theirs)


def test_other_numbers_stay_a_comparison():
    numbers = np.arange(N, dtype=np.int32)
    numbers[3] = 9
    graph = load(embed(numbers, (1, 12), False, True))
    run_passes(graph, DEFAULT)
    assert [n.op for n in graph.nodes].count("Equal") == 1


def test_a_product_that_is_clamped_stays():
    model = embed(np.arange(N, dtype=np.int32), (1, 12), False, False)
    graph = load(model)
    run_passes(graph, DEFAULT[:1])
    (product,) = [n for n in graph.nodes if n.op == "FullyConnected"]
    product.attrs["act_min"] = 0.0
    run_passes(graph, DEFAULT)
    x = np.arange(-2, 10, dtype=np.int32).reshape(1, 12)
    theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    ours = Session(build_file(graph)).run({"x": x})["y"]
    np.testing.assert_array_equal(ours, np.maximum(theirs, 0))
