"""Channels scaled between tables, and through products with a gate."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.ir import Port
from edgekit.toolkit.quantize import calibrate, optimize, quantize_graph
from edgekit.toolkit.quantize.equalization.channel_statistics import ChannelStatistics
from edgekit.toolkit.quantize.equalization.cross_layer import equalized, find_exponents
from edgekit.toolkit.quantize.equalization.groups import find_equalization_groups
from edgekit.toolkit.quantize.equalization.noise_estimate import noise_estimates
from edgekit.toolkit.quantize.scheme.options import Options
from edgekit.toolkit.quantize.scheme.saturation import varying
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.verify import verify

from ..conftest import GraphMaker
from .test_cross_layer import (
    check_derived_calibration,
    check_known_statistics,
    exponents_of,
    samples,
    spread,
)

SIZES = np.exp2(np.array([0.0, -4, -3, -5, -1, -4, -2, -5]))
"""Of the channels in front of the first hardswish."""


def block(g, outputs):
    """A block of MobileNetV3: hardswish, depthwise, hardswish, squeeze and excite, pointwise."""
    x = g.input("x", 1, 8, 8, 3)
    a = g.emit("HardSwish", g.conv(x, 8, name="a"), name="a.act")
    b = g.emit("HardSwish", g.conv(a, 8, groups=8, name="b"), name="b.act")
    pooled = g.emit("AvgPool2d", b, name="pooled", kernel=(8, 8), stride=(1, 1), dilation=(1, 1),
                    pads=(0, 0, 0, 0), out_hw=(1, 1), count_include_pad=False)  # fmt: skip
    gate = g.emit("HardSigmoid", g.conv(pooled, 8, kernel=1, name="squeezed"), name="gate")
    gated = g.emit("Mul", b, gate, name="gated")
    graph = g.output(g.conv(gated, outputs, kernel=1, name="y"))
    for node in graph.nodes:
        if node.output.name == "a":
            spread(node, 40 * SIZES)
        if node.output.name == "b":
            spread(node, 1 / SIZES)
    return graph


@pytest.fixture
def swish(g):
    """With weights to which tables are little."""
    return block(g, 4096)


def ends(sites):
    return {
        s.name: ([n.output.name for n in s.readers], [v.name for v in s.looked_up]) for s in sites
    }


def test_sites_lie_between_weights_and_tables_and_reach_over_a_gate(swish):
    assert ends(find_equalization_groups(swish)) == {
        "a": ([], ["a"]), "a.act": (["b"], []),
        "b": ([], ["b"]), "b.act": (["squeezed", "y"], []),
        "squeezed": ([], ["squeezed"]),
    }  # fmt: skip


def test_what_a_graph_gives_or_a_gate_takes_is_no_site(swish):
    middle = {n.output.name: n.output for n in swish.nodes}
    swish.outputs.append(Port("a.act", middle["a.act"], 1, (1, 8, 8, 8)))
    found = ends(find_equalization_groups(swish))
    assert "a.act" not in found and "gate" not in found


def test_float_outputs_keep_their_bits(swish):
    exponents = {s.name: tuple(range(s.channels)) for s in find_equalization_groups(swish)}
    plain, alike = (Session(build_file(n)) for n in (swish, equalized(swish, exponents)))
    for sample in samples(1, 8, 8, 3, seed=6):
        seen = [{}, {}]
        for session, tensors in zip((plain, alike), seen, strict=True):
            session.run_layers(sample, lambda _, n, v, to=tensors: to.update({n: v.copy()}))
        assert np.array_equal(seen[0]["y"], seen[1]["y"])
        for name, exponent in exponents.items():
            scaled = seen[0][name] * np.exp2(np.float32(exponent))
            assert np.array_equal(scaled, seen[1][name])


def pool(g, op, x, **attrs):
    return g.emit(op, x, kernel=(3, 3), stride=(1, 1), dilation=(1, 1), pads=(1, 1, 1, 1),
                  out_hw=x.shape[1:3], **attrs)  # fmt: skip


def norm(g, x):
    return g.emit("LayerNorm", x, axes=(3,), epsilon=1e-5, centered=True)


def leaky_beside_a_table(g, x):
    v = g.conv(x, 8, name="v")
    return g.emit("LeakyRelu", v, alpha=0.1), g.emit("HardSwish", v)


def leaky_behind_a_table(g, x):
    v = g.emit("HardSwish", g.conv(x, 8), name="v")
    return v, g.emit("LeakyRelu", v, alpha=0.1)


def leaky_within_a_table(g, x):
    v = g.conv(x, 8, name="v")
    gate = g.emit("Sigmoid", g.emit("LeakyRelu", v, alpha=0.1))
    return g.emit("Mul", gate, v), g.emit("Tanh", pool(g, "MaxPool2d", v))


def doubled_beside_a_table(g, x):
    v = g.conv(x, 8, name="v")
    return norm(g, g.emit("Add", v, v)), g.emit("HardSwish", v)


def sum_of_what_tables_make(g, x):
    v = g.conv(x, 8, name="v")
    swish = g.emit("Mul", v, g.emit("Sigmoid", v))
    pooled = pool(g, "MaxPool2d", g.emit("LeakyRelu", swish, alpha=0.1))
    return norm(g, g.emit("Add", g.conv(x, 8), pooled)), v


def slopes_that_are_the_tensor(g, x):
    v = g.conv(x, 8, name="v")
    return norm(g, g.emit("Add", g.conv(x, 8), g.emit("PRelu", v, v))), v


def tables_of_tables(g, x):
    v = g.emit("HardSwish", g.conv(x, 8), name="v")
    return v, g.emit("Tanh", v), g.emit("Mul", v, g.emit("Sigmoid", v))


@pytest.mark.parametrize(
    "made",
    [
        leaky_beside_a_table, leaky_behind_a_table, leaky_within_a_table, doubled_beside_a_table,
        sum_of_what_tables_make, slopes_that_are_the_tensor, tables_of_tables,
    ],
)  # fmt: skip
def test_what_channels_pass_through_may_be_part_of_tables_too(g, made):
    graph = g.output(*(g.conv(v, 4, kernel=1) for v in made(g, g.input("x", 1, 5, 5, 3))))
    exponents = {s.name: tuple(range(s.channels)) for s in find_equalization_groups(graph)}
    assert "v" in exponents
    plain, alike = (Session(build_file(n)) for n in (graph, equalized(graph, exponents)))
    for sample in samples(1, 5, 5, 3, count=2):
        want, got = plain.run(sample), alike.run(sample)
        assert all(np.array_equal(want[name], got[name]) for name in want)


def test_names_that_are_taken_are_left_alone(g):
    a = g.conv(g.input("x", 1, 5, 5, 3), 8, name="a")
    act = g.emit("HardSwish", g.conv(a, 8, name="a.unscaled"), name="a.act")
    graph = g.output(g.conv(g.emit("HardSwish", a), 8), g.conv(act, 8))
    alike = equalized(graph, {s.name: tuple(range(8)) for s in find_equalization_groups(graph)})
    verify(alike, "equalized")
    assert {"a.unscaled", "a.unscaled_", "a.act.unscaled"} < {v.name for v in alike.values()}


def noise(graph, real):
    session, float_session = Session(build_file(graph)), Session(build_file(real))
    wrong = [session.run(s)["y"] - float_session.run(s)["y"] for s in samples(1, 8, 8, 3, seed=6)]
    return float(np.mean(np.square(wrong)))


def test_small_channels_of_a_hardswish_get_steps_of_their_own(swish):
    calibration = calibrate(swish, samples(1, 8, 8, 3))
    plain = quantize_graph(swish, calibration.extremes())[0]
    done = optimize(swish, calibration, "minmax", rounding="nearest")
    assert "a.act" in done.exponents
    assert noise(done.graph, swish) < noise(plain, swish) / 4
    tables = [n for n in done.graph.nodes if n.op == "Lut" and len(n.inputs) == 3]
    assert tables and all(1 < len(n.input(1).const) <= 8 for n in tables)


@pytest.mark.parametrize("outputs", [4, 4096])
def test_without_a_measurement_all_tables_are_made_that_may_be_worth_it(g, outputs):
    """To few weights tables are a lot: these are worth it if they make all the noise."""
    graph = block(g, outputs)
    channels = ChannelStatistics.of(graph, samples(1, 8, 8, 3))
    how = graph, channels.groups, channels.ranges()
    none, every = (find_exponents(*how, lambda tests, to=to: [to] * len(tests)) for to in (0, 1))
    assert find_exponents(*how, None) == every
    assert none.keys() < every.keys()


def test_scaled_tables_run_on_int16_and_in_float(swish):
    alike = equalized(swish, {"a": (0, 4, 3, 5, 1, 4, 2, 5), "a.act": (0, 3, 3, 3, 1, 3, 2, 3)})
    ranges = calibrate(alike, samples(1, 8, 8, 3)).extremes()
    plain = quantize_graph(swish, calibrate(swish, samples(1, 8, 8, 3)).extremes())[0]
    wide, _ = quantize_graph(alike, ranges, Options(wide=frozenset(["a", "a.act"])))
    assert next(n.input(0).dtype for n in wide.nodes if n.op == "Lut") == np.int16
    real, _ = quantize_graph(alike, ranges, Options(precision={"a": "float32", "a.act": "float32"}))
    assert max(noise(wide, swish), noise(real, swish)) < noise(plain, swish) / 4


def test_tables_behind_a_pool_count(g):
    x = g.conv(g.input("x", 1, 8, 8, 3), 8, name="a")
    spread(g.graph.nodes[-1], 40 * SIZES)
    act = g.emit("HardSwish", pool(g, "MaxPool2d", x))
    graph = g.output(g.conv(g.conv(act, 8, groups=8), 4096, kernel=1))
    assert max(exponents_of(graph, samples(1, 8, 8, 3))["a"]) > 1


def test_a_tensor_that_a_function_reads_twice_counts_once():
    """As a part of what readers with weights make: hardswish(x) of one operator, or of two."""
    losses = []
    for made in (
        lambda g, x: g.emit("HardSwish", x),
        lambda g, x: g.emit("Mul", x, g.emit("HardSigmoid", x, alpha=1 / 6, beta=0.5)),
    ):
        maker = GraphMaker()
        x = maker.conv(maker.input("x", 1, 8, 8, 3), 8)
        graph = maker.output(maker.conv(made(maker, x), 8), maker.conv(x, 8))
        seen = ChannelStatistics.of(graph, samples(1, 8, 8, 3))
        found = noise_estimates(graph, seen.groups, seen.ranges(), {})[0]
        losses += found.noises([np.exp2(np.arange(8.0))])
    assert losses[0] == pytest.approx(losses[1])


def test_slopes_of_tables_are_those_of_the_function():
    """Of a hardswish: (2 x + 3) / 6 between -3 and 3, 0 below and 1 above."""
    maker = GraphMaker()
    x = maker.input("x", 1, 40, 40, 8)
    a = maker.conv(x, 8, name="a")
    graph = maker.output(maker.conv(maker.emit("HardSwish", a, name="act"), 8))
    statistics = ChannelStatistics(graph)
    values = np.random.default_rng(3).normal(size=(1, 40, 40, 8)).astype(np.float32) * 3
    statistics("a", values)
    few = values.reshape(-1, 8)[::3].astype(np.float64)  # at most 500 positions of a sample
    slopes = np.where(np.abs(few) < 3, (2 * few + 3) / 6, few >= 3)
    np.testing.assert_allclose(
        statistics.ranges()["a"].slopes["act"], np.square(slopes).mean(axis=0), rtol=0.01
    )


def test_tables_are_not_multiplied_for_little(g):
    """Channels of one size gain next to nothing; nor are they where they outweigh the weights."""
    small = block(GraphMaker(), 4)
    assert exponents_of(small, samples(1, 8, 8, 3)) == {}

    x = g.input("x", 1, 8, 8, 3)
    a = g.emit("HardSwish", g.conv(x, 8, name="a"), name="a.act")
    b = g.conv(a, 8, kernel=1, name="b", act_min=0.0)
    graph = g.output(g.conv(b, 4, kernel=1, name="y"))
    spread(graph.nodes[2], SIZES)
    assert exponents_of(graph, samples(1, 8, 8, 3)).keys() == {"b"}


def test_an_activation_that_is_scaled_keeps_its_name(swish):
    alike = equalized(swish, {s.name: tuple(range(8)) for s in find_equalization_groups(swish)})
    ranges = calibrate(alike, samples(1, 8, 8, 3)).extremes()
    for precision in ({}, {"a.act": "float32"}):
        made, decisions = quantize_graph(alike, ranges, Options(precision=precision))
        assert [(d.node, d.op) for d in decisions] == [("a.act", "HardSwish")][: len(precision)]
        assert {"a", "a.act", "b", "b.act"} < {n.output.name for n in made.nodes}


def test_what_hardly_varies_is_narrowed_to_a_range():
    """Up to 0.3 steps, which is more than is seen, but not where both ends are compared with."""
    low, high = varying((0.0, 1.0), [(lambda x: 0.3 * x, 1.0)])
    assert 0 < low < high < 1


def test_statistics_of_tensors_that_keep_their_bits_are_those_made_anew(swish):
    check_known_statistics(swish)


@pytest.mark.parametrize("kept", [256, 12])
def test_the_calibration_of_scaled_tables_is_derived(swish, kept):
    check_derived_calibration(swish, samples(1, 8, 8, 3), kept)
