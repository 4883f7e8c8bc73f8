"""NaN in samples is a missing value where the model fills it in, and a fault elsewhere."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgekit
from edgekit.calibration import CalibrationError
from edgekit.toolkit.quantize import calibrate

NONE = {"act_min": -np.inf, "act_max": np.inf}
ROWS = np.random.default_rng(0).normal(size=(32, 6)).astype(np.float32)
HOLES = np.where(np.random.default_rng(1).random(ROWS.shape) < 0.1, np.nan, ROWS)


def classifier(first, **attributes):
    """Softmax of a product behind an operator of ai.onnx.ml."""
    rng = np.random.default_rng(3)
    w = rng.normal(size=(6, 4)).astype(np.float32)
    nodes = [
        helper.make_node(first, ["x"], ["v"], domain="ai.onnx.ml", **attributes),
        helper.make_node("MatMul", ["v", "w"], ["z"]),
        helper.make_node("Softmax", ["z"], ["y"], axis=1),
    ]
    ends = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, s]) for n, s in (("x", 6), ("y", 4))
    ]
    weights = [numpy_helper.from_array(w, "w")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def test_samples_with_missing_values_calibrate_a_model_that_fills_them_in(tmp_path):
    model = classifier("Imputer", imputed_value_floats=[0.5] * 6, replaced_value_float=np.nan)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    edgekit.quantize(tmp_path / "m.onnx", {"x": HOLES}, output=tmp_path / "m.edge")
    exact = onnxruntime.InferenceSession(model.SerializeToString())
    session = edgekit.Session(tmp_path / "m.edge")
    for row in HOLES:
        (truth,) = exact.run(None, {"x": row[None]})
        assert np.abs(session.run({"x": row[None]})["y"] - truth).max() < 0.03


def test_a_model_that_does_not_refuses_them(tmp_path):
    model = classifier("Scaler", offset=[0.0] * 6, scale=[2.0] * 6)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(CalibrationError, match=r"input 'x': . NaN and 0 infinite"):
        edgekit.quantize(tmp_path / "m.onnx", {"x": HOLES}, output=tmp_path / "m.edge")


def test_nan_that_reaches_an_output_names_where_it_begins(g):
    root = g.emit("Sqrt", g.input("x", 1, 6), name="root")
    net = g.output(g.emit("Add", root, g.const(np.ones((1, 6))), name="y", **NONE))
    with pytest.raises(CalibrationError, match=r"tensor 'root' contains . NaN"):
        calibrate(net, [{"x": row[None]} for row in ROWS])


def test_nan_that_reaches_none_leaves_its_tensor_without_a_range(g):
    x = g.input("x", 1, 6)
    root = g.emit("Sqrt", x, name="root")
    net = g.output(g.emit("Where", g.emit("Equal", root, root), root, x, name="y"))
    found = calibrate(net, [{"x": row[None]} for row in ROWS])
    assert not found.stats["root"].count and found.stats["y"].count == ROWS.size
