"""int8 ranges have room for samples that did not make them, where such samples need it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.quantize import (
    CandidateEvaluator,
    Options,
    Plan,
    calibrate,
    quantize_model,
)
from edgekit.toolkit.quantize.ranges.room import MOST, ROOMS, Room, find_room


@pytest.fixture
def net(g):
    x = g.input("x", 1, 4, 4, 4)
    return g.output(g.conv(g.conv(x, 8, act_min=0.0, name="a"), 4, name="y"))


def samples(count, seed, spread):
    """Of sizes that differ by `spread`, as a logarithm: 0 is none."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(spread * rng.normal(size=count))
    noise = rng.uniform(-1, 1, size=(count, 1, 4, 4, 4))
    noise[:, :, 0, 0] = np.sign(noise[:, :, 0, 0])
    return [{"x": (s * x).astype(np.float32)} for s, x in zip(sizes, noise, strict=True)]


def room_of(net, data):
    found = calibrate(net, data)
    plan = Plan(net, found.without(slice(0, 0)), Options(means=found.means()))
    trials = CandidateEvaluator(found)
    return find_room(plan, plan.wide, found, trials, trials.score(plan, plan.wide))


def test_ranges_of_some_samples_leave_out_the_others(net):
    data = samples(12, 0, 0.5)
    found, some = calibrate(net, data), calibrate(net, data[1::2])
    assert found.without(slice(0, None, 2)) == some.without(slice(0, 0))
    assert found.without(slice(0, 0))["a"] == found.observed("minmax", "a")


def test_samples_that_reach_far_beyond_others_get_room(net):
    data = samples(12, 5, 0.6)
    room = room_of(net, data)
    assert room in ROOMS
    done = quantize_model(net, data)
    low, high = done.plan.wide["x"]
    assert done.ranges["x"][0] < low and done.ranges["x"][1] > high
    fresh = CandidateEvaluator(calibrate(net, samples(64, 6, 0.6)))
    close = Plan(net, done.plan.wide, Options(means=done.options.means))
    before, after = fresh.score(close, close.wide), fresh.score(done.plan, done.ranges)
    assert after.mean_db > before.mean_db + 1


def test_samples_that_reach_as_far_as_others_get_none(net):
    assert room_of(net, samples(32, 0, 0.0)) is None
    assert room_of(net, samples(1, 0, 0.0)) is None


def test_room_of_a_tail_is_that_of_tensors_that_have_one(g):
    x, t = g.input("x", 1, 4), g.input("t", 1, 4)
    y = g.emit("Concat", x, t, axis=1, name="y")
    rng = np.random.default_rng(0)
    even, tailed = rng.uniform(0.99, 1.0, size=(2, 16, 1, 4))
    tailed[3], tailed[9] = 2.0, 4.0
    feeds = [{"x": a, "t": b} for a, b in zip(*np.float32([even, tailed]), strict=True)]
    found = calibrate(g.output(y), feeds)
    wide = Room(tail=1.0).ranges(found)
    assert wide["x"][1] == pytest.approx(1.0, abs=0.02)
    assert wide["t"] == pytest.approx((0.0, 4.0 + 2.0), abs=0.02)  # beyond 1: 3 and 1
    assert Room(tail=4.0).ranges(found)["t"][1] == pytest.approx(4.0 + MOST * 4.0, abs=0.02)
    assert Room(1.2).ranges(found)["x"][1] == pytest.approx(1.2, abs=0.02)
    held_out = Room(tail=1.0).ranges(found, slice(9, 10))
    assert held_out["t"][1] == pytest.approx(2.0 + 0.5, abs=0.02)


def test_room_ends_where_the_reader_tells_nothing_apart(net):
    found = calibrate(net, samples(12, 5, 0.6))
    found.points = [replace(found.points[0], tensor="a", lowest=-0.5)]
    assert Room(1.35).ranges(found)["a"][0] >= -0.5
