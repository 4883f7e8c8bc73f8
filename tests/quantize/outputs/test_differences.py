"""Outputs that rebuild an input are judged by the difference."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.accuracy.quality_meter import QualityMeter
from edgekit.toolkit.accuracy.verdict import verdict
from edgekit.toolkit.build import build_file
from edgekit.toolkit.quantize import calibrate, quantize_model
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import quality_of
from edgekit.toolkit.quantize.outputs.differences import (
    inputs_by_size,
    inputs_rebuilt_by,
    rebuilt_at_scale,
    with_counted_part,
)
from edgekit.toolkit.quantize.outputs.evaluation_points import EvaluationPoint
from edgekit.toolkit.quantize.outputs.kept_samples import KeptSample
from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.quantize.ranges.input_scale import wrong_scale
from edgekit.toolkit.runtime import Session

SIZE, LEVEL = 24, 5.0


def autoencoder(g, rank, size=SIZE, lift=0.0, wide=1):
    """[1, 1, wide, size] -> its projection onto `rank` dimensions, around LEVEL and lifted."""
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(size, size)))[0][:, :rank]
    x = g.input("x", 1, 1, wide, size)
    below, above = (np.full(n, 0.0) for n in (rank, size))
    code = layer(g, g.emit("Add", x, g.const(-LEVEL), **NONE), basis.T, below)
    return x, layer(g, code, basis, above + LEVEL + lift, "y")


NONE = {"act_min": -np.inf, "act_max": np.inf}


def layer(g, x, weights, bias, name=""):
    given = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "pads": (0,) * 4} | NONE
    return g.emit("Conv2d", x, g.const(weights[:, None, None]), g.const(bias), name=name, **given)


def rows(count=40, size=SIZE):
    rng = np.random.default_rng(1)
    return [
        {"x": (LEVEL + rng.normal(size=(1, 1, 1, size))).astype(np.float32)} for _ in range(count)
    ]


def energies(samples, outputs):
    """Of the outputs, and of the differences from the inputs."""
    y = np.array(outputs).reshape(len(samples), -1)
    x = np.array([s["x"] for s in samples]).reshape(len(samples), -1)
    return np.square(y).sum(), np.square(y - x).sum()


def test_the_sqnr_is_that_of_the_difference(g):
    _, y = autoencoder(g, SIZE * 3 // 4)
    net, samples = g.output(y), rows()
    (point,) = calibrate(net, samples).points
    session = Session(build_file(net))
    whole, apart = energies(samples, [session.run(s)["y"] for s in samples])
    assert point.rebuilt == ("x",) and point.part == pytest.approx(apart / whole, rel=1e-4)
    assert point.part < 0.02
    done = quantize_model(net, samples)
    quality = Quality.of(done.score, done.calibration.points)
    lower = 10 * np.log10(apart / whole)
    assert quality.sqnr_db["y"] == pytest.approx(done.score.mean_db + lower, abs=0.02)
    assert quality.rebuilt == ("y",) and quality.added == ()
    assert "of the difference from the input" in quality.in_words()


def test_what_hardly_varies_is_rebuilt_if_it_is_close(g):
    """As by samples of one recording."""
    _, y = autoencoder(g, SIZE // 8)
    net, samples = g.output(y), rows()
    (point,) = calibrate(net, samples).points
    session = Session(build_file(net))
    outputs = np.array([session.run(s)["y"] for s in samples]).reshape(len(samples), -1)
    varied = np.square(outputs - outputs.mean(axis=0)).sum()
    assert varied < 0.01 * np.square(outputs).sum()
    apart = energies(samples, outputs)[1]
    assert point.rebuilt == ("x",) and point.part == pytest.approx(apart / varied, rel=1e-4)


def test_check_judges_the_same(g):
    _, y = autoencoder(g, SIZE * 3 // 4)
    net, samples = g.output(y), rows()
    session = Session(build_file(net))
    meter = QualityMeter(net, None)
    truth = [session.run(s)["y"] for s in samples]
    noise = np.random.default_rng(3).normal(size=(len(samples), SIZE))
    for sample, row, error in zip(samples, truth, noise, strict=True):
        meter.add(sample, {"y": row + 0.01 * error.reshape(row.shape)})
    quality = meter.quality()
    apart = energies(samples, truth)[1]
    expected = 10 * np.log10(apart / np.square(0.01 * noise).sum())
    assert quality.rebuilt == ("y",)
    assert quality.sqnr_db["y"] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    "rank, size, count, lift",
    [(SIZE // 8, SIZE, 40, 9.0), (SIZE * 3 // 4, SIZE, 7, 0.0), (4, 6, 40, 0.0)],
)
def test_others_are_judged_by_their_own_values(g, rank, size, count, lift):
    """An output with little of the input, by few samples, and of few numbers."""
    _, y = autoencoder(g, rank, size, lift)
    points = calibrate(g.output(y), rows(count, size)).points
    assert {(p.rebuilt, p.part) for p in points} == {((), 1.0)}


def enlarged(x, factors):
    for axis, factor in enumerate(factors):
        x = x.repeat(factor, axis)
    return x


@pytest.mark.parametrize(
    ("shape", "factors", "rebuilds"),
    [
        ((1, 3, 8, 8), (1, 1, 2, 2), True),  # super-resolution
        ((1, 8, 8, 1), (1, 3, 3, 1), True),
        ((1, 8, 8, 1), (1, 1, 1, 3), True),  # of gray images in color
        ((1, 1, 20), (1, 1, 4), True),
        ((1, 1, 8, 8), (1, 1, 2, 3), False),
    ],
)
def test_an_enlarged_image_is_judged_by_the_difference_from_repeated_pixels(
    g, shape, factors, rebuilds
):
    after = tuple(n * f for n, f in zip(shape, factors, strict=True))
    y = g.emit("Tanh", g.input("x", *shape), name="small")
    missing = tuple(b - a for a, b in zip(shape, after, strict=True))
    ends = {"before": (0,) * len(shape), "after": missing, "mode": "constant", "value": 0.0}
    y = g.emit("Pad", y, name="y", **ends)
    names = inputs_rebuilt_by(y, g.output(y))
    assert names == (("x",) if rebuilds else ())
    rng, samples = np.random.default_rng(3), []
    for _ in range(20):
        x = rng.normal(size=shape) + 3
        more = enlarged(x, factors) + 0.1 * rng.normal(size=after)
        samples.append(KeptSample({"x": x}, {"y": more}))
    point = with_counted_part(EvaluationPoint("y", rebuilt=names), samples)
    if rebuilds:
        assert point.rebuilt == ("x",) and point.part == pytest.approx(0.01 / 10, rel=0.1)
    else:
        assert point.rebuilt == () and point.part == 1.0


def test_all_numbers_of_a_rebuilt_input_are_judged_together():
    """Those at the border of an image hardly vary."""
    columns = [np.full((1, 8, 3), [0.001, 1.0, 5.0]) * v for v in np.linspace(-1, 1, 9)]
    assert len(EvaluationPoint("y").fitted(columns)) == 3
    whole = EvaluationPoint("y", rebuilt=("x",))
    assert whole.fitted(columns) == [whole]


def test_states_of_a_recurrent_network_are_not_rebuilt_inputs(g):
    x, h = g.input("x", 1, 1, 1, SIZE), g.input("h", 1, 1, 1, 16)
    g.output(g.conv(x, 4))
    assert inputs_by_size(g.graph) == {SIZE: ("x",), 16: ("h",)}
    g.output(g.conv(h, 16))
    assert inputs_by_size(g.graph) == {}


@pytest.mark.parametrize(
    "db, level", [(20.0, "good"), (19.9, "usable"), (10.0, "usable"), (9.9, "broken")]
)
def test_their_floor_is_lower(db, level):
    assert Quality({"y": db}, None, 40, True, rebuilt=("y",)).level == level
    others = Quality({"z": max(db, 15.0), "y": db}, None, 40, True, rebuilt=("y",))
    assert others.level == level
    assert Quality({"z": 12.0, "y": db}, None, 40, True, rebuilt=("y",)).level == "broken"


@pytest.mark.parametrize("scale, ratio", [(1, None), (255, 255), (1 / 255, 1 / 255)])
def test_samples_that_are_rebuilt_on_another_scale_are_on_the_wrong_one(g, scale, ratio):
    _, y = autoencoder(g, SIZE * 3 // 4)
    net = g.output(y)
    samples = [{"x": s["x"] * np.float32(scale)} for s in rows(9)]
    samples[3] = {"x": samples[3]["x"] * np.float32(100)}  # one outlier
    found = wrong_scale(net, samples)
    assert (found and found.ratio) == (ratio and pytest.approx(ratio))
    if found:
        way = "divided" if ratio > 1 else "multiplied"
        assert f"Output 'y' rebuilds them only if they are {way} by 255" in str(found)


@pytest.mark.parametrize("given, level", [(99, "usable"), (100, "good"), (0, "good")])
def test_fewer_than_a_hundred_vectors_do_not_show_what_is_unlike_them(given, level):
    found = Quality({"y": 45.0}, None, 30, True, calibration=given, rebuilt=("y",), needed=100)
    assert found.level == level
    cause = "cause: 99 calibration samples say too little of other inputs; use about 100"
    assert (cause in verdict(found, "all", [], None, "promote")) == (level == "usable")
    assert Quality({"y": 45.0}, None, 30, True, calibration=given, rebuilt=("y",)).level == "good"


@pytest.mark.parametrize("wide, few", [(1, True), (3, False)])
def test_a_map_shows_each_channel_more_than_once(g, wide, few):
    _, y = autoencoder(g, SIZE * 3 // 4, wide=wide)
    samples = [{"x": np.repeat(s["x"], wide, axis=2)} for s in rows(20)]
    quality = quality_of(quantize_model(g.output(y), samples), build_file, lambda *_: None)
    assert quality.rebuilt == ("y",) and quality.few == few


def test_outputs_of_other_sizes_than_an_input_do_not_rebuild_it(g):
    """As of samples of a model whose dimensions vary."""
    _, y = autoencoder(g, SIZE * 3 // 4)
    kept = calibrate(g.output(y), rows()).kept
    point = EvaluationPoint("y", rebuilt=("x",))
    assert with_counted_part(point, kept).rebuilt == ("x",)
    longer = [KeptSample({"x": np.tile(s.inputs["x"], 2)}, s.at_points) for s in kept]
    assert with_counted_part(point, longer) == EvaluationPoint("y")
    mixed = [*kept, KeptSample({"x": longer[0].inputs["x"]}, {"y": longer[0].inputs["x"]})]
    assert with_counted_part(point, mixed) == EvaluationPoint("y")


def test_infinite_samples_are_on_no_scale(g):
    _, y = autoencoder(g, SIZE * 3 // 4)
    net, samples = g.output(y), [{"x": np.full_like(s["x"], np.inf)} for s in rows(9)]
    assert rebuilt_at_scale(net, net.inputs[0], samples, (1 / 255, 255)) is None


def test_a_mask_that_passes_an_input_on_says_nothing_of_its_scale(g):
    """At 1 / 255 of the scale it is that of its bias, near 1."""
    x = g.input("x", 1, 1, 1, SIZE)
    mask = g.emit("Sigmoid", layer(g, x, -np.eye(SIZE), np.full(SIZE, 2.0)))
    net = g.output(g.emit("Mul", x, mask, name="y"))
    assert rebuilt_at_scale(net, net.inputs[0], rows(9), (1 / 255, 255)) is None
