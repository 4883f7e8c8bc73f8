"""Depths and other maps of positive numbers are judged by relative errors."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.accuracy.quality_meter import QualityMeter
from edgekit.toolkit.build import build_file
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import keep_floor
from edgekit.toolkit.quantize.outputs.evaluation_points import EvaluationPoint, fitted
from edgekit.toolkit.quantize.outputs.kept_samples import KeptSample
from edgekit.toolkit.quantize.outputs.ratios import least_of_ratios
from edgekit.toolkit.quantize.outputs.signals import energies, variations
from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.runtime import Session

SIDE, FAR = 16, 80.0
NONE = {"act_min": -np.inf, "act_max": np.inf}


def depths(count=12, factor=40.0, shape=(1, 1, SIDE, SIDE)):
    rng = np.random.default_rng(1)
    return [FAR * factor ** -rng.random(shape) for _ in range(count)]


@pytest.mark.parametrize(
    ("samples", "found"),
    [
        (depths(), True),
        (depths(factor=4.0), False),  # as accurate everywhere
        (depths(count=7), False),  # too few to tell
        ([-x for x in depths()], False),
        ([x * (x > FAR / 2) for x in depths()], False),  # mostly zero: a density
        (depths(shape=(1, 3, SIDE, SIDE)), False),  # a color image
        (depths(shape=(1, 8, 8)), False),
        (depths(shape=(1, SIDE * SIDE)), False),
    ],
)
def test_they_are_told_by_what_the_samples_show(samples, found):
    least = least_of_ratios(samples)
    assert least is None if not found else least == pytest.approx(FAR / 500, rel=0.01)


def test_the_sqnr_is_that_of_relative_errors():
    truth = depths()
    samples = [KeptSample({}, {"y": x}) for x in truth]
    (point,) = fitted([EvaluationPoint("y")], samples)
    views = [[point.view(x) for x in truth]]
    rng = np.random.default_rng(2)
    got = [x * (1 + 0.05 * rng.choice([-1, 1], x.shape)) for x in truth]
    noise = [np.sum((point.view(q) - v) ** 2) for q, v in zip(got, views[0], strict=True)]
    (signal,) = variations([point], views)
    assert signal / np.sum(noise) == pytest.approx(1 / 0.05**2, rel=0.02)
    assert energies(views)[0] != signal
    zero = point.view(np.zeros(3)), point.view(np.full(3, FAR / 500))
    assert zero[0] == pytest.approx(zero[1], rel=0.01)


def test_of_an_input_of_as_many_numbers_it_is_no_depth():
    """A gray image that is made of another one."""
    truth = depths()
    samples = [KeptSample({"x": np.sqrt(x)}, {"y": x}) for x in truth]
    (point,) = fitted([EvaluationPoint("y", rebuilt=("x",))], samples)
    assert point.least is None


@pytest.mark.parametrize(("db", "level"), [(31.0, "good"), (29.0, "usable"), (14.0, "broken")])
def test_a_good_one_has_errors_of_three_percent(db, level):
    quality = Quality({"depth": db}, None, 24, held_out=True, relative=("depth",))
    assert quality.level == level and "relative to each number" in quality.in_words()


def network(g):
    """Depths up to FAR as a ReLU of a sum of products."""
    x = g.input("x", 1, SIDE, SIDE, 3)
    w = g.const(np.array([[[[1.0, 2.0, 0.5]]]]))
    attrs = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "pads": (0,) * 4}
    y = g.emit("Conv2d", x, w, g.const([0.0]), act_min=0.0, act_max=np.inf, name="y", **attrs)
    return g.output(g.emit("Reshape", y, name="depth", shape=(1, 1, SIDE, SIDE)))


def images(count, seed):
    rng = np.random.default_rng(seed)
    near = [100.0 ** -rng.random((1, SIDE, SIDE, 1)) for _ in range(count)]
    colors = [1 + 0.2 * rng.random((1, SIDE, SIDE, 3)) for _ in range(count)]
    return [{"x": (20 * n * c).astype(np.float32)} for n, c in zip(near, colors, strict=True)]


def test_near_depths_keep_their_steps_by_an_int16_output(g):
    net = network(g)
    done = quantize_model(net, images(24, 5), "minmax", rounding="nearest")
    found, promotion, quality = keep_floor(done, build_file, silent, rounding="nearest")
    assert promotion.before.level == "usable" and promotion.before.relative == ("depth",)
    assert quality.level == "good" and "int16" in promotion.nodes
    floats, unseen = Session(build_file(net)), images(16, 6)
    errors = []
    for graph in (done.graph, found.graph):
        session, meter = Session(build_file(graph)), QualityMeter(net, None)
        both = [(floats.run(s)["depth"], session.run(s)["depth"]) for s in unseen]
        errors.append(np.sqrt(np.mean([(q / t - 1) ** 2 for t, q in both])))
        for s, (_, q) in zip(unseen, both, strict=True):
            meter.add(s, {"depth": q})
        of_check = meter.quality()
        assert of_check.relative == ("depth",)
        assert 10 ** (-of_check.sqnr_db["depth"] / 20) == pytest.approx(errors[-1], rel=0.25)
    assert errors[1] < 0.032 < errors[0]
