"""Classes are compared at a softmax, and at an output that looks like logits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from edgekit.toolkit.build import open_once
from edgekit.toolkit.quantize import (
    calibrate,
    prepare,
    quantize_graph,
    with_evaluation_points,
)
from edgekit.toolkit.quantize.outputs.answers import Answers

NONE = {"act_min": -np.inf, "act_max": np.inf}


def feeds(count=60, seed=3):
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=(1, 8)).astype(np.float32)} for _ in range(count)]


def linear(g, x, count, scale, name, offset=0.0):
    w = scale * g.rng.normal(size=(count, x.shape[-1]))
    b = np.full(count, 0.0) + offset
    return g.emit("FullyConnected", x, g.const(w), g.const(b), name=name, **NONE)


def measured(found, graph):
    session = open_once(with_evaluation_points(graph, found.points))
    got = [session.run(s.inputs) for s in found.kept]
    return found.rows([s.at_points for s in found.kept], stacked(got))


def stacked(got):
    return {name: np.stack([g[name] for g in got]) for name in got[0]}


def compared(net):
    net = prepare(net)
    known = calibrate(net, feeds())
    return Answers(net, known.points, known.kept)


def test_logits_without_a_softmax_name_classes(g):
    net = g.output(linear(g, g.input("x", 1, 8), 5, 3.0, "logits"))
    found = compared(net)
    assert [(c.tensor, c.made, c.axis) for c in found.compared] == [("logits", "logits", 1)]
    ranges = {"x": (-3.0, 3.0), "logits": (-100.0, 100.0)}
    rows = measured(found, quantize_graph(net, ranges)[0])
    truth = np.concatenate([s.at_points["logits"] for s in found.kept])
    steps = np.rint(truth / (200 / 255))  # as coarse, but of exact sums
    coarse = steps.argmax(axis=1) != truth.argmax(axis=1)
    loss = found.loss(rows)
    assert loss.changed + loss.tied == pytest.approx(coarse.mean(), abs=0.1) and loss.changed > 0
    likely = softmax(truth, axis=1)
    assert 0 < loss.expected < (likely.max(axis=1) - likely.min(axis=1)).mean() * loss.changed


@pytest.mark.parametrize(
    ("count", "scale", "offset"),
    [
        (5, 0.05, 0.0),  # an embedding: nothing stands out
        (6, 3.0, 30.0 * np.arange(6)),  # coordinates: one is always the largest
        (1, 3.0, 0.0),  # a number
    ],
)
def test_other_vectors_name_none(g, count, scale, offset):
    x = g.input("x", 1, 8)
    assert compared(g.output(linear(g, x, count, scale, "y", offset))).compared == []


@pytest.mark.parametrize(("scale", "certain", "counted"), [(0.6, 0.45, True), (0.3, 0.25, False)])
def test_a_weak_classifier_names_classes_too(g, scale, certain, counted):
    net = prepare(g.output(linear(g, g.input("x", 1, 8), 10, scale, "y")))
    known = calibrate(net, feeds())
    likely = softmax(np.concatenate([s.at_points["y"] for s in known.kept]), axis=1)
    assert likely.max(axis=1).mean() == pytest.approx(certain, abs=0.05)
    assert bool(Answers(net, known.points, known.kept).compared) == counted


@pytest.mark.parametrize(("op", "least"), [("ArgMax", False), ("ArgMin", True)])
def test_what_an_arg_max_or_min_compares_names_classes(g, op, least):
    """As certain or not: it says itself that it does."""
    y = linear(g, g.input("x", 1, 8), 5, 0.05, "y")
    net = g.output(y, g.emit(op, y, axis=1, keepdims=0, select_last_index=0))
    found = compared(net)
    assert [(c.tensor, c.axis, c.least) for c in found.compared] == [("y", 1, least)]
    truth = [s.at_points for s in found.kept]
    got = np.stack([t["y"] for t in truth])
    best = got[:6].argmin(axis=-1) if least else got[:6].argmax(axis=-1)
    got[np.arange(6), 0, best[:, 0]] += 9 if least else -9  # another answer on six samples
    assert found.loss(found.rows(truth, {"y": got})).changed == pytest.approx(6 / len(truth))


@pytest.mark.parametrize(
    ("rows", "classes", "blanks", "events"),
    [
        (40, 300, 30, 0.25),  # a text recognizer: most steps are blanks
        (16, 40, 12, 0.25),
        (40, 40, 30, 1.0),  # each class has a mask
        (40, 300, 15, 1.0),
        (1, 300, 0, 1.0),
    ],
)
def test_answers_are_those_of_events_where_most_are_blank(g, rows, classes, blanks, events):
    x = g.input("x", 1, rows, classes)
    z = g.emit("FullyConnected", x, g.const(np.eye(classes)), None, name="z", **NONE)
    net = prepare(g.output(g.emit("Softmax", z, axis=2, name="y")))
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(20, 1, rows, classes)).astype(np.float32)
    best = rng.integers(1, classes, size=(20, 1, rows))
    best[..., :blanks] = 0
    np.put_along_axis(logits, best[..., None], 12.0, axis=-1)
    known = calibrate(net, [{"x": x} for x in logits])
    found = Answers(net, known.points, known.kept)
    got = logits.copy()
    got[:10, 0, -1] = np.roll(got[:10, 0, -1], 1, axis=-1)  # another character on ten samples
    figures = found.loss(found.rows([s.at_points for s in found.kept], {"y": got, "z": got}))
    assert figures.changed == pytest.approx(10 / (20 * rows * events))
    assert figures.expected == pytest.approx(figures.changed, rel=0.02)


@pytest.mark.parametrize(("width", "counted"), [(1, True), (9, False)])
def test_logits_of_many_classes_are_unlike_their_neighbours(g, width, counted):
    """The samples have 30 of 300 characters; a spectrum, or a map of places, is smooth."""
    x = g.input("x", 1, 40, 300)
    z = g.emit("FullyConnected", x, g.const(np.eye(300)), None, name="z", **NONE)
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(20, 1, 40, 300))
    best = 9 * rng.integers(0, 30, size=(20, 1, 40, 1))
    np.put_along_axis(logits, best, 12.0, axis=-1)
    smooth = np.apply_along_axis(np.convolve, -1, logits, np.hanning(width + 2), "same")
    net = prepare(g.output(z))
    known = calibrate(net, [{"x": x.astype(np.float32)} for x in smooth])
    assert bool(Answers(net, known.points, known.kept).compared) == counted


def test_logits_that_are_joined_name_classes_each(g):
    """Two classifiers and an embedding; the first one's logits are scaled."""
    x = g.input("x", 1, 8)
    first = g.emit("Mul", linear(g, x, 5, 3.0, "first"), g.const(0.5), name="scaled", **NONE)
    heads = linear(g, x, 4, 0.05, "embedding"), linear(g, x, 3, 3.0, "second")
    y = g.emit("Concat", first, *heads, axis=1, name="y")
    found = compared(g.output(y))
    assert [(c.tensor, c.axis, c.part) for c in found.compared] == [
        ("y", -1, (0, 5)),
        ("y", -1, (9, 12)),
    ]
    truth = [s.at_points for s in found.kept]
    got = np.stack([t["y"] for t in truth])
    got[:5, 0, 9:] = got[:5, 0, [10, 11, 9]]  # the second answer on five samples
    got[:, 0, 5:9] *= -1  # no answer at all
    assert found.loss(found.rows(truth, {"y": got})).changed == pytest.approx(2.5 / len(truth))


