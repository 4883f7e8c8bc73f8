from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit import pipeline
from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.ir import Port, constant
from edgekit.toolkit.quantize import Options, calibrate, optimize, quantize_graph
from edgekit.toolkit.quantize.equalization import channel_statistics
from edgekit.toolkit.quantize.equalization.channel_factors import unscaled
from edgekit.toolkit.quantize.equalization.channel_statistics import ChannelStatistics
from edgekit.toolkit.quantize.equalization.cross_layer import (
    LARGEST,
    equalized,
    find_exponents,
    from_text,
    to_text,
)
from edgekit.toolkit.quantize.equalization.groups import find_equalization_groups, names_outside
from edgekit.toolkit.quantize.ranges.rescaled import rescaled
from edgekit.toolkit.quantize.weights.weight_quantizer import WeightFormat
from edgekit.toolkit.runtime import Session

CLAMP = {"act_min": 0.0, "act_max": np.inf}


def samples(*shape, count=24, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=shape).astype(np.float32)} for _ in range(count)]


def all_of_it(tests):
    """As if the rounded tensors of each test made all the noise."""
    return [passes(1.0) for _, passes in tests]


def exponents_of(graph, inputs, forms=None):
    channels = ChannelStatistics.of(graph, inputs)
    return find_exponents(graph, channels.groups, channels.ranges(), all_of_it, forms)


def spread(node, sizes):
    """Give the output channels of a node very different sizes, and the node itself back."""
    for at in (1, 2):
        v = node.inputs[at]
        shaped = sizes.reshape(-1, *[1] * (v.const.ndim - 1))
        node.inputs[at] = constant((v.const * shaped).astype(np.float32), v.name)


def state(stats):
    found, histogram = vars(stats).copy(), vars(stats.histogram).copy()
    return found | histogram | {"_histogram": None, "_counts": histogram["_counts"].tolist()}


def check_known_statistics(graph):
    """Scaled channels change no other tensor: what calibration knows of those holds."""
    inputs = samples(1, 8, 8, 3)
    before = calibrate(graph, inputs)
    exponents = exponents_of(graph, inputs)
    known = before.known(names_outside(graph, find_equalization_groups(graph), exponents))
    assert exponents and known.stats and len(known.stats) < len(before.stats)
    alike = equalized(graph, exponents)
    anew, reused = calibrate(alike, inputs), calibrate(alike, inputs, known=known)
    assert list(anew.stats) == list(reused.stats)
    for name, stats in anew.stats.items():
        assert state(stats) == state(reused.stats[name]), name
    assert anew.ends == reused.ends
    assert not calibrate(graph, inputs, kept=4).known(set(known.stats)).stats


def check_derived_calibration(graph, inputs, kept):
    """What calibration without histograms finds with scaled channels follows from what it found
    without: to the bit, and nothing runs."""
    channels = ChannelStatistics(graph, absorbs=False, returns=True)
    before = calibrate(graph, inputs, kept=kept, histograms=False, also=channels)
    exponents = find_exponents(graph, channels.groups, channels.ranges(), all_of_it)
    assert exponents and len(before.kept) == min(kept, len(inputs))
    alike, scales = equalized(graph, exponents), channels.scales(exponents)
    plain = unscaled(alike, {v.name for v in graph.values()})
    derived = rescaled(before, alike, scales, plain)
    anew = calibrate(alike, before.inputs, histograms=False)
    assert list(derived.stats) == list(anew.stats)
    for name, stats in anew.stats.items():
        assert vars(stats) == vars(derived.stats[name]), name
    assert derived.ends == anew.ends and derived.points == anew.points
    assert (derived.samples, derived.step) == (anew.samples, anew.step)
    assert (derived.one_sided, derived.least) == (anew.one_sided, anew.least)
    for a, b in zip(derived.kept, anew.kept, strict=True):
        assert a.energies == b.energies
        for x, y in ((a.inputs, b.inputs), (a.at_points, b.at_points), (a.means, b.means)):
            assert x.keys() == y.keys() and all(np.array_equal(x[n], y[n]) for n in x)

    for sample in before.kept:
        sample.channel_ends.clear()
    assert rescaled(before, alike, scales, plain) is None


