"""Signal processing in front of a network is found, and kept on finer steps where that gains."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.quantize.quality import GOOD_DB
from edgekit.toolkit.quantize.scheme.front_end import bands, feature_scaler, front_end
from edgekit.toolkit.quantize.scheme.quantizable_groups import unscaled

NONE = {"act_min": -np.inf, "act_max": np.inf}


def behind(g, x):
    """A network whose weights are nearly all of the work."""
    a = g.conv(x, 32, act_min=0.0, name="body1")
    return g.output(g.conv(a, 32, name="body2"))


@pytest.fixture
def spectrum(g):
    """Filters, squares, their sum, its root and logarithm."""
    x = g.input("x", 1, 8, 8, 4)
    filtered = g.conv(x, 4, kernel=1, name="filters")
    power = g.emit("Mul", filtered, filtered, name="power", **NONE)
    some = g.emit("Add", power, g.const(np.full((1, 8, 8, 4), 1e-4)), name="some", **NONE)
    return behind(g, g.emit("Log", g.emit("Sqrt", some, name="root"), name="log"))


def test_what_leads_to_a_logarithm_is_a_front_end(spectrum):
    made, read = front_end(spectrum)
    assert made == {"power", "some", "root", "log"} and read == {"x", "filters"}


def test_inputs_that_it_reads_belong_to_it(g):
    x = g.input("x", 1, 8, 8, 4)
    made, read = front_end(behind(g, g.emit("Log", x, name="log")))
    assert made == {"log"} and read == {"x"}


def test_functions_behind_much_of_the_work_are_no_front_end(g):
    a = g.conv(g.conv(g.input("x", 1, 8, 8, 4), 32), 32, name="a")
    assert front_end(behind(g, g.emit("Exp", a)))[0] == set()
    assert front_end(g.output(g.emit("Log", g.input("z", 1, 4))))[0] == set()


@pytest.mark.parametrize("normalizes", [True, False])
def test_a_mean_that_weights_alone_read_normalizes_nothing(g, normalizes):
    """Of squeeze-and-excite in a network for series, whose first convolutions are little work."""
    a = g.conv(g.input("x", 1, 8, 8, 4), 4, kernel=1, name="a")
    mean = g.emit("ReduceMean", a, axes=(1, 2), keepdims=True, name="mean")
    gate = g.emit("Sigmoid", g.conv(mean, 4, kernel=1), name="gate")
    parts = [mean] if normalizes else []
    b = g.emit("Mul", a, gate, name="b", **NONE)
    for part in parts:
        b = g.emit("Sub", b, part, name="less", **NONE)
    made, read = front_end(behind(g, b))
    assert (made, read) == (({"mean"}, {"x", "a"}) if normalizes else (set(), set()))


def test_a_network_that_is_a_spectrum_alone_is_a_front_end(g):
    """Filters, squares, bands, bounds from below and a logarithm; the weights are in front."""
    x = g.input("x", 1, 8, 8, 4)
    power = g.emit("Pow", g.conv(x, 9, name="filters"), g.const(2.0), name="power", **NONE)
    bands = g.conv(power, 5, kernel=1, act_min=1e-9, name="bands")
    made, read = front_end(g.output(g.emit("Log", bands, name="log")))
    assert made == {"power", "log"} and read == {"x", "filters", "bands"}


def test_bands_of_a_spectrum_are_float_where_that_gains(g):
    """Sums of squares reach over as many powers of ten: the least become 0 in integers."""
    x = g.input("x", 1, 8, 8, 4)
    power = g.emit("Pow", g.conv(x, 9, name="filters"), g.const(2.0), name="power", **NONE)
    weights = g.const(np.abs(g.rng.normal(size=(5, 9))))
    kept = {"act_min": 1e-9, "act_max": np.inf}
    shares = g.emit("FullyConnected", power, weights, None, name="bands", **kept)
    graph = g.output(g.emit("Log", shares, name="log"))
    assert bands(graph) == {"bands"}
    sizes = np.float32(10) ** g.rng.uniform(-3, 0.5, (64, 1, 8, 8, 1))
    inputs = (sizes * g.rng.normal(size=(64, 1, 8, 8, 4))).astype(np.float32)
    done = quantize_model(graph, [{"x": x} for x in inputs], "minmax", rounding="nearest")
    assert {"bands", "power", "log"} <= set(done.options.precision) and done.sqnr_db > GOOD_DB + 10


def test_squares_of_features_are_no_front_end(g):
    a = g.conv(g.input("x", 1, 8, 8, 4), 9, act_min=0.0, name="a")
    power = g.emit("Mul", a, a, name="power", **NONE)
    assert front_end(g.output(g.emit("Log", g.conv(power, 5), name="log")))[0] == set()


def test_scales_of_channels_are_no_front_end(g):
    x = g.input("x", 1, 8, 8, 4)
    assert front_end(behind(g, g.emit("Mul", x, g.const([1, 2, 3, 4]), **NONE)))[0] == set()


def test_it_leaves_int8_where_that_gains(spectrum):
    rng = np.random.default_rng(0)
    sizes = np.float32(10) ** np.linspace(-1, 0.5, 16)
    noise = [s * rng.normal(size=(1, 8, 8, 4)) for s in rng.permutation(sizes)]
    samples = [{"x": x.astype(np.float32)} for x in noise]
    done = quantize_model(spectrum, samples, "minmax", rounding="nearest")
    assert "log" in done.options.wide | set(done.options.precision)
    assert done.sqnr_db > GOOD_DB


def test_it_leaves_int8_above_the_floor_too(g):
    """Where int8 keeps 29 dB."""
    filtered = g.conv(g.input("x", 1, 8, 8, 4), 4, kernel=1, name="filters")
    power = g.emit("Mul", filtered, filtered, name="power", **NONE)
    some = g.emit("Add", power, g.const(np.full((1, 8, 8, 4), 0.02)), name="some", **NONE)
    net = behind(g, g.emit("Log", g.emit("Sqrt", some, name="root"), name="log"))
    rng = np.random.default_rng(0)
    sizes = rng.permutation(np.float32(10) ** np.linspace(-0.2, 0.2, 16))
    samples = [{"x": (s * rng.normal(size=(1, 8, 8, 4))).astype(np.float32)} for s in sizes]
    done = quantize_model(net, samples, "minmax", rounding="nearest")
    assert "power" in done.options.wide
    assert done.sqnr_db > 38


def test_ranges_that_clip_it_on_int8_do_not_keep_it_there(g):
    """An observer that clips is the best start on int8; off int8 the spectrum needs all of it."""
    filtered = g.conv(g.input("x", 1, 8, 8, 4), 4, kernel=1, name="filters")
    power = g.emit("Mul", filtered, filtered, name="power", **NONE)
    some = g.emit("Add", power, g.const(np.full((1, 8, 8, 4), 1e-6)), name="some", **NONE)
    net = behind(g, g.emit("Log", some, name="log"))
    rng = np.random.default_rng(0)
    sizes = rng.permutation(np.float32(10) ** np.linspace(-1, 0.5, 16))
    samples = [{"x": (s * rng.normal(size=(1, 8, 8, 4))).astype(np.float32)} for s in sizes]
    plain, found = (quantize_model(net, samples, o, rounding="nearest") for o in ("minmax", "auto"))
    assert found.sqnr_db > plain.sqnr_db > 30


def test_a_scaler_of_features_runs_in_float32_where_one_scale_is_too_coarse(g):
    """The largest feature takes all steps of an int16 input; the others decide."""
    sizes = np.geomspace(0.01, 1e4, 8)
    x = g.input("x", 1, 8)
    less = g.emit("Add", x, g.const(-3 * sizes[None]), name="less", **NONE)
    scaled = g.emit("Mul", less, g.const(1 / sizes[None]), name="scaled", **NONE)
    w = g.rng.normal(size=(16, 8))
    net = g.output(g.emit("FullyConnected", scaled, g.const(w), None, name="y", **NONE))
    assert feature_scaler(net) == {"less", "scaled"}
    rng = np.random.default_rng(0)
    rows = [(sizes * (3 + rng.normal(size=(1, 8)))).astype(np.float32) for _ in range(32)]
    done = quantize_model(net, [{"x": r} for r in rows], "minmax", rounding="nearest")
    assert done.sqnr_db > GOOD_DB and set(done.options.precision) == {"less", "scaled"}


def test_features_that_one_scale_suits_stay_integers(g):
    x = g.input("x", 1, 8)
    scaled = g.emit("Mul", x, g.const([np.geomspace(1, 6, 8)]), name="scaled", **NONE)
    w = g.rng.normal(size=(16, 8))
    net = g.output(g.emit("FullyConnected", scaled, g.const(w), None, name="y", **NONE))
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(1, 8)).astype(np.float32) for _ in range(32)]
    done = quantize_model(net, [{"x": r} for r in rows], "minmax", rounding="nearest")
    assert not done.options.precision


def test_features_are_followed_where_they_are_moved(g):
    """As sequences with a scale for each sensor reach a recurrent layer."""
    x = g.emit("Transpose", g.input("x", 1, 3, 8), perm=(0, 2, 1), name="moved")
    scale = np.array([1.0, 0.1, 0.01])[None, None]
    net = g.output(g.emit("Mul", x, g.const(scale), name="scaled", **NONE))
    assert set(unscaled(net)) == {"x", "moved"}