def test_numbers_that_rise_together_are_a_forecast(g):
    """The largest of the next three years is no answer."""
    x = g.input("x", 1, 8)
    level = g.emit("FullyConnected", x, g.const(np.full((3, 8), 10.0)), None, name="level", **NONE)
    y = g.emit("Add", level, linear(g, x, 3, 3.0, "differences"), name="y", **NONE)
    assert compared(g.output(y)).compared == []


@pytest.mark.parametrize(("scale", "counted"), [(3.0, True), (0.05, False)])
def test_a_sigmoid_answers_yes_or_no_if_it_is_certain(g, scale, counted):
    z = linear(g, g.input("x", 1, 8), 1, scale, "z")
    net = g.output(g.emit("Sigmoid", z, name="y"))
    found = compared(net)
    assert [c.tensor for c in found.compared] == (["y"] if counted else [])
    if not counted:
        return
    ranges = {"x": (-3.0, 3.0), "z": (-200.0, 200.0)}
    graph = quantize_graph(net, ranges)[0]
    loss = found.loss(measured(found, graph))
    session = open_once(with_evaluation_points(graph, found.points))
    truth = np.array([s.at_points["y"].item() for s in found.kept])
    got = np.array([session.run(s.inputs)["y"].item() for s in found.kept])
    other = (truth > 0.5) != (got > 0.5)
    tied = ~other & (got == 0.5)
    assert loss.changed == pytest.approx(other.mean()) and 0 < other.mean() < 0.5
    assert loss.tied == pytest.approx(tied.mean()) and tied.any()
    assert loss.expected == pytest.approx((other * np.abs(2 * truth - 1)).mean(), abs=1e-3)


def test_steps_of_certain_answers_put_no_others_in_doubt(g):
    """An int8 sigmoid is 0 or 255 / 256 at its ends, far from the float model's logits."""
    net = prepare(g.output(g.emit("Sigmoid", g.input("x", 1, 1), name="y")))
    rng = np.random.default_rng(1)
    known = calibrate(
        net, [{"x": np.full((1, 1), 8 * rng.normal(), np.float32)} for _ in range(200)]
    )
    found = Answers(net, known.points, known.kept)
    truth = [s.at_points for s in found.kept]
    coarse = [{"y": np.minimum(np.rint(t["y"] * 256), 255) / 256} for t in truth]
    loss = found.loss(found.rows(truth, stacked(coarse)))
    assert loss.changed == 0 and loss.chance < 0.02


