"""What is said of many samples at once is what is said of each."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import calibrate, prepare
from edgekit.toolkit.quantize.outputs.answers import FIGURES
from edgekit.toolkit.quantize.outputs.figures import Figures

NONE = {"act_min": -np.inf, "act_max": np.inf}
SIDE = 32


@pytest.fixture
def figures(g):
    """Of a network with classes, a mask and detections, and what the float model has."""
    x = g.input("x", 1, 8)

    def linear(count, scale, offset=0.0):
        w = g.const(scale * g.rng.normal(size=(count, 8)))
        return g.emit("FullyConnected", x, w, g.const(np.full(count, offset)), **NONE)

    mask = g.emit("Sigmoid", linear(SIDE * SIDE, 30.0))
    outputs = [
        g.emit("Softmax", linear(5, 3.0), axis=1, name="classes"),
        g.emit("Reshape", mask, name="mask", shape=(1, SIDE, SIDE, 1)),
        g.emit("Sigmoid", linear(600, 20.0, -60.0), name="scores"),
    ]
    net = prepare(g.output(*outputs))
    rng = np.random.default_rng(3)
    samples = [{"x": rng.normal(size=(1, 8)).astype(np.float32)} for _ in range(20)]
    known = calibrate(net, samples)
    return Figures(net, known.points, known.kept), [k.at_points for k in known.kept]


def noisy(truth, rng):
    """What a quantized model has, along a first axis."""
    got = {n: np.stack([t[n] for t in truth]) for n in truth[0]}
    return {
        n: (x + rng.normal(0, 0.3 * x.std(), x.shape)).astype(np.float32) for n, x in got.items()
    }


def test_rows_of_many_are_those_of_each(figures):
    figures, truth = figures
    assert figures.answers.compared and figures.masks.tensors and figures.detections.tensors
    got = noisy(truth, np.random.default_rng(0))
    rows = figures.rows(truth, got)
    each = [
        figures.rows([t], {n: x[i : i + 1] for n, x in got.items()}) for i, t in enumerate(truth)
    ]
    assert np.array_equal(rows, np.concatenate(each), equal_nan=True)


def test_what_is_told_is_what_each_kind_tells(figures):
    figures, truth = figures
    got = noisy(truth, np.random.default_rng(0))
    told = figures.told(figures.rows(truth, got))
    one = [{n: x[i] for n, x in got.items()} for i in range(len(truth))]
    pairs = list(zip(truth, one, strict=True))
    answers, masks, detections = figures.answers, figures.masks, figures.detections
    assert told["answers"] == answers.loss(answers.rows(truth, got)) and told["answers"].changed > 0
    assert told["masks"] == masks.kept(np.stack([masks.row(*pair) for pair in pairs]))
    assert told["detections"] == detections.kept(np.stack([detections.row(*p) for p in pairs]))
    assert 0 < told["masks"]["mask"] < 1 and 0 < told["detections"]["scores"] < 1


def test_of_a_network_without_any_nothing_is_told(g):
    x = g.input("x", 1, 8)
    net = prepare(g.output(g.emit("Mul", x, g.const([2.0]), name="y", **NONE)))
    known = calibrate(net, [{"x": np.full((1, 8), i, np.float32)} for i in range(4)])
    figures = Figures(net, known.points, known.kept)
    truth = [k.at_points for k in known.kept]
    rows = figures.rows(truth, {"y": np.stack([t["y"] for t in truth])})
    assert rows.shape == (4, FIGURES)
    assert figures.told(rows) == {"answers": None, "masks": {}, "detections": {}}
