"""Inputs and outputs whose shapes hold no elements: the runtime never sees them, users do."""

import numpy as np
import onnx
import pytest
from onnx import helper

import edgekit
from edgekit.toolkit.errors import UserError


@pytest.fixture
def session(tmp_path):
    """y = x + 1, and of an input `none` [0, 3] what Transpose makes of it."""
    one = onnx.numpy_helper.from_array(np.float32(1), "one")
    nodes = [
        helper.make_node("Add", ["x", "one"], ["y"]),
        helper.make_node("Transpose", ["none"], ["z"]),
    ]
    ports = [helper.make_tensor_value_info(n, 1, s) for n, s in (("x", (1, 2)), ("none", (0, 3)))]
    outs = [helper.make_tensor_value_info(n, 1, s) for n, s in (("y", (1, 2)), ("z", (3, 0)))]
    model = helper.make_model(helper.make_graph(nodes, "g", ports, outs, [one]))
    onnx.save(model, tmp_path / "m.onnx")
    done = edgekit.convert(tmp_path / "m.onnx", tmp_path / "m.edge")
    assert any("'none' is of shape 0,3" in note for note in done.notes)
    return edgekit.Session(tmp_path / "m.edge")


def test_they_are_given_and_taken(session):
    found = session.run({"x": np.ones((1, 2), np.float32), "none": np.zeros((0, 3), np.float32)})
    assert found["y"].tolist() == [[2, 2]]
    assert found["z"].shape == (3, 0) and found["z"].dtype == np.float32


def test_they_may_be_left_out_and_must_be_empty(session):
    x = np.ones((1, 2), np.float32)
    assert session.run({"x": x})["z"].shape == (3, 0)
    with pytest.raises(UserError, match="give \\[0, 3\\]"):
        session.run({"x": x, "none": np.zeros((1, 3), np.float32)})