def in_rows(g, scale, *, moved=lambda y: y, count=5):
    """A network with `count` numbers for each of 16 rows, the largest one mostly by far if `scale`
    is large."""
    y = linear(g, g.input("x", 1, 16, 8), count, scale, "rows")
    net, rng = prepare(g.output(moved(y))), np.random.default_rng(3)
    known = calibrate(
        net, [{"x": rng.normal(size=(1, 16, 8)).astype(np.float32)} for _ in range(30)]
    )
    return [(c.tensor, c.axis) for c in Answers(net, known.points, known.kept).compared]


@pytest.mark.parametrize(("scale", "found"), [(3.0, [("rows", 2)]), (0.3, [])])
def test_rows_of_logits_name_classes_and_features_of_tokens_do_not(g, scale, found):
    assert in_rows(g, scale) == found


@pytest.mark.parametrize(
    ("moves", "axis"),
    [
        ([("Transpose", {"perm": (0, 2, 1)})], 1),
        ([("Reshape", {"shape": (4, 1, 4, 5)}), ("Transpose", {"perm": (0, 3, 1, 2)})], 1),
        ([("Reshape", {"shape": (8, 10)})], None),
        ([("Expand", {"shape": (2, 1, 16, 5)})], None),
        ([("Copy", {"dims": (5, 16), "strides": (1, 5), "offset": 0, "shape": (5, 16)})], None),
    ],
)
def test_the_axis_of_classes_is_that_of_the_channels_of_the_layer(g, moves, axis):
    def moved(y):
        for i, (op, how) in enumerate(moves):
            y = g.emit(op, y, name=f"moved{i}", **how)
        return y

    assert [found for _, found in in_rows(g, 3.0, moved=moved)] == ([axis] if axis else [])


@pytest.mark.parametrize(("order", "found"), [((0, 1, 2, 3), []), ((2, 1, 0, 3), ["y"])])
def test_corners_of_boxes_name_none(g, order, found):
    x = g.input("x", 1, 8)
    w = np.zeros((4, 8))
    w[[0, 2], 0] = w[[1, 3], 1] = 3.0  # the center
    w[2, 2] = w[3, 3] = 12.0  # positive: the size
    y = g.emit("FullyConnected", x, g.const(w[list(order)]), g.const(np.zeros(4)), name="y", **NONE)
    samples = [
        {"x": np.abs(s["x"]) * np.where(np.arange(8) < 2, np.sign(s["x"]), 1)} for s in feeds()
    ]
    net = prepare(g.output(y))
    known = calibrate(net, samples)
    assert [c.tensor for c in Answers(net, known.points, known.kept).compared] == found


def test_what_no_weights_make_names_none(g):
    x = linear(g, g.input("x", 1, 8), 5, 3.0, "before")
    assert compared(g.output(g.emit("Tanh", x, name="y"))).compared == []


def test_a_logarithm_of_probabilities_names_classes_too(g):
    z = linear(g, g.input("x", 1, 8), 5, 0.05, "z")
    net = prepare(g.output(g.emit("LogSoftmax", z, axis=1, name="y")))
    known = calibrate(net, feeds())
    assert {(p.tensor, p.axis, p.lowest) for p in known.points} == {("z", 1, -np.inf)}
    found = Answers(net, known.points, known.kept)
    assert [(c.tensor, c.made, c.axis) for c in found.compared] == [("z", "y", 1)]
    coarse = quantize_graph(net, {"x": (-3.0, 3.0), "z": (-9.0, 9.0)})[0]
    loss = found.loss(measured(found, coarse))
    assert loss.changed > 0 and loss.in_doubt > 0.2


def test_few_samples_tell_how_many_of_others_change(g):
    """Each error met by every margin: the share of 2,000 samples, from 24 of them."""
    net = prepare(g.output(linear(g, g.input("x", 1, 8), 5, 3.0, "logits")))
    ranges = {"x": (-3.5, 3.5), "logits": (-150.0, 150.0)}
    coarse = quantize_graph(net, ranges)[0]
    told = []
    for data in (feeds(2000, 1), feeds(24, 2), feeds(24, 4)):
        known = calibrate(net, data, kept=len(data))
        found = Answers(net, known.points, known.kept)
        told.append(found.loss(measured(found, coarse)))
    assert 0.01 < told[0].changed < 0.1
    assert all(0.3 < t.chance / told[0].changed < 3 for t in told)
    exact = Answers(net, known.points, known.kept)
    assert exact.loss(measured(exact, net)).chance == 0


def test_of_images_of_classes_chance_is_what_changed(g):
    x = g.input("x", 1, 4, 4, 8)
    net = prepare(g.output(g.emit("Softmax", g.conv(x, 3, name="z"), axis=3, name="y")))
    known = calibrate(net, [{"x": s["x"].repeat(16).reshape(1, 4, 4, 8)} for s in feeds(8)])
    found = Answers(net, known.points, known.kept)
    loss = found.loss(measured(found, net))
    assert loss.chance == loss.changed + loss.tied
