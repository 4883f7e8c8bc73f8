"""Samples on all cores give what one after the other gives; what is kept takes limited room."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.calibration import CalibrationError
from edgekit.toolkit.quantize import Keeper, KeptSample, calibrate
from edgekit.toolkit.quantize.equalization.channel_statistics import ChannelStatistics
from edgekit.toolkit.quantize.ranges import calibration


@pytest.fixture
def net(g):
    a = g.conv(g.input("x", 1, 6, 6, 3), 4, act_min=0.0)
    b = g.emit("Tanh", g.conv(a, 4, act_max=np.inf, act_min=-np.inf))
    flat = g.emit("Reshape", b, shape=(1, 144))
    w = g.const(g.rng.normal(size=(4, 144)) * 0.1)
    logits = g.emit("FullyConnected", flat, w, None, act_min=-np.inf, act_max=np.inf)
    return g.output(g.emit("Softmax", logits, axis=1))


def samples(count):
    rng = np.random.default_rng(5)
    return [{"x": rng.normal(size=(1, 6, 6, 3)).astype(np.float32)} for _ in range(count)]


def told(net, given, kept=256):
    """What calibration finds, and what it tells of its progress."""
    at = []
    channels = ChannelStatistics(net)
    found = calibrate(
        net, given, lambda _, count, total: at.append((count, total)), kept, also=channels
    )
    stats = {n: (s.moving_minimum, s.moving_maximum, s.zeros) for n, s in found.stats.items()}
    return found, stats, channels.ranges(), at


@pytest.mark.parametrize(("count", "kept"), [(1, 256), (23, 256), (23, 5)])
def test_samples_on_all_cores_are_those_in_order(net, request, count, kept):
    one = told(net, samples(count), kept)
    request.getfixturevalue("three_cores")
    many = told(net, iter(samples(count)), kept)
    assert one[1] == many[1] and one[0].ends == many[0].ends
    assert [a for a, _ in many[3]] == [a for a, _ in one[3]] == list(range(1, count + 1))
    for name, ranges in one[2].items():
        for field in ("low", "high", "power"):
            assert np.array_equal(getattr(ranges, field), getattr(many[2][name], field))
    assert one[0].step == many[0].step and len(one[0].kept) == len(many[0].kept) <= kept
    for a, b in zip(one[0].kept, many[0].kept, strict=True):
        for x, y in ((a.inputs, b.inputs), (a.at_points, b.at_points), (a.means, b.means)):
            assert x.keys() == y.keys() and all(np.array_equal(x[n], y[n]) for n in x)


def test_of_samples_with_values_that_are_not_finite_the_first_is_named(net, three_cores):
    given = samples(12)
    for i in (5, 6, 7):
        given[i]["x"][0, 0, 0, : i - 4] = np.nan
    for _ in range(5):
        with pytest.raises(CalibrationError, match="contains 1 NaN"):
            calibrate(net, given)


def test_cores_share_no_short_steps(net, monkeypatch):
    monkeypatch.setattr(calibration, "STEP_SECONDS", 1e3)
    monkeypatch.setattr(calibration, "copies_of", lambda *_: pytest.fail("too short to share"))
    calibrate(net, samples(3))


def test_room_that_is_needed_later_counts():
    array = np.zeros(1000, np.int8)
    keeper = Keeper(limit_bytes=5000)
    for _ in range(8):
        if keeper.wants():
            keeper.add(KeptSample({"x": array}), later=1000)
        keeper.seen += 1
    assert keeper.step == 4 and len(keeper.kept) == 2
