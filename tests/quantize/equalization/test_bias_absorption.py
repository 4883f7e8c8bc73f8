from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit import pipeline
from edgekit.toolkit.build import build_file
from edgekit.toolkit.ir import constant
from edgekit.toolkit.quantize import calibrate, float_source
from edgekit.toolkit.quantize.equalization import channel_statistics, cross_layer, groups
from edgekit.toolkit.quantize.equalization.bias_absorption import (
    ChannelExtremes,
    absorbed,
    find_absorption_groups,
    find_shifts,
    from_text,
    shift_of,
)
from edgekit.toolkit.quantize.equalization.channel_statistics import LEAST, ChannelStatistics
from edgekit.toolkit.quantize.optimize import optimize
from edgekit.toolkit.quantize.ranges.noise_shares import NoiseShares
from edgekit.toolkit.runtime import Session

CLAMP = {"act_min": 0.0, "act_max": np.inf}
PLAIN = {"kernel": 1, "pads": (0, 0, 0, 0)}
LIFT = np.array([60.0, 0, 0, 50.0, 0, 0, 0, 56.0])
"""What the bias of each channel has beside what the weights make."""


def samples(*shape, count=24, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": rng.uniform(-1, 1, size=shape).astype(np.float32)} for _ in range(count)]


def shifts_of(graph, inputs):
    return find_shifts(graph, ChannelStatistics.of(graph, inputs).extremes({}))


def lifted(node, lift=LIFT):
    """Give a node these biases, and the nodes that read it none of it."""
    bias = node.inputs[2]
    node.inputs[2] = constant((bias.const + lift).astype(np.float32), bias.name)


@pytest.fixture
def net(g):
    """A convolution with three large biases, read through a pool, by 1x1, and in the end by Add."""
    x = g.input("x", 1, 8, 8, 3)
    a = g.conv(x, 8, name="a", **CLAMP)
    pool = {"kernel": (2, 2), "stride": (2, 2), "dilation": (1, 1), "out_hw": (4, 4)}
    m = g.emit("AvgPool2d", a, name="m", pads=(0, 0, 0, 0), count_include_pad=False, **pool)
    b = g.conv(m, 8, name="b", groups=8, **PLAIN, **CLAMP)
    c = g.conv(m, 6, name="c", **PLAIN)
    padded = g.conv(b, 6, name="d", **CLAMP)
    clipped = g.conv(padded, 6, name="e", **PLAIN, act_min=0.0, act_max=6.0)
    f = g.conv(clipped, 6, name="f", **PLAIN, **CLAMP)
    graph = g.output(g.emit("Add", f, c, name="y", act_min=-np.inf, act_max=np.inf))
    lifted(next(n for n in graph.nodes if n.output.name == "a"))
    for node in graph.nodes:
        if node.output.name in ("b", "c"):
            taken = node.input(1).const.reshape(len(node.input(1).const), -1) * LIFT
            if node.output.name == "b":
                taken = node.input(1).const.reshape(8, 1) * LIFT[:, None]
            lifted(node, -taken.sum(axis=1))
    return graph


def test_sites_are_relus_whose_readers_pad_nothing(net):
    found = {s.name: [n.output.name for n in s.readers] for s in find_absorption_groups(net)}
    assert found == {"a": ["b", "c"], "d": ["e"], "e": ["f"]}


def test_the_lifted_channels_come_down_to_the_others(net):
    shifts = shifts_of(net, samples(1, 8, 8, 3))
    assert shifts.keys() <= {"a", "d", "e"}
    shift = np.array(shifts["a"])
    assert np.array_equal(shift > 0, LIFT > 0) and np.all(np.abs(shift - LIFT)[LIFT > 0] < 8)


def seen(graph, sample):
    tensors = {}
    Session(build_file(graph)).run_layers(sample, lambda _, n, v: tensors.update({n: v.copy()}))
    return tensors


def test_float_outputs_stay_and_tensors_are_lowered(net):
    given = samples(1, 8, 8, 3)
    shifts = shifts_of(net, given)
    lower = absorbed(net, shifts)
    for sample in given:
        plain, low = seen(net, sample), seen(lower, sample)
        assert np.allclose(plain["y"], low["y"], atol=2e-5)
        assert np.allclose(plain["a"] - np.float32(shifts["a"]), low["a"], atol=2e-5)


def test_tensors_outside_the_groups_keep_their_values(net):
    given = samples(1, 8, 8, 3)
    shifts = shifts_of(net, given)
    same = groups.names_outside(net, find_absorption_groups(net), shifts)
    assert {"x", "b", "c", "y"} <= same and not same & {"a", "m"}
    plain, low = seen(net, given[0]), seen(absorbed(net, shifts), given[0])
    for name in same & plain.keys():
        assert np.allclose(plain[name], low[name], atol=2e-5), name


def test_a_channel_that_the_clamp_cut_is_left(g):
    x = g.input("x", 1, 4, 4, 3)
    a = g.conv(x, 2, name="a", act_min=0.0, act_max=6.0)
    graph = g.output(g.conv(a, 2, name="y", **PLAIN))
    lifted(graph.nodes[0], np.array([5.9, 0.0]))
    assert find_absorption_groups(graph) and not shifts_of(graph, samples(1, 4, 4, 3))
    lifted(graph.nodes[0], np.array([-2.5, 0.0]))
    assert shifts_of(graph, samples(1, 4, 4, 3))


@pytest.mark.parametrize("positions, low", [(8, 40.0), (64, 40.0), (640, 49.0)])
def test_minima_of_few_positions_have_a_margin(positions, low):
    ends = ChannelExtremes(np.array([50.0, 0.0]), np.array([60.0, 1.0]), positions)
    shift = shift_of(ends.with_margin(), np.inf)
    assert ends.with_margin().low[0] == low
    assert shift.tolist() == [low, 0.0]


def test_nothing_runs_where_there_is_no_site(g, monkeypatch):
    x = g.input("x", 1, 4, 4, 3)
    graph = g.output(g.conv(g.conv(x, 4, name="a", **CLAMP), 2, name="y"))
    monkeypatch.setattr(channel_statistics, "open_once", None)
    monkeypatch.setattr(channel_statistics, "find_equalization_groups", lambda _: [])
    assert shifts_of(graph, samples(1, 4, 4, 3)) == {}


def test_a_few_samples_show_that_nothing_can_be_lowered(net, monkeypatch):
    seen, extremes = [], channel_statistics.channel_extremes
    monkeypatch.setattr(
        channel_statistics, "channel_extremes", lambda x: seen.append(x.shape[-1]) or extremes(x)
    )
    monkeypatch.setattr(channel_statistics, "find_equalization_groups", lambda _: [])
    assert shifts_of(net, samples(1, 8, 8, 3)) and seen.count(8) == 24
    seen.clear()
    lifted(next(n for n in net.nodes if n.output.name == "a"), -LIFT)
    assert not shifts_of(net, samples(1, 8, 8, 3)) and seen.count(8) == LEAST


def test_shifts_of_scaled_channels_follow_from_the_statistics_before(net):
    given = samples(1, 8, 8, 3)
    exponents = {"a": (3, 0, 1, 0, 0, 2, 0, 0), "d": (0, 1, 2, 0, 0, 0)}
    alike, before = cross_layer.equalized(net, exponents), ChannelStatistics.of(net, given)
    shifts = shifts_of(alike, given)
    assert shifts and shifts != shifts_of(net, given)
    assert find_shifts(alike, before.extremes(exponents)) == shifts


def test_nothing_is_absorbed_where_its_tensors_make_little_of_the_noise(net, monkeypatch):
    """An error of a tenth of the noise is worth less than the gain that is asked for."""
    found = calibrate(net, samples(1, 8, 8, 3))
    for share, absorbs in ((0.1, False), (0.12, True)):
        monkeypatch.setattr(
            NoiseShares, "__call__", lambda _, tests, share=share: [p(share) for _, p in tests]
        )
        assert bool(optimize(net, found, "minmax", rounding="nearest").shifts) is absorbs


@pytest.mark.parametrize("observer", ["auto", "minmax"])
def test_it_is_taken_where_the_outputs_gain(net, observer, monkeypatch):
    calibration, fresh = calibrate(net, samples(1, 8, 8, 3)), samples(1, 8, 8, 3, seed=8)
    done = optimize(net, calibration, observer, rounding="nearest")
    assert done.shifts and done.floats is not net
    assert not optimize(net, calibration, observer, effort="fast").shifts
    monkeypatch.setattr(float_source, "find_shifts", lambda *_: {})
    without = optimize(net, calibration, observer, rounding="nearest")
    assert not without.shifts

    def noise(graph):
        exact, rounded = Session(build_file(net)), Session(build_file(graph))
        return sum(float(((exact.run(s)["y"] - rounded.run(s)["y"]) ** 2).sum()) for s in fresh)

    assert 10 * np.log10(noise(without.graph) / noise(done.graph)) > 5


def test_shifts_as_text():
    shifts = {"a": (0.0, float(np.float32(0.1)), 28.5)}
    assert from_text(cross_layer.to_text(shifts)) == shifts
    for text in ("", "!", "AAAA"):
        with pytest.raises(ValueError, match="not the shifts of an absorption"):
            from_text(text)


def test_shifts_of_another_model_are_refused(net):
    for wrong in ({"b": (0.0,) * 8}, {"a": (0.0,) * 7}, {"nothing": (0.0,)}):
        with pytest.raises(ValueError, match="is not a tensor of"):
            absorbed(net, wrong)


def test_layers_are_compared_with_the_lowered_float_model(tmp_path):
    rng, model = np.random.default_rng(3), tmp_path / "m.onnx"
    lift = np.array([30, 0, 0, 0], np.float32)
    w0 = (rng.normal(size=(4, 3, 3, 3)) * 0.1).astype(np.float32)
    w1 = (rng.normal(size=(4, 4, 1, 1)) * 0.5).astype(np.float32)
    b1 = -w1[:, :, 0, 0] @ lift
    weights = {"w0": w0, "b0": lift, "w1": w1, "b1": b1}
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1] * 4),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1", "b1"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, c, 8, 8])
        for name, c in (("x", 3), ("y", 4))
    ]
    held = [numpy_helper.from_array(v, k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], held)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), model)
    done = pipeline.quantize(model, samples(1, 3, 8, 8), report=tmp_path / "r.html")
    assert '"absorbed"' in pipeline.read((tmp_path / "m.edge").read_bytes()).provenance.options
    found = pipeline.check(done.output, model, samples(1, 3, 8, 8, seed=6), layers=True)
    sqnr = {layer.name: layer.sqnr_db for layer in found.layers}
    assert sqnr["r0"] > 40 and sqnr["y"] > 25, sqnr
