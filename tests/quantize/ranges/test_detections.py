"""Detections are probabilities above a threshold, judged by the F1 score that they keep."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import calibrate, prepare
from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.quantize.ranges.detections import Detections

NONE = {"act_min": -np.inf, "act_max": np.inf}
PLACES = 200


def feeds(count=16):
    rng = np.random.default_rng(3)
    return [{"x": rng.normal(size=(1, PLACES)).astype(np.float32)} for _ in range(count)]


def scores(g, offset=-8.0, fn="Sigmoid"):
    x = g.input("x", 1, PLACES)
    moved = g.emit("Add", g.emit("Mul", x, g.const([4.0]), **NONE), g.const([offset]), **NONE)
    return g.emit(fn, moved, name="scores")


def found(net):
    net = prepare(net)
    known = calibrate(net, feeds())
    return Detections(net, {p.tensor for p in known.points if p.axis is None}, known.kept)


def test_probabilities_some_of_which_are_high_are_detections_behind_a_reshape_too(g):
    y = g.emit("Reshape", scores(g), name="y", shape=(1, PLACES // 2, 2))
    assert found(g.output(y)).tensors == ["y"]


@pytest.mark.parametrize(("offset", "fn"), [(-16.0, "Sigmoid"), (0.0, "Tanh")])
def test_few_of_them_and_other_numbers_are_none(g, offset, fn):
    assert found(g.output(scores(g, offset, fn))).tensors == []


def test_an_image_has_no_detections(g):
    x = g.input("x", 1, PLACES)
    net = g.output(g.emit("Sigmoid", g.emit("Mul", x, g.const([0.3]), **NONE), name="image"))
    assert found(net).tensors == []


def test_the_figure_is_the_f1_score_on_labels_as_likely_as_the_float_model_says(g):
    detections, rng = found(g.output(scores(g))), np.random.default_rng(1)
    likely = rng.random((4, PLACES)) ** 3
    other = np.clip(likely + rng.normal(scale=0.2, size=likely.shape), 0, 1)
    rows = [
        detections.row({"scores": t}, {"scores": q}) for t, q in zip(likely, other, strict=True)
    ]
    (kept,) = detections.kept(np.array(rows)).values()
    labels = rng.random((4000, *likely.shape)) < likely
    right, scored = [], (likely > 0.5, other > 0.5)
    for detected in scored:
        true = (labels & detected).sum()
        right.append(2 * true / (labels.sum() + 4000 * detected.sum()))
    assert kept == pytest.approx(right[1] / right[0], abs=0.002) and kept < 0.99
    same = [detections.row({"scores": t}, {"scores": t}) for t in likely]
    assert detections.kept(np.array(same)) == {"scores": 1.0}


@pytest.mark.parametrize(("kept", "level"), [(0.995, "good"), (0.985, "usable"), (0.88, "broken")])
def test_the_verdict_is_that_of_the_output_that_keeps_least(kept, level):
    quality = Quality({"y": 30.0}, None, 24, held_out=True, detections={"a": 0.999, "y": kept})
    assert quality.level == level
    assert f"detections keep {kept:.1%} of their F1 score" in quality.in_words()
