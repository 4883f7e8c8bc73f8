"""Detectors that leave the sigmoid of their scores to the caller are judged by what it detects."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import edgekit
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.quantize.outputs.raw_scores import are_scores, raw_scores
from edgekit.toolkit.quantize.scheme.prepare import prepare

SIDE = 16


def detector(tmp_path, boxes=4, sigmoid=False, classes=1):
    """Logits far below 0 but where the features have a peak, and the numbers of a box there."""
    rng = np.random.default_rng(0)
    constants = {
        "w": rng.normal(0, 0.4, (24, 3, 3, 3)),
        "v": rng.normal(0, 0.1, (24, 24, 3, 3)),
        "s": rng.normal(0, 60.0, (classes, 24, 1, 1)),
        "bias": np.full(classes, -1400.0),
        "d": rng.normal(0, 0.3, (boxes, 24, 1, 1)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "v"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["e"]),
        helper.make_node("Conv", ["e", "s", "bias"], ["logits"]),
        helper.make_node("Conv", ["e", "d"], ["boxes"]),
    ]
    out = "logits"
    if sigmoid:
        nodes.append(helper.make_node("Sigmoid", ["logits"], ["likely"]))
        out = "likely"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "graph",
        [info("x", 1, [1, 3, SIDE, SIDE])],
        [info(out, 1, [1, classes, SIDE, SIDE]), info("boxes", 1, [1, boxes, SIDE, SIDE])],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(
        helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "detector.onnx"
    )
    return tmp_path / "detector.onnx"


def samples(count, seed=0):
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(0, 1, (1, 3, SIDE, SIDE)).astype(np.float32)} for _ in range(count)]


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ({}, {"logits"}),
        ({"boxes": 3}, set()),
        ({"sigmoid": True}, set()),
        ({"classes": 20}, {"logits", "boxes"}),  # the samples tell which
    ],
)
def test_numbers_beside_boxes_are_scores(tmp_path, how, names):
    found = raw_scores(prepare(load(detector(tmp_path, **how))))
    graph_names = {v.name.split(".")[0] for v in found}
    assert graph_names == names


def test_scores_are_certain_and_mostly_of_nothing():
    rng = np.random.default_rng(1)
    logits = rng.normal(-150, 60, (8, 256))
    assert are_scores(list(logits), 1) and are_scores(list(logits), 20)
    assert not are_scores(list(logits - 500), 1)  # nothing is found
    assert not are_scores(list(-logits), 1)  # nearly everything is
    assert not are_scores(list(rng.normal(0, 1, (8, 256))), 1)  # as offsets of boxes
    background = np.where(np.arange(256) % 20 == 0, 30.0, logits)
    assert not are_scores(list(background), 20)  # as the logits of a softmax


@pytest.mark.parametrize("classes", [1, 20])
def test_a_file_that_detects_other_things_is_not_good(tmp_path, classes):
    """Its errors are small beside the logits of nothing, and large beside 0."""
    path = detector(tmp_path, classes=classes)
    done = edgekit.quantize(path, samples(64), tmp_path / "m.edge", on_low_accuracy="warn")
    session = edgekit.Session(tmp_path / "m.edge")
    both = found = wanted = 0
    signal = noise = 0.0
    onnxruntime = pytest.importorskip("onnxruntime")
    reference = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for sample in samples(64, seed=1):
        real = reference.run(["logits"], sample)[0].astype(np.float64)
        got = session.run(sample)["logits"]
        both += int(((real > 0) & (got > 0)).sum())
        found, wanted = found + int((got > 0).sum()), wanted + int((real > 0).sum())
        signal, noise = signal + float((real**2).sum()), noise + float(((got - real) ** 2).sum())
    assert wanted > 500 and 10 * np.log10(signal / noise) > 35
    f1 = 2 * both / (found + wanted)
    assert done.quality.level == "usable" and done.quality.sqnr_db["logits"] < 20
    assert done.quality.detections["logits"] == pytest.approx(f1, abs=0.01)
    seen = edgekit.check(tmp_path / "m.edge", path, samples(64, seed=1)).quality
    assert seen.level == "usable"
    assert seen.detections["logits"] == pytest.approx(f1, abs=0.005)
