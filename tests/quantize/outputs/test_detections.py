"""Detections are probabilities above a threshold, judged by the F1 score that they keep."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import calibrate, prepare
from edgekit.toolkit.quantize.outputs.detections import Detections
from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.quantize.ranges.candidate_evaluation import CandidateEvaluator

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


def test_what_one_file_detects_too_much_does_not_make_up_for_another_one(g):
    """Two halves of the samples, with scores that are too high and too low."""
    detections, rng = found(g.output(scores(g))), np.random.default_rng(1)
    likely = rng.random((40, PLACES)) ** 3
    shifts = np.where(np.arange(40) % 2, 0.05, -0.05)[:, None]
    rows = np.array(
        [
            detections.row({"scores": t}, {"scores": q})
            for t, q in zip(likely, likely + shifts, strict=True)
        ]
    )
    halves = [slice(0, None, 2), slice(1, None, 2)]
    alone = [detections.kept(rows[at])["scores"] for at in halves]
    assert detections.kept(rows)["scores"] > 0.995
    assert detections.kept(rows, halves)["scores"] == pytest.approx(np.mean(alone), abs=0.005)


def test_few_samples_are_those_that_show_something(g):
    """Evenly spread ones would be those without a detection."""
    net = prepare(g.output(scores(g, offset=-4.0)))
    samples = feeds(33)
    for i, sample in enumerate(samples):
        sample["x"] -= 0 if i in (3, 13, 20, 30) else 3
    trials = CandidateEvaluator(calibrate(net, samples))
    assert trials.spread(4).tolist() == [3, 13, 20, 30]
    assert trials.spread(33).tolist() == list(range(33))
    assert CandidateEvaluator(calibrate(net, feeds(33))).spread(3).tolist() == [0, 16, 32]


@pytest.mark.parametrize(("kept", "level"), [(0.995, "good"), (0.985, "usable"), (0.88, "broken")])
def test_the_verdict_is_that_of_the_output_that_keeps_least(kept, level):
    quality = Quality({"y": 30.0}, None, 24, held_out=True, detections={"a": 0.999, "y": kept})
    assert quality.level == level
    assert f"detections keep {kept:.1%} of their F1 score" in quality.in_words()