@pytest.fixture
def net(g):
    """Depthwise, dense, grouped, transposed and fully connected readers, some through others."""
    x = g.input("x", 1, 8, 8, 3)
    a = g.conv(x, 8, name="a", **CLAMP)
    b = g.conv(a, 8, groups=8, name="b")
    p = g.emit("PRelu", b, g.const(np.full(8, 0.25)), name="p")
    m = g.emit(
        "MaxPool2d",
        p,
        name="m",
        kernel=(2, 2),
        stride=(2, 2),
        dilation=(1, 1),
        pads=(0, 0, 0, 0),
        out_hw=(4, 4),
    )
    c = g.conv(m, 8, groups=2, name="c", **CLAMP)
    clipped = g.conv(c, 6, kernel=4, pads=(0, 0, 0, 0), name="d", act_min=0.0, act_max=6.0)
    e = g.conv(clipped, 6, kernel=1, name="e", **CLAMP)
    flat = g.emit("Reshape", e, shape=(1, 6), name="flat")
    w = g.const(g.rng.normal(size=(5, 6)))
    y = g.emit("FullyConnected", flat, w, None, name="y", act_min=-np.inf, act_max=np.inf)
    graph = g.output(y, g.conv(c, 2, kernel=1, name="z"))
    for node in graph.nodes:
        if node.op == "Conv2d":
            spread(node, np.exp2(g.rng.uniform(-6, 2, len(node.input(1).const))))
    return graph


def test_sites_end_in_weights_only_and_have_no_finite_clamp(net):
    found = {s.name: [n.output.name for n in s.readers] for s in find_equalization_groups(net)}
    assert found == {"a": ["b"], "b": ["c"], "c": ["d", "z"], "e": ["y"]}


def test_float_outputs_keep_their_bits_and_tensors_are_scaled(net):
    exponents = exponents_of(net, samples(1, 8, 8, 3))
    assert exponents.keys() == {"a", "b", "c", "e"}
    plain, alike = (Session(build_file(n)) for n in (net, equalized(net, exponents)))
    for sample in samples(1, 8, 8, 3, seed=6):
        tensors = [{}, {}]
        for session, seen in zip((plain, alike), tensors, strict=True):
            session.run_layers(sample, lambda _, n, v, seen=seen: seen.update({n: v.copy()}))
        for name in ("y", "z", "d"):
            assert np.array_equal(tensors[0][name], tensors[1][name])
        for name in exponents:
            s = np.exp2(np.float32(exponents[name]))
            assert np.array_equal(tensors[0][name] * s, tensors[1][name])


def test_nothing_runs_where_there_is_no_site(g, monkeypatch):
    x = g.input("x", 1, 4, 4, 3)
    graph = g.output(g.conv(x, 4, name="y"))
    monkeypatch.setattr(channel_statistics, "open_once", None)
    assert exponents_of(graph, samples(1, 4, 4, 3)) == {}


def test_channels_that_depthwise_weights_read_become_alike(net):
    exponents = np.array(exponents_of(net, samples(1, 8, 8, 3))["a"])
    assert exponents.min() == 0 and 1 < exponents.max() <= LARGEST
    alike, peaks = equalized(net, {"a": tuple(exponents)}), np.zeros(8)
    session = Session(build_file(alike))

    def see(_, name, array):
        if name == "a":
            np.maximum(peaks, np.abs(array).max(axis=(0, 1, 2)), out=peaks)

    for sample in samples(1, 8, 8, 3):
        session.run_layers(sample, see)
    assert np.all((peaks > peaks.max() / 2.001) | (exponents == LARGEST))


@pytest.mark.parametrize("observer", ["auto", "minmax"])
def test_it_is_taken_where_the_outputs_gain(net, observer):
    calibration = calibrate(net, samples(1, 8, 8, 3))
    done = optimize(net, calibration, observer)
    assert done.exponents and done.floats is not net and done.samples == 24
    again = optimize(net, calibration, observer)
    assert build_file(done.graph) == build_file(again.graph)


