"""A network that values actions is judged by what the values differ by."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import edgekit
from edgekit.toolkit.quantize.quality import GOOD_DB

MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[1,8] x) => (float[1,3] q)
{
  q = Gemm (x, w, b)
}"""
COMMON = 30.0


@pytest.fixture
def model(tmp_path):
    """The value of a state, and next to nothing more or less for each action."""
    rng = np.random.default_rng(4)
    w = np.repeat(COMMON * rng.normal(size=(8, 1)), 3, axis=1) + rng.normal(size=(8, 3))
    found = onnx.parser.parse_model(MODEL)
    for name, array in {"w": w, "b": np.full(3, 100.0)}.items():
        found.graph.initializer.append(onnx.numpy_helper.from_array(array.astype(np.float32), name))
    onnx.save(found, tmp_path / "q.onnx")
    return tmp_path / "q.onnx", w, tmp_path / "q.edge"


def states(count, seed):
    return np.random.default_rng(seed).normal(size=(count, 1, 8)).astype(np.float32)


def changed(path, w):
    """The share of the best actions that are others than the float model's."""
    x = states(1000, 2)
    got = edgekit.Session(path).run({"x": x})["q"].reshape(-1, 3)
    return np.mean(got.argmax(axis=1) != (x[:, 0] @ w).argmax(axis=1))


def test_the_best_actions_remain(model):
    path, w, edge = model
    samples = [{"x": x} for x in states(100, 1)]
    int8 = edgekit.quantize(path, samples, edge, on_low_accuracy="warn").quality
    assert int8.between == ("q",) and int8.sqnr_db["q"] < GOOD_DB
    assert "of what its numbers differ by" in int8.in_words() and changed(edge, w) > 0.1
    checked = edgekit.check(edge, path, [{"x": x} for x in states(100, 3)]).quality
    assert checked.between == ("q",) and checked.level == int8.level

    done = edgekit.quantize(path, samples, edge)
    assert done.quality.level == "good" and changed(edge, w) < 0.02
