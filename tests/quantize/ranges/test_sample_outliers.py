"""A sample unlike all others is found, named, and left out of ranges where the others gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.quantize import calibrate, quantize_model
from edgekit.toolkit.quantize.ranges import sample_outliers
from edgekit.toolkit.quantize.ranges.sample_outliers import find_outliers, without_outliers


def feeds(count=40, seed=3):
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=(1, 8, 8, 3)).astype(np.float32)} for _ in range(count)]


@pytest.fixture
def net(g):
    a = g.conv(g.input("x", 1, 8, 8, 3), 8, act_min=0.0, name="a")
    return g.output(g.conv(g.conv(a, 8, act_min=0.0, name="b"), 4, name="y"))


def test_ordinary_samples_are_no_outliers(net):
    known = calibrate(net, feeds())
    assert find_outliers(known.reach(), ["x"]) == []
    assert without_outliers(net, feeds(), known) == (known, [])


@pytest.mark.parametrize("scale", [10.0, 100.0])
def test_one_sample_on_another_scale_is_left_out(net, scale):
    samples, clean = feeds(), quantize_model(net, feeds(), "minmax", rounding="nearest")
    samples[17]["x"] *= np.float32(scale)
    done = quantize_model(net, samples, "minmax", rounding="nearest")
    (found,) = done.outliers
    assert found.index == 17 and found.reach > 0.5 * scale * found.others
    assert found.gain_db > 10 and done.samples == 39
    assert done.sqnr_db == pytest.approx(clean.sqnr_db, abs=1.0)
    told = found.in_words("photos/17.png")
    assert told.startswith("photos/17.png is an outlier: '") and "exclude it" in told


def test_a_kind_of_samples_is_no_outlier(net):
    samples = feeds()
    for s in samples[::8]:
        s["x"] *= np.float32(10)
    assert quantize_model(net, samples, "minmax", rounding="nearest").outliers == []


def test_what_an_exponential_makes_large_is_no_outlier(g):
    """The deviations of a variational encoder are exponentials of ordinary numbers."""
    x = g.input("x", 1, 8, 8, 3)
    net = g.output(g.emit("Exp", g.conv(x, 4, name="logarithm"), name="deviation"))
    samples = feeds()
    reach = calibrate(net, samples).reach()
    largest = int(np.argmax(reach["deviation"]))
    samples[largest]["x"] *= np.float32(1.8)
    known = calibrate(net, samples)
    others = np.delete(known.reach()["deviation"], largest).max()
    assert known.reach()["deviation"][largest] > 4 * others
    assert find_outliers(known.reach(), ["x"]) == []


def test_few_samples_tell_nothing(net):
    samples = feeds(6)
    samples[2]["x"] *= np.float32(100)
    assert find_outliers(calibrate(net, samples).reach(), ["x"]) == []


def test_an_outlier_that_costs_the_others_nothing_stays(g):
    x = g.input("x", 1, 8, 8, 3)
    net = g.output(g.conv(g.emit("Clip", x, min=-1.0, max=1.0), 4, name="y"))
    samples = feeds()
    samples[5]["x"] *= np.float32(100)
    known = calibrate(net, samples)
    kept, (found,) = without_outliers(net, samples, known)
    assert kept is known and found.gain_db is None and "include it" in found.in_words()


def test_a_generator_cannot_be_read_again(net):
    samples = feeds(300)
    samples[7]["x"] *= np.float32(100)
    known = calibrate(net, samples)
    kept, (found,) = without_outliers(net, iter(samples), known)
    assert kept is known and found.index == 7
    kept, _ = without_outliers(net, samples, known)
    assert kept.samples == 299


def test_int16_leaves_an_outlier_out_as_well(net):
    """Its room is for others like the rest: of a spectrum 16 bits are none too many."""
    samples = feeds()
    samples[17]["x"] *= np.float32(100)
    done = quantize_model(net, samples, "minmax", rounding="nearest")
    (found,) = done.outliers
    wide = done.plan.mixed(replace(done.options, wide=frozenset(["x"])))
    (x,) = (v for v, dtype in wide.params(done.ranges) if v.name == "x" and dtype == np.int16)
    reach = wide.params(done.ranges)[x, np.dtype(np.int16)].scalar * 32767
    others = max(np.abs(s["x"]).max() for i, s in enumerate(samples) if i != 17)
    assert found.gain_db > 1 and reach == pytest.approx(2 * others, rel=1e-3)


def test_where_int8_fails_anyway_an_outlier_is_excluded(g, monkeypatch):
    """As with a spectrum in front: that the others gain nothing there means nothing."""
    x = g.input("x", 1, 8, 8, 3)
    net = g.output(g.conv(g.emit("Clip", x, min=-1.0, max=1.0), 4, name="y"))
    samples = feeds()
    samples[5]["x"] *= np.float32(100)
    monkeypatch.setattr(sample_outliers, "TELLING_DB", 1e3)
    kept, (found,) = without_outliers(net, samples, calibrate(net, samples))
    assert kept.samples == len(samples) - 1 and found.gain_db < 1
    assert found.in_words().endswith("The ranges exclude it")