@pytest.fixture
def encoder(g):
    """A table of rows and positions, normalized; a layer around it, normalized; and another."""
    at, channels = g.input("x", 6), 16
    ids = g.emit("Cast", at, to=np.dtype(np.int32), name="ids")
    rows = g.emit("Gather", g.const(g.rng.normal(size=(9, channels))), ids, axis=0, name="rows")
    p = g.emit("Add", rows, g.const(g.rng.normal(size=(6, channels)) * 0.1), name="p")

    def dense(x, n, name, **attrs):
        w, b = g.const(g.rng.normal(size=(n, x.shape[-1])) * 0.3), g.const(g.rng.normal(size=n))
        return g.emit("FullyConnected", x, w, b, name=name, **attrs)

    def norm(x, name, *scale):
        attrs = {"axes": (1,), "epsilon": 1e-5, "centered": True}
        return g.emit("LayerNorm", x, *scale, name=name, **attrs)

    n = norm(p, "n", g.const(g.rng.uniform(0.5, 2, channels)), g.const(g.rng.normal(size=channels)))
    inner = g.emit("Gelu", dense(n, 32, "wide"), name="gelu")
    m = norm(g.emit("Add", dense(inner, channels, "narrow"), n, name="sum"), "m")
    graph = g.output(dense(m, 5, "y"))
    for name, at_channel in (("rows", 2), ("narrow", 7)):  # one channel much larger than all others
        node = next(node for node in graph.nodes if node.output.name == name)
        sizes = np.where(np.arange(channels) == at_channel, 40.0, 1.0)
        for i in (0,) if name == "rows" else (1, 2):
            v = node.inputs[i]
            by = sizes if i != 1 else sizes[:, None]
            node.inputs[i] = constant((v.const * by).astype(np.float32), v.name)
    return graph


def ids(seed, count=24):
    rng = np.random.default_rng(seed)
    return [{"x": rng.integers(0, 9, 6).astype(np.float32)} for _ in range(count)]


def test_sites_reach_over_sums_to_a_normalization(encoder):
    found = {
        s.name: ([n.output.name for n in s.makers], [n.output.name for n in s.readers])
        for s in find_equalization_groups(encoder)
    }
    assert found == {
        "rows": (["rows"], ["n"]), "n": (["n", "narrow"], ["wide", "m"]), "m": (["m"], ["y"]),
        "wide": (["wide"], []), "gelu": (["gelu"], ["narrow"]),
    }  # fmt: skip
    encoder.outputs.append(Port("p", encoder.nodes[2].output, 1, (6, 16)))
    assert "rows" not in [s.name for s in find_equalization_groups(encoder)]


def test_normalizations_take_channels_back_to_the_bit(encoder):
    exponents = exponents_of(encoder, ids(5))
    assert exponents["rows"][2] == 0 and min(exponents["rows"]) == 0 < np.median(exponents["rows"])
    assert exponents["n"][7] == 0 < np.median(exponents["n"])
    plain, alike = (Session(build_file(n)) for n in (encoder, equalized(encoder, exponents)))
    for sample in ids(6):
        assert np.array_equal(plain.run(sample)["y"], alike.run(sample)["y"])


def test_sums_of_sums_take_no_longer_than_there_are_sums(g):
    x = g.emit("FullyConnected", g.input("x", 6, 16), g.const(g.rng.normal(size=(16, 16))))
    for _ in range(40):
        x = g.emit("Add", x, x)
    n = g.emit("LayerNorm", x, axes=(1,), epsilon=1e-5, centered=True)
    graph = g.output(g.emit("FullyConnected", n, g.const(g.rng.normal(size=(5, 16)))))
    assert [len(s.sums) for s in find_equalization_groups(graph)] == [40, 0]
    exponents_of(graph, samples(6, 16, count=1))


def test_an_outlier_channel_in_front_of_a_normalization_costs_no_steps(encoder):
    done = optimize(encoder, calibrate(encoder, ids(5)), "minmax")
    assert {"rows", "n"} <= done.exponents.keys()
    noise = []
    for graph in (quantize_graph(encoder, calibrate(encoder, ids(5)).extremes())[0], done.graph):
        session, real = Session(build_file(graph)), Session(build_file(encoder))
        wrong = [session.run(s)["y"] - real.run(s)["y"] for s in ids(6)]
        noise.append(float(np.mean(np.square(wrong))))
    assert noise[1] < noise[0] / 4


def test_scaled_channels_have_room_on_int16(encoder):
    exponents = exponents_of(encoder, ids(5))
    alike = equalized(encoder, {n: (6,) * 15 + (0,) for n, e in exponents.items() if len(e) == 16})
    ranges = calibrate(alike, ids(5)).extremes()
    made, decisions = quantize_graph(alike, ranges, Options(wide=frozenset(["p", "sum"])))
    norms = [n for n in made.nodes if n.op == "LayerNorm"]
    assert {n.input(0).dtype for n in norms} == {np.dtype(np.int16)}
    assert not [d for d in decisions if d.op == "LayerNorm"]


def test_exponents_as_text():
    exponents = {"a": (0, 3, 8), "features.1/Relu:0": (1,) * 64}
    assert from_text(to_text(exponents)) == exponents
    for text in ("", "!", "AAAA", to_text(exponents)[:-8]):
        with pytest.raises(ValueError, match="not the exponents of an equalization"):
            from_text(text)


