"""Outputs of which a mask excludes numbers: the others keep their steps, and alone are judged."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import edgekit
from edgekit.toolkit.decibels import ratio_db

FEATURES, UNITS, ACTIONS = 12, 32, 8


def policy(path, masked, low):
    """Scores of actions, of which `allowed` says which may be chosen."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.normal(0, 0.5, (FEATURES, UNITS)), "v": rng.normal(0, 1, (UNITS, ACTIONS)),
        "half": np.float32(0.5), "one": np.float32(1), "low": np.float32(low),
    }  # fmt: skip
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "v"], ["scores"]),
    ]
    ends = {
        "chosen": [
            helper.make_node("Greater", ["allowed", "half"], ["is"]),
            helper.make_node("Where", ["is", "scores", "low"], ["y"]),
        ],
        "added": [
            helper.make_node("Sub", ["one", "allowed"], ["not"]),
            helper.make_node("Mul", ["not", "low"], ["mask"]),
            helper.make_node("Add", ["scores", "mask"], ["y"]),
        ],
        "log": [
            helper.make_node("Log", ["allowed"], ["log"]),
            helper.make_node("Max", ["log", "low"], ["mask"]),
            helper.make_node("Add", ["mask", "scores"], ["y"]),
        ],
    }
    graph = helper.make_graph(
        [*nodes, *ends[masked]],
        "policy",
        [
            helper.make_tensor_value_info("x", 1, [1, FEATURES]),
            helper.make_tensor_value_info("allowed", 1, [1, ACTIONS]),
        ],
        [helper.make_tensor_value_info("y", 1, [1, ACTIONS])],
        [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def samples(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        allowed = (rng.random((1, ACTIONS)) < 0.7).astype(np.float32)
        allowed[0, rng.integers(ACTIONS)] = 1
        yield {"x": rng.normal(size=(1, FEATURES)).astype(np.float32), "allowed": allowed}


@pytest.mark.parametrize(
    ("masked", "low"),
    [
        ("chosen", -np.inf), ("chosen", -3.4e38), ("chosen", -1e9), ("chosen", -1e4),
        ("added", -1e9), ("added", -1e4), ("log", -3.4e38), ("log", -1e6),
    ],
)  # fmt: skip
def test_a_mask_leaves_the_other_scores_their_steps(tmp_path, masked, low):
    onnxruntime = pytest.importorskip("onnxruntime")
    path = policy(tmp_path / "m.onnx", masked, low)
    done = edgekit.quantize(path, list(samples(100, 1)), tmp_path / "m.edge")
    assert done.quality.level == "good"
    floats = onnxruntime.InferenceSession(str(path))
    session, unseen = edgekit.Session(tmp_path / "m.edge"), list(samples(200, 2))
    truth = np.concatenate([floats.run(["y"], s)[0] for s in unseen])
    got = np.concatenate([session.run(s)["y"] for s in unseen])
    allowed = np.concatenate([s["allowed"] for s in unseen]) > 0.5
    assert (got[~allowed] <= low / 2).all()
    assert np.mean(got.argmax(axis=1) == truth.argmax(axis=1)) > 0.97
    noise = np.sum(np.square(got[allowed] - truth[allowed], dtype=np.float64))
    spread = np.sum(np.square(truth[allowed] - truth[allowed].mean(), dtype=np.float64))
    assert ratio_db(spread, noise) > 20
    assert min(done.quality.sqnr_db.values()) == pytest.approx(ratio_db(spread, noise), abs=4)


def test_a_small_mask_stays_in_integers(tmp_path):
    path = policy(tmp_path / "m.onnx", "chosen", -60.0)
    done = edgekit.quantize(path, list(samples(100, 1)), tmp_path / "m.edge")
    assert "Where" not in {d.op for d in done.decisions}
