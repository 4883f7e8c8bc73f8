"""An input that is made a constant is fed neither in quantize nor in check."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper

from edgekit.toolkit.cli import main


def test_a_constant_input_holds_for_quantize_and_check(capsys, tmp_path):
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Cast", ["rate"], ["r"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["a", "r"], ["y"]),
    ]
    w = onnx.numpy_helper.from_array(rng.normal(size=(4, 4)).astype(np.float32), "w")
    rate = helper.make_tensor_value_info("rate", TensorProto.INT64, [])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x, rate], [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "c.npz", x=rng.normal(size=(16, 4)).astype(np.float32))
    words = ["quantize", tmp_path / "m.onnx", "--calib", tmp_path / "c.npz"]
    words += ["-o", tmp_path / "m.edge"]
    assert main([*map(str, words), "--constant", "rate=3"]) == 0
    capsys.readouterr()
    check = ["check", tmp_path / "m.edge", "--float", tmp_path / "m.onnx"]
    assert main([*map(str, check), "--data", str(tmp_path / "c.npz"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["outputs"][0]["sqnr_db"] > 20
    assert main([*map(str, words), "--constant", "rate"]) == 2
    assert "NAME=16000" in capsys.readouterr().err