def test_exponents_of_another_model_are_refused(net):
    for wrong in ({"d": (0,) * 6}, {"a": (0,) * 7}, {"nothing": (0,)}):
        with pytest.raises(ValueError, match="is not a tensor of"):
            equalized(net, wrong)


def onnx_net(path, seed=3):
    """conv -> relu -> depthwise conv -> conv, the first one's channels very different in size."""
    rng, weights, nodes, y = np.random.default_rng(seed), [], [], "x"
    for i, (cout, cin, group) in enumerate([(8, 3, 1), (8, 1, 8), (4, 8, 1)]):
        w = rng.normal(size=(cout, cin, 3, 3)) * 0.3
        if i == 0:
            w *= np.exp2(rng.uniform(-6, 0, (cout, 1, 1, 1)))
        weights.append(numpy_helper.from_array(w.astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("Conv", [y, f"w{i}"], [f"c{i}"], group=group, pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        y = f"r{i}"
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 3, 8, 8]), (y, [1, 4, 8, 8]))
    ]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_layers_are_compared_with_the_equalized_float_model(tmp_path):
    model, calib = onnx_net(tmp_path / "m.onnx"), samples(1, 3, 8, 8)
    done = pipeline.quantize(model, calib, report=tmp_path / "r.html")
    assert '"equalized"' in pipeline.read((tmp_path / "m.edge").read_bytes()).provenance.options
    found = pipeline.check(done.output, model, samples(1, 3, 8, 8, seed=6), layers=True)
    sqnr = {layer.name: layer.sqnr_db for layer in found.layers}
    assert min(sqnr[name] for name in ("r0", "r1", "r2")) > 30, sqnr


def test_a_float_model_of_other_channels_is_refused(tmp_path):
    model, calib = onnx_net(tmp_path / "m.onnx"), samples(1, 3, 8, 8)
    done = pipeline.quantize(model, calib)
    other = onnx.load(model)
    for node in other.graph.node:
        node.output[:] = [n.replace("r0", "q0") for n in node.output]
        node.input[:] = [n.replace("r0", "q0") for n in node.input]
    onnx.save(other, tmp_path / "other.onnx")
    with pytest.raises(UserError, match=r"'r0' is not a tensor of 8 channels.*omit --layers"):
        pipeline.check(done.output, tmp_path / "other.onnx", calib, layers=True)


def test_a_normalization_may_have_its_scale_in_any_shape(encoder):
    norms = [n for n in encoder.nodes if n.op == "LayerNorm"]
    scale = norms[0].input(1)
    norms[0].inputs[1] = constant(scale.const.reshape(1, -1), scale.name)
    assert "n" in exponents_of(encoder, ids(5))


def test_weights_of_4_bits_are_not_made_uneven_for_their_inputs(g):
    x = g.input("x", 1, 8, 8, 3)
    a = g.conv(x, 16, name="a", **CLAMP)
    graph = g.output(g.conv(a, 8, kernel=1, name="b"))
    spread(graph.nodes[0], np.exp2(g.rng.uniform(-5, 0, 16)))
    seen, four = samples(1, 8, 8, 3), {"b": WeightFormat(4)}
    wide, narrow = (exponents_of(graph, seen, f) for f in (None, four))
    assert sum(narrow.get("a", ())) < sum(wide["a"])
    session, noise = Session(build_file(graph)), []
    for exponents in (wide, narrow):
        alike = equalized(graph, exponents)
        options = Options(precision={"b": "int4"})
        made = quantize_graph(alike, calibrate(alike, seen).extremes(), options)[0]
        other, fresh = Session(build_file(made)), samples(1, 8, 8, 3, seed=6)
        wrong = [other.run(s)["b"] - session.run(s)["b"] for s in fresh]
        noise.append(float(np.mean(np.square(wrong))))
    assert noise[1] < 0.8 * noise[0]


def test_statistics_of_tensors_that_keep_their_bits_are_those_made_anew(net):
    check_known_statistics(net)


@pytest.mark.parametrize("kept", [256, 12])
def test_the_calibration_of_scaled_channels_is_derived(net, kept):
    check_derived_calibration(net, samples(1, 8, 8, 3), kept)


def test_the_calibration_in_front_of_normalizations_is_derived(encoder):
    check_derived_calibration(encoder, ids(5), 256)
