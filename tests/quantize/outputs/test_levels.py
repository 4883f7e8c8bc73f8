"""Outputs that are as large as the input is loud: errors count relative to each level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest

from edgekit.toolkit import pipeline
from edgekit.toolkit.quantize.outputs.differences import inputs_with_levels
from edgekit.toolkit.quantize.outputs.evaluation_points import EvaluationPoint, fitted
from edgekit.toolkit.quantize.outputs.kept_samples import KeptSample, energies_of
from edgekit.toolkit.quantize.outputs.levels import QUIETEST_DB, followed_input, level_weights
from edgekit.toolkit.quantize.outputs.signals import energies, variations
from edgekit.toolkit.quantize.quality import LEVELED_GOOD_DB
from edgekit.toolkit.runtime import Session

FILTER = """
<ir_version: 8, opset_import: ["" : 17]>
denoiser (float[1,1,1,400] wave) => (float[1,1,1,400] clean) {
  a = Conv <pads: ints = [0,4,0,4]> (wave, analysis)
  b = LeakyRelu <alpha: float = 0.2> (a)
  clean = Conv <pads: ints = [0,4,0,4]> (b, synthesis)
}
"""


@pytest.fixture(scope="module")
def denoiser(tmp_path_factory):
    rng = np.random.default_rng(4)
    model = onnx.parser.parse_model(FILTER)
    for name, shape in (("analysis", (16, 1, 1, 9)), ("synthesis", (1, 16, 1, 9))):
        weights = rng.normal(0, 0.3, shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    path = tmp_path_factory.mktemp("denoiser") / "denoiser.onnx"
    onnx.save(model, path)
    return path


def recordings(quietest_db, count=80, seed=1):
    """Levels evenly from 0 dB down."""
    rng = np.random.default_rng(seed)
    levels = 10 ** (-np.linspace(0, quietest_db, count) / 20)
    waves = rng.normal(size=(count, 1, 1, 1, 400)) * levels[:, None, None, None, None]
    return [{"wave": wave.astype(np.float32)} for wave in rng.permutation(waves)]


def truth_and_noise(model, edge, samples):
    """The float outputs, and the energy of each error."""
    oracle, session = onnxruntime.InferenceSession(model), Session(edge)
    pairs = [(oracle.run(None, s)[0], session.run(s)["clean"]) for s in samples]
    noise = np.array([np.square(a - b).sum() for a, b in pairs])
    return np.array([a.ravel() for a, _ in pairs], np.float64), noise


def each_sqnr(truth, noise):
    return 10 * np.log10(np.square(truth).sum(axis=1) / noise)


def test_quiet_recordings_count_as_much_as_loud_ones(denoiser, tmp_path):
    edge, samples, unseen = tmp_path / "x.edge", recordings(40), recordings(40, seed=2)
    int8 = pipeline.quantize(denoiser, samples, edge, observer="minmax", on_low_accuracy="warn")
    truth, noise = truth_and_noise(denoiser, edge, unseen)
    assert 10 * np.log10(np.square(truth).sum() / noise.sum()) > 25  # of all squares together
    assert np.mean(each_sqnr(truth, noise) < 20) > 0.3
    assert int8.quality.leveled == ("clean",) and int8.quality.level == "broken"
    assert "dB relative to each sample's level" in int8.quality.in_words()

    report = pipeline.check(edge, denoiser, unseen)
    energy = np.array([np.square(s["wave"]).sum() for s in unseen])
    weights = 1 / np.maximum(energy, np.median(energy) / 10 ** (QUIETEST_DB / 10))
    level = np.sqrt(weights)[:, None] * truth
    varied = np.square(level - level.mean(axis=0)).sum()
    wanted = 10 * np.log10(varied / (weights * noise).sum())
    assert report.quality.sqnr_db["clean"] == pytest.approx(wanted, abs=0.01)

    mended = pipeline.quantize(denoiser, samples, edge)
    assert mended.quality.level == "good" and mended.promotion is not None
    each = each_sqnr(*truth_and_noise(denoiser, edge, unseen))
    assert np.quantile(each, 0.1) > LEVELED_GOOD_DB


def test_recordings_of_one_loudness_are_judged_together(denoiser, tmp_path):
    done = pipeline.quantize(denoiser, recordings(4), tmp_path / "x.edge")
    assert done.quality.level == "good" and done.quality.leveled == ()
    assert done.promotion is None


POINT = EvaluationPoint("y")
FOLLOWING = EvaluationPoint("y", follows="x")


def kept(inputs, outputs):
    pairs = zip(inputs, outputs, strict=True)
    return [KeptSample({"x": x}, {"y": y}, energies=energies_of({"x": x})) for x, y in pairs]


def follows_level(inputs, outputs, point=POINT):
    return followed_input(point, kept(inputs, outputs), ["x"]) == "x"


def sounds(levels, size=100, seed=3):
    return np.random.default_rng(seed).normal(size=(len(levels), size)) * np.array(levels)[:, None]


def test_what_follows_the_level():
    levels = np.logspace(0, -2, 20)
    loud, other = sounds(levels), sounds(np.ones(20), seed=5)
    assert follows_level(loud, 3 * loud)
    assert not follows_level(loud, other)  # a normalized network
    assert not follows_level(other, loud)
    assert not follows_level(loud, np.sqrt(np.abs(loud)))  # compressed
    assert not follows_level(loud, loud[:, :3])  # they may measure the level
    assert not follows_level(loud[:7], loud[:7])
    assert not follows_level(loud, 0 * loud)
    outlier = sounds(np.r_[np.ones(19), 100])
    assert not follows_level(outlier, outlier)
    assert not follows_level(loud, loud, replace(POINT, axis=0))
    pauses = np.where(np.arange(20) % 3 == 0, 1e-3, 1.0)  # denoised by 30 dB more than sounds are
    assert not follows_level(sounds(pauses), sounds(pauses**1.5))


def test_silence_has_no_level():
    loud = sounds(np.logspace(0, -2, 20))
    loud[3] = 0
    samples = kept(loud, loud)
    assert followed_input(POINT, samples, ["x"]) == "x"
    weights = level_weights([FOLLOWING], samples)[0]
    assert weights[3] == weights.max() == pytest.approx(10 ** (QUIETEST_DB / 10))
    loud[::2] = 0
    assert not follows_level(loud, loud)


def test_weights_make_up_for_the_level():
    levels = np.array([1, 1, 1, 1, 0.5, 1, 2, 1, 0.2, 1e-6])
    loud = sounds(levels)
    weights = level_weights([FOLLOWING, POINT], kept(loud, loud))
    energy = np.square(loud).sum(axis=1)
    wanted = np.median(energy) / np.maximum(energy, np.median(energy) / 100)
    np.testing.assert_allclose(weights[0] / weights[0, 0], wanted / wanted[0], rtol=0.02)
    np.testing.assert_array_equal(weights[1], 1)


def test_what_counts_of_a_series_is_how_it_varies_around_its_level():
    levels = np.logspace(0, -2, 20)
    shape = 1 + 0.1 * sounds(np.ones(20), size=12)
    series = levels[:, None] * shape
    samples = kept(series, series)
    (point,) = fitted([POINT], samples, ["x"])
    weights = level_weights([point], samples)
    assert point.follows == "x"
    (signal,) = variations([point], [list(series)], weights)
    (energy,) = energies([list(series)], weights)
    assert signal / energy == pytest.approx(0.01, rel=0.2)


def test_of_several_inputs_one_is_followed(g):
    wave, past = (g.input(name, 1, 2, 2, 6) for name in ("wave", "past"))
    y = g.emit("Add", wave, past, name="y", act_min=-np.inf, act_max=np.inf)
    inputs = inputs_with_levels(g.output(y))
    assert inputs == ["wave", "past"]
    loud, other = sounds(np.logspace(0, -2, 20), 24), sounds(np.ones(20), 24, seed=5)
    samples = [
        KeptSample({}, {"y": y}, energies={"past": float(np.sum(x * x)), "wave": float(z.size)})
        for x, y, z in zip(loud, loud, other, strict=True)
    ]
    assert [p.follows for p in fitted([POINT], samples, inputs)] == ["past"]


@pytest.mark.parametrize(
    ("shape", "found"),
    [((1, 16, 16, 3), []), ((1, 3, 16, 16), []), ((1, 16, 16, 1), ["x"]), ((1, 1, 3, 16), ["x"])],
)
def test_a_dark_image_in_color_counts_no_more_than_a_bright_one(g, shape, found):
    x = g.input("x", *shape)
    assert inputs_with_levels(g.output(g.emit("Tanh", x, name="y"))) == found


def test_states_are_not_followed(g):
    wave, state = (g.input(name, 1, 2, 2, 3) for name in ("wave", "state"))
    y = g.emit("Add", wave, state, name="y", act_min=-np.inf, act_max=np.inf)
    later = g.emit("Mul", wave, state, name="later", act_min=-np.inf, act_max=np.inf)
    assert inputs_with_levels(g.output(y, later)) == []
