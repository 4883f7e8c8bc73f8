"""What is not a model is refused with the reason and the remedy."""

import numpy as np
import onnx
import pytest
from onnx import helper

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.onnx_import import load


@pytest.fixture
def model(make_model):
    return make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (1, 4)}, ["y"])


def refused(source, *words):
    with pytest.raises(UserError) as why:
        load(source)
    for word in words:
        assert word in str(why.value), str(why.value)


def test_a_missing_file(tmp_path):
    refused(tmp_path / "no.onnx", "no.onnx", "no such file")


def test_an_empty_file(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"")
    refused(tmp_path / "m.onnx", "m.onnx", "empty")


def test_a_file_of_text(tmp_path):
    (tmp_path / "m.onnx").write_text("hello, this is no model")
    refused(tmp_path / "m.onnx", "not an ONNX model")


def test_every_truncation(model):
    data = model.SerializeToString()
    for size in range(1, len(data)):
        with pytest.raises(UserError):
            load(data[:size])
    refused(data[: len(data) // 2], "truncated")


def test_an_invalid_model(model):
    model.graph.node[0].input[0] = "nobody"
    refused(model, "not a valid ONNX model", "nobody")


def test_an_equation_that_is_none(make_model):
    node = helper.make_node("Einsum", ["x"], ["y"], equation="0>")
    refused(make_model([node], {"x": (4,)}, ["y"], infer=False), "Einsum", "0>")


def test_external_data_is_read_and_its_absence_is_said(make_model, tmp_path):
    model = make_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"x": (1, 64)}, ["y"], {"w": np.ones((64, 32), np.float32)},
    )  # fmt: skip
    path = tmp_path / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="m.data", size_threshold=0)
    (fc,) = load(path).nodes
    assert fc.op == "FullyConnected" and fc.input(1).shape == (32, 64)
    (tmp_path / "m.data").unlink()
    refused(path, "external data", "'w'")
    refused(path.read_bytes(), "'w'", "give the path")


def test_the_given_model_is_not_changed(make_model):
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": ("batch", 4)}, ["y"])
    before = model.SerializeToString()
    load(model)
    assert model.SerializeToString() == before


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_nodes_in_any_order(make_model, agree, order):
    """Tools that change graphs append nodes; onnxruntime sorts them."""
    inner = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["c"])]
    body = helper.make_graph(inner, "body", [], [value("c")])
    nodes = [
        helper.make_node("Exp", ["x"], ["a"]),
        helper.make_node("If", ["yes"], ["d"], then_branch=body, else_branch=body),
        helper.make_node("Add", ["d", "a"], ["y"]),
    ]
    constants = {"yes": np.array(True)}
    model = make_model([nodes[i] for i in order], {"x": (2, 3)}, ["y"], constants, infer=False)
    agree(model, {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)})


def test_nodes_that_read_each_other_are_refused(make_model):
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    with pytest.raises(UserError, match="topologically sorted"):
        load(make_model(nodes, {"x": (2,)}, ["b"], infer=False))


def value(name):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
