"""Outputs that an exponential makes keep small numbers as accurate as large ones, and reach as far
as the network does."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import edgekit

FEATURES, UNITS = 8, 16


def rates(path, scaled, numbers=2):
    """exp of a layer's sums; `scaled`: 0.5 of that, and 0.01 more."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.normal(0, 0.6, (FEATURES, UNITS)),
        "v": rng.normal(0, 0.5, (UNITS, numbers)),
        "half": np.float32(0.5),
        "some": np.float32(0.01),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "v"], ["logs"]),
        helper.make_node("Exp", ["logs"], ["exp" if scaled else "y"]),
    ]
    if scaled:
        nodes.append(helper.make_node("Mul", ["exp", "half"], ["part"]))
        nodes.append(helper.make_node("Add", ["part", "some"], ["y"]))
    ends = [
        helper.make_tensor_value_info(n, 1, [1, k]) for n, k in (("x", FEATURES), ("y", numbers))
    ]
    arrays = [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "rates", ends[:1], ends[1:], arrays)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def samples(count, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return [
        {"x": (scale * rng.normal(size=(1, FEATURES))).astype(np.float32)} for _ in range(count)
    ]


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("numbers", [2, 40])
def test_small_numbers_are_as_accurate_as_large_ones(tmp_path, scaled, numbers):
    onnxruntime = pytest.importorskip("onnxruntime")
    path = rates(tmp_path / "m.onnx", scaled, numbers)
    done = edgekit.quantize(path, samples(100, 1), tmp_path / "m.edge")
    assert done.quality.level == "good"
    floats = onnxruntime.InferenceSession(str(path))
    session, unseen = edgekit.Session(tmp_path / "m.edge"), samples(200, 2)
    truth = np.concatenate([floats.run(["y"], s)[0] for s in unseen]).astype(np.float64)
    got = np.concatenate([session.run(s)["y"] for s in unseen])
    assert truth.max() > 30 * truth.min()
    small = truth < np.median(truth)
    assert np.sqrt(np.mean(np.square(got / truth - 1)[small])) < 0.04


def test_larger_numbers_than_any_sample_has_are_not_cut_off(tmp_path):
    """Of inputs within the ranges of the samples the one with the largest output."""
    onnxruntime = pytest.importorskip("onnxruntime")
    path, given = rates(tmp_path / "m.onnx", scaled=False), samples(100, 1)
    edgekit.quantize(path, given, tmp_path / "m.edge", on_low_accuracy="warn")
    w, v = (numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer[:2])
    some = np.random.default_rng(3).uniform(-2, 2, (20_000, FEATURES)).astype(np.float32)
    best = (np.tanh(some @ w) @ v[:, 0]).argmax()
    unseen = {"x": some[best : best + 1]}
    floats = onnxruntime.InferenceSession(str(path))
    truth = floats.run(["y"], unseen)[0][0, 0]
    assert truth > 1.3 * max(floats.run(["y"], s)[0][0].max() for s in given)
    assert edgekit.Session(tmp_path / "m.edge").run(unseen)["y"][0, 0] == pytest.approx(truth, 0.1)
