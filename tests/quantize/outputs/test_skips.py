"""Outputs that are a sum of an input and what the network adds are judged by the latter."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import calibrate, quantize_model
from edgekit.toolkit.quantize.outputs.evaluation_points import find_evaluation_points
from edgekit.toolkit.quantize.outputs.skips import added_to_inputs
from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.quantize.ranges.candidate_evaluation import CandidateEvaluator

NONE = {"act_min": -np.inf, "act_max": np.inf}


def denoiser(g, strength=0.05, end="Sub"):
    """[1, 8, 8, 2] -> the same, less a filtered part of it."""
    x = g.input("x", 1, 8, 8, 2)
    noise = g.emit("Mul", g.conv(x, 2, name="features"), g.const(strength), name="noise")
    return x, noise, g.emit(end, x, noise, name="y", **(NONE if end == "Add" else {}))


def images(count=20):
    rng = np.random.default_rng(1)
    return [{"x": rng.normal(size=(1, 8, 8, 2)).astype(np.float32)} for _ in range(count)]


@pytest.mark.parametrize("end", ["Add", "Sub"])
def test_what_is_added_to_an_input_is_found(g, end):
    _, noise, y = denoiser(g, end=end)
    assert added_to_inputs(g.output(y)) == {y: noise}
    (point,) = find_evaluation_points(g.graph)
    assert (point.tensor, point.added) == ("y", "noise")
    assert find_evaluation_points(g.graph, inside=False)[0].added is None


def test_the_input_may_be_moved_resized_and_scaled_and_the_sum_moved(g):
    x = g.input("x", 1, 4, 4, 2)
    large = g.emit("Mul", g.emit("Transpose", x, perm=(0, 2, 1, 3)), g.const([2.0, 3.0]))
    y = g.emit("Sub", large, g.conv(x, 2, name="detail"), name="sum")
    out = g.emit("Transpose", y, perm=(0, 3, 1, 2), name="out")
    (point,) = find_evaluation_points(g.output(out))
    assert (point.tensor, point.added) == ("out", "detail")


@pytest.mark.parametrize("kind", ["layers", "inputs", "product"])
def test_other_sums_are_not(g, kind):
    x = g.input("x", 1, 8, 8, 2)
    other = g.conv(x, 2)
    both = {
        "layers": lambda: g.emit("Sub", g.conv(x, 2), other),
        "inputs": lambda: g.emit("Sub", x, g.emit("Mul", x, g.const(0.5))),
        "product": lambda: g.emit("Mul", x, other),
    }
    assert added_to_inputs(g.output(both[kind]())) == {}


def test_its_sqnr_is_that_of_what_is_added(g):
    _, _, y = denoiser(g)
    net, samples = g.output(y), images()
    known = calibrate(net, samples)
    trials = CandidateEvaluator(known)
    (point,) = known.points
    assert point.added is None
    assert trials.signal[0] > 100 * trials.variation[0]
    done = quantize_model(net, samples)
    quality = Quality.of(done.score, done.calibration.points)
    apart = 10 * np.log10(trials.signal[0] / trials.variation[0])
    assert quality.sqnr_db["y"] == pytest.approx(done.score.mean_db - apart, abs=0.01)
    assert quality.added == ("y",) and "of what is added to the input" in quality.in_words()
    noises = CandidateEvaluator(calibrate(with_output(g, "noise"), samples))
    assert trials.variation[0] == pytest.approx(noises.signal[0], rel=1e-6)


def test_what_exceeds_the_input_counts_as_the_sum(g):
    _, _, y = denoiser(g, strength=50.0)
    (point,) = calibrate(g.output(y), images()).points
    assert point.part == pytest.approx(1.0, abs=0.05)


def with_output(g, name):
    (v,) = [v for n in g.graph.nodes for v in n.outputs if v.name == name]
    g.graph.outputs.clear()
    return g.output(v)
