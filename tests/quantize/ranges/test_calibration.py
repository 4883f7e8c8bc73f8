"""Samples on all cores give what one after the other gives; what is kept takes limited room."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.calibration import CalibrationError, InputSpec, open_samples
from edgekit.toolkit.build import open_once
from edgekit.toolkit.quantize import AnySize, Keeper, KeptSample, calibrate, watched
from edgekit.toolkit.quantize.equalization.channel_statistics import ChannelStatistics
from edgekit.toolkit.quantize.ranges import calibration

from ..conftest import GraphMaker


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


def told(net, given, kept=256, of_any_size=None):
    """What calibration finds, and what it tells of its progress."""
    at = []
    channels = ChannelStatistics(net)
    found = calibrate(
        net,
        given,
        lambda _, count, total: at.append((count, total)),
        kept,
        of_any_size,
        also=channels,
    )
    stats = {n: (s.moving_minimum, s.moving_maximum, s.zeros) for n, s in found.stats.items()}
    return found, stats, channels.ranges(), at


def assert_same(one, many):
    """Two calibrations as `told`."""
    assert one[1] == many[1] and one[0].ends == many[0].ends
    assert [a for a, _ in many[3]] == [a for a, _ in one[3]] == list(range(1, len(one[3]) + 1))
    for name, ranges in one[2].items():
        for field in ("low", "high", "power"):
            assert np.array_equal(getattr(ranges, field), getattr(many[2][name], field))
    assert one[0].step == many[0].step
    for a, b in zip(one[0].kept, many[0].kept, strict=True):
        for x, y in ((a.inputs, b.inputs), (a.at_points, b.at_points), (a.means, b.means)):
            assert x.keys() == y.keys() and all(np.array_equal(x[n], y[n]) for n in x)


@pytest.mark.parametrize(("count", "kept"), [(1, 256), (23, 256), (23, 5)])
def test_samples_on_all_cores_are_those_in_order(net, request, count, kept):
    one = told(net, samples(count), kept)
    request.getfixturevalue("three_cores")
    assert_same(one, told(net, iter(samples(count)), kept))
    assert len(one[0].kept) == min(count, 3 if kept == 5 else kept)


def test_samples_of_other_sizes_on_all_cores_are_those_in_order(request):
    def net(size):
        g = GraphMaker()
        return g.output(g.conv(g.conv(g.input("x", 1, size, size, 3), 4, act_min=0.0), 4))

    def cut(sample):
        return {"x": sample["x"][:, :6, :6]} if sample["x"].max() < 3 else None

    large = [{"x": np.tile(s["x"], (1, 2, 2, 1))[:, :8, :8]} for s in samples(9)]
    given = [*samples(7), *large, *samples(5), *large[:3]]
    of_any_size = AnySize(open_once(watched(net(8))), cut)
    one = told(net(6), given, 256, of_any_size)
    request.getfixturevalue("three_cores")
    assert_same(one, told(net(6), given, 256, of_any_size))
    assert 12 < len(one[0].kept) < len(given)


def test_of_samples_with_values_that_are_not_finite_the_first_is_named(net, three_cores):
    given = samples(12)
    for i in (5, 6, 7):
        given[i]["x"][0, 0, 0, : i - 4] = np.nan
    for _ in range(5):
        with pytest.raises(CalibrationError, match=r"sample 5: .* contains 1 NaN"):
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


def test_a_sample_whose_outputs_are_not_finite_is_named_with_its_file(net, tmp_path):
    x = np.concatenate([s["x"] for s in samples(6)])
    x[4, 0, 0, 0] = np.nan
    np.savez(tmp_path / "calib.npz", x=x)
    spec = InputSpec("x", net.inputs[0].shape, np.float32, missing=True)
    with pytest.raises(CalibrationError, match=r"calib\.npz, sample 4: .* NaN"):
        calibrate(net, open_samples(tmp_path / "calib.npz", [spec]))
