"""A detector calibrated on samples without a detection still detects, and is not called good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.accuracy.quality_meter import QualityMeter
from edgekit.toolkit.accuracy.verdict import verdict
from edgekit.toolkit.build import build_file
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import calibrate, prepare, quantize_model
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import quality_of
from edgekit.toolkit.quantize.outputs.evaluation_points import REACH, EvaluationPoint
from edgekit.toolkit.quantize.outputs.one_sided import ABOVE, BELOW, OneSided
from edgekit.toolkit.runtime import Session

NONE = {"act_min": -np.inf, "act_max": np.inf}
CENTRE = {"no": (-0.6, 0.6), "yes": (0.6, -0.6), "middle": (-0.14, 0.14)}


def detector(g, count=1, moved=False):
    """The first number less the second as the logit, times 2.5; of `count` the others are 0. Both
    answers need the same range of inputs. `moved`: behind a Reshape."""
    x = g.input("x", 1, 2)
    w, b = g.const(np.eye(count, 1) * [[2.5, -2.5]]), g.const(np.zeros(count))
    logit = g.emit("FullyConnected", x, w, b, name="logit", **NONE)
    p = g.emit("Sigmoid", logit, name="p")
    return g.output(g.emit("Reshape", p, shape=(count,), name="flat") if moved else p)


def feeds(answer, count=40):
    spread = np.abs(CENTRE[answer]) / 4
    x = CENTRE[answer] + spread * np.random.default_rng(3).uniform(-1, 1, size=(count, 1, 2))
    return [{"x": v.astype(np.float32)} for v in x]


def pack(graph):
    return build_file(graph)


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize(("seen", "missing"), [("no", "yes"), ("yes", "no")])
def test_the_answer_that_no_sample_shows_is_given(g, seen, missing, moved):
    net = detector(g, moved=moved)
    done = quantize_model(net, feeds(seen), "minmax", rounding="nearest")
    assert [of.answer for of in done.calibration.one_sided] == [BELOW if seen == "no" else ABOVE]
    session = Session(pack(done.graph))
    (name,) = (port.name for port in net.outputs)
    for answer in seen, missing:
        p = np.array([session.run(f)[name].item() for f in feeds(answer, 8)])
        assert (np.abs(p - (answer == "yes")) < 0.2).all()


def test_the_verdict_says_that_the_other_answer_is_not_judged(g):
    done = quantize_model(detector(g), feeds("no"), "minmax", rounding="nearest")
    found = replace(quality_of(done, pack, silent), sqnr_db={"logit": 30.0})
    assert found.measured == "good" and found.level == "usable"
    assert found.one_sided == (OneSided("p", BELOW),)
    first, cause = verdict(found, "the 40 samples", ["another"], None, "promote")
    assert (
        first.startswith("usable")
        and "all calibration samples have probabilities below 0.5 at 'p'" in cause
    )
    assert replace(found, one_sided=()).level == "good"


def test_both_answers_are_judged_by_their_probability(g):
    known = calibrate(prepare(detector(g)), feeds("no") + feeds("yes"))
    assert not known.one_sided and not known.least
    assert known.points == [EvaluationPoint("p")]


def test_one_answer_is_judged_by_its_softened_logit(g):
    known = calibrate(prepare(detector(g)), feeds("no"))
    (point,) = known.points
    assert point.tensor == "logit" and point.yes_no and 1.3 < point.temperature < 1.7
    seen = [point.view(s.at_points["logit"]).item() for s in known.kept]
    assert 0.05 < min(seen) < max(seen) < 0.25
    assert known.least == {"p": (0.0, 1.0), "logit": (0.0, REACH)}


def test_numbers_that_a_sigmoid_limits_are_no_answers(g):
    """Coordinates around a third."""
    known = calibrate(prepare(detector(g)), feeds("middle"))
    assert 0.2 < known.stats["p"].minimum < known.stats["p"].maximum < 0.45
    assert not known.one_sided and known.points == [EvaluationPoint("p")]


def test_several_labels_of_which_one_is_seen_are_not_one_sided(g):
    """The second logit is always 0."""
    known = calibrate(prepare(detector(g, count=2)), feeds("no"))
    assert not known.one_sided


def test_check_judges_one_answer_as_quantize_does(g):
    net = detector(g)
    done = quantize_model(net, feeds("no"), "minmax", rounding="nearest")
    session = Session(pack(done.graph))
    meter = QualityMeter(net, session)
    for feed in feeds("no", 30):
        meter.add(feed, session.run(feed))
    assert meter.quality().measured == "good"


def scores(g, offset, joined):
    """Scores of 36 places, the first channel and an offset; `joined` with boxes in one output."""
    x = g.input("x", 1, 6, 6, 3)
    w = np.array([0.5, 0.0, 0.0]).reshape(1, 1, 1, 3)
    how = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "pads": (0, 0, 0, 0), **NONE}
    logit = g.emit("Conv2d", x, g.const(w), g.const([offset]), name="logit", **how)
    p = g.emit("Sigmoid", logit, name="scores")
    both = g.emit("Concat", p, g.conv(x, 4, name="boxes"), axis=3, name="all") if joined else p
    return g.output(both)


def images(count=20):
    x = np.random.default_rng(4).uniform(-1, 1, size=(count, 1, 6, 6, 3))
    return [{"x": v.astype(np.float32)} for v in x]


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize(("offset", "missing"), [(-5.0, True), (-2.0, False), (0.0, False)])
def test_scores_of_images_without_a_detection_keep_room_for_one(g, offset, missing, joined):
    """Those with a mean of 0.12 may be disparities."""
    net = scores(g, offset, joined)
    known = calibrate(prepare(net), images())
    assert known.one_sided == [OneSided(net.outputs[0].name, BELOW)] * missing
    done = quantize_model(net, images(), "minmax", rounding="nearest")
    highest = done.ranges["logit"][1]
    assert highest == REACH if missing else highest < 1.0


def heads(g, how):
    """Scores of 36 and of 9 places beside boxes. The first head reads the first channel, the other
    the second, which is always below 0. What is joined: the "logits", the "scores", or each head's
    scores and boxes ("heads")."""
    x = g.input("x", 1, 6, 6, 3)
    found, boxes = [], []
    for channel, stride in (0, 1), (1, 2):
        conv = {"stride": (stride,) * 2, "dilation": (1, 1), "groups": 1, "pads": (0,) * 4, **NONE}
        size, w = 36 // stride**2, 7 * np.eye(3)[channel].reshape(1, 1, 1, 3)
        name = f"logit{channel}"
        v = g.emit("Conv2d", x, g.const(w), g.const([-5.0]), name=name, **conv)
        v = g.emit("Reshape", v, shape=(1, size, 1), name=f"head{channel}")
        found.append(v if how == "logits" else g.emit("Sigmoid", v))
        box = g.emit("Conv2d", x, g.const(g.rng.normal(size=(4, 1, 1, 3))), None, **conv)
        boxes.append(g.emit("Reshape", box, shape=(1, size, 4)))
    if how == "heads":
        pairs = zip(found, boxes, strict=True)
        parts = [g.emit("Concat", *pair, axis=2) for pair in pairs]
        return g.output(g.emit("Concat", *parts, axis=1, name="all"))
    scores = g.emit("Concat", *found, axis=1)
    scores = g.emit("Sigmoid", scores) if how == "logits" else scores
    return g.output(g.emit("Concat", scores, g.emit("Concat", *boxes, axis=1), axis=2, name="all"))


@pytest.mark.parametrize("how", ["logits", "scores", "heads"])
def test_heads_without_any_detection_have_room_for_one(g, how):
    net, seen = heads(g, how), images()
    for feed in seen:
        feed["x"][..., :2] = -np.abs(feed["x"][..., :2])
    known = calibrate(prepare(net), seen)
    assert known.one_sided == [OneSided("all", BELOW)]
    assert known.least["logit0"] == known.least["logit1"] == (0.0, REACH)


@pytest.mark.parametrize("how", ["logits", "scores", "heads"])
def test_a_head_without_a_detection_can_still_detect(g, how):
    net, seen = heads(g, how), images()
    for feed in seen:
        feed["x"][..., 0] = np.where(feed["x"][..., 0] > 0.95, 1.0, 0.0)  # few detections
        feed["x"][..., 1] = -np.abs(feed["x"][..., 1])
    known = calibrate(prepare(net), seen)
    highest = [known.stats[f"logit{i}"].maximum for i in (0, 1)]
    assert not known.one_sided and highest[1] < -4 < 1 < highest[0]
    assert known.least["logit1"] == (0.0, REACH) and "logit0" not in known.least
    done = quantize_model(net, seen, "minmax", rounding="nearest")
    session, unseen = Session(pack(done.graph)), {"x": np.zeros((1, 6, 6, 3), np.float32)}
    unseen["x"][0, 2, 2, 1] = 1.0
    got = session.run(unseen)["all"][0, 36:, 0]
    assert got[4] == pytest.approx(1 / (1 + np.exp(-2)), abs=0.03)
    assert (np.delete(got, 4) < 0.1).all()
    quality = quality_of(done, pack, silent)
    assert quality.level == "good"
    empty = [point for point in known.points if point.empty]
    assert len(empty) == (how == "heads")
    for point in empty:
        zeros = np.zeros((4, 1, 9, 1), np.float32)
        assert np.array_equal(point.view(zeros[0]), [0.0] * 9 + [2.5])
        assert np.array_equal(point.view(zeros, of_many=True), [[0.0] * 9 + [2.5]] * 4)


@pytest.mark.parametrize(("answers", "alone"), [(("no",), True), (("no", "yes"), False)])
def test_samples_of_one_class_of_a_softmax_are_named(g, answers, alone):
    x = g.input("x", 1, 2)
    logits = g.emit("FullyConnected", x, g.const(5 * np.eye(2)), None, name="logits", **NONE)
    net = g.output(g.emit("Softmax", logits, axis=1, name="p"))
    known = calibrate(prepare(net), [feed for answer in answers for feed in feeds(answer)])
    assert known.one_sided == [OneSided("p", "class 1 alone")] * alone
    assert not known.least
