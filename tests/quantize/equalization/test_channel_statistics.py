"""Statistics of channels, collected while samples are calibrated or by a run of their own."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.ir import constant
from edgekit.toolkit.quantize import calibrate, float_source, optimize, quantize_model
from edgekit.toolkit.quantize.equalization.channel_statistics import ChannelStatistics
from edgekit.toolkit.quantize.equalization.cross_layer import find_exponents
from edgekit.toolkit.runtime import Session

from .test_cross_layer import samples, spread

CLAMP = {"act_min": 0.0, "act_max": np.inf}


@pytest.fixture
def net(g):
    """Channels of very different sizes, between weights and before a hardswish; large biases."""
    a = g.conv(g.input("x", 1, 8, 8, 3), 8, name="a", **CLAMP)
    b = g.conv(a, 8, groups=8, name="b")
    c = g.conv(g.emit("HardSwish", b, name="c"), 6, kernel=1, name="d", **CLAMP)
    graph = g.output(g.conv(c, 4, kernel=1, name="y"))
    for node in graph.nodes[:2]:
        spread(node, np.exp2(g.rng.uniform(-5, 1, 8)))
    return graph


def test_they_are_those_of_the_tensors_of_each_sample(net):
    given, tensors = samples(1, 8, 8, 3), []
    session = Session(build_file(net))
    for sample in given:
        found = {}
        session.run_layers(sample, lambda _, n, v, found=found: found.update({n: v.copy()}))
        tensors.append(found)
    channels = ChannelStatistics.of(net, given)
    for name in ("a", "d"):
        x = np.concatenate([found[name].reshape(-1, found[name].shape[-1]) for found in tensors])
        size = channels.ranges()[name]
        assert not size.low.any() and np.array_equal(size.high, x.max(axis=0))
        assert np.allclose(size.power, np.square(x, dtype=np.float64).mean(axis=0))
    assert channels.extremes({}).keys() == {"d"}  # "a" is padded, "b" has no ReLU
    ends = channels.extremes({"d": (1, 0, 0, 0, 0, 0)})["d"]
    assert np.array_equal(ends.low, x.min(axis=0) * [2, 1, 1, 1, 1, 1])
    assert np.array_equal(ends.high, x.max(axis=0) * [2, 1, 1, 1, 1, 1])


def test_calibration_collects_them_on_the_way(net):
    given = samples(1, 8, 8, 3)
    seen = ChannelStatistics(net)
    calibrate(net, given, also=seen)
    alone = ChannelStatistics.of(net, given)
    assert seen.ranges().keys() == alone.ranges().keys() > {"a", "b"}
    for name, size in alone.ranges().items():
        other = seen.ranges()[name]
        for x, y in ((size.low, other.low), (size.high, other.high), (size.power, other.power)):
            assert np.array_equal(x, y)
        assert size.slopes.keys() == other.slopes.keys()
        assert all(np.array_equal(size.slopes[k], other.slopes[k]) for k in size.slopes)


def test_a_quantization_needs_no_run_of_its_own_for_them(net, monkeypatch):
    given = samples(1, 8, 8, 3)
    apart = optimize(net, calibrate(net, given), rounding="nearest")
    monkeypatch.setattr(ChannelStatistics, "of", None)
    done = quantize_model(net, given, rounding="nearest")
    assert done.exponents and done.exponents == apart.exponents
    assert build_file(done.graph) == build_file(apart.graph)


def test_an_excluded_outlier_has_no_part_in_them(net, monkeypatch):
    given = samples(1, 8, 8, 3)
    outlier = {"x": given[0]["x"] * 100}
    seen, find = [], float_source.find_exponents
    monkeypatch.setattr(
        float_source,
        "find_exponents",
        lambda graph, groups, sizes, *a: seen.append(sizes) or find(graph, groups, sizes, *a),
    )
    assert quantize_model(net, [*given, outlier], rounding="nearest").outliers[0].index == 24
    high = ChannelStatistics.of(net, given).ranges()["a"].high
    assert np.array_equal(seen[0]["a"].high, high)


@pytest.mark.parametrize("count, exponents", [(32, [8, 0, 2, 8]), (3, [8, 0, 8, 8]), (64, [8] * 4)])
def test_channels_that_few_positions_show_are_scaled_up_by_little(g, count, exponents):
    x = g.input("x", 1, 1, 1, 4)
    identity = np.eye(4)[:, None, None]
    a = g.conv(x, 4, kernel=1, name="a", pads=(0,) * 4, **CLAMP)
    given = identity, np.zeros(4)
    g.graph.nodes[0].inputs[1:] = [constant(v.astype(np.float32), "c") for v in given]
    net = g.output(g.conv(a, 4, kernel=1, name="y", pads=(0,) * 4))
    rows = np.full((count, 4), 0.01, np.float32)
    rows[:, 0], rows[1:, 1], rows[4:, 2] = 1.0, 0.0, 0.0
    channels = ChannelStatistics.of(net, [{"x": row.reshape(x.shape)} for row in rows])
    size = channels.ranges()["a"]
    assert size.positions == count and size.active.tolist() == [count, 1, min(4, count), count]
    assert size.largest_exponents.tolist() == exponents
    (group,) = channels.groups
    (found,) = find_exponents(net, [group], channels.ranges(), lambda tests: []).values()
    assert found[0] == 0 and np.all(found <= size.largest_exponents) and found[3] > 2
