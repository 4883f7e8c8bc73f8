"""int8 ranges have room for samples that did not make them, where such samples need it."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import (
    CandidateEvaluator,
    Options,
    Plan,
    calibrate,
    quantize_graph,
    quantize_model,
)
from edgekit.toolkit.quantize.ranges.room import ROOMS, find_room

OPEN = {"act_min": -np.inf, "act_max": np.inf}


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
    return find_room(plan, found, CandidateEvaluator(found))


def test_ranges_of_some_samples_leave_out_the_others(net):
    data = samples(12, 0, 0.5)
    found, some = calibrate(net, data), calibrate(net, data[1::2])
    assert found.without(slice(0, None, 2)) == some.without(slice(0, 0))
    assert found.without(slice(0, 0))["a"] == found.observed("minmax", "a")


def test_samples_that_reach_far_beyond_others_get_room(net):
    done = quantize_model(net, samples(12, 5, 0.6))
    assert done.options.room in ROOMS
    fresh = CandidateEvaluator(calibrate(net, samples(64, 6, 0.6)))
    close = Plan(net, done.plan.wide, Options(means=done.options.means))
    before, after = fresh.score(close, close.wide), fresh.score(done.plan, done.ranges)
    assert after.mean_db > before.mean_db + 1


def test_samples_that_reach_as_far_as_others_get_none(net):
    assert room_of(net, samples(32, 0, 0.0)) == 1.0
    assert room_of(net, samples(1, 0, 0.0)) == 1.0


def test_room_is_that_of_int8_and_ends_at_clamps(g):
    x = g.input("x", 1, 8)
    y = g.emit("FullyConnected", x, g.const(np.eye(8)), None, name="y", act_min=0.0, act_max=1.0)
    z = g.emit("FullyConnected", y, g.const(np.eye(8)), None, name="z", **OPEN)
    known = {"x": (-1.0, 1.0), "y": (0.0, 1.0), "z": (-1.0, 1.0)}
    q, _ = quantize_graph(g.output(z), known, Options(room=1.2))
    scales = {v.name: v.quant.scalar * 255 for v in q.values() if v.name in known}
    assert scales == pytest.approx({"x": 2.4, "y": 1.0, "z": 2.4}, rel=0.01)
    wide = quantize_graph(g.graph, known, Options(room=1.2, wide=frozenset("x")))[0]
    (x16,) = (v for v in wide.values() if v.name == "x")
    assert x16.quant.scalar * 32767 == pytest.approx(2.0)
