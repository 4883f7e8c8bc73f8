"""Causes that were planted are named, and the numbers are those of an independent simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.accuracy import causes, explain
from edgekit.toolkit.accuracy.activation_statistics import ActivationStatistics
from edgekit.toolkit.accuracy.causes import Layer, coarse_steps, narrow, uneven_channels
from edgekit.toolkit.accuracy.explanation import Explanation
from edgekit.toolkit.accuracy.formatting import costs, main_cause, parts
from edgekit.toolkit.accuracy.layer_statistics import LayerStatistics
from edgekit.toolkit.accuracy.rounding_simulation import Rounding
from edgekit.toolkit.accuracy.simulated_model import simulated_model_of
from edgekit.toolkit.build import build_file
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.quantize import Options, quantize_graph

from .nets import FLOAT, LIMITS, Net, fully_connected, layer, residual_sum


def test_a_well_quantized_net_has_nothing_worse_than_its_bits():
    told = Net().explained()
    assert told.sqnr_db > 35 and told.samples == 16
    assert {c.cause for c in told.layers} <= {
        "coarse steps", "weight rounding", "from earlier layers", None,
    }  # fmt: skip
    assert sum(c.share for c in told.layers) == pytest.approx(1)


def test_an_outlier_channel_is_named():
    net = Net()
    net.first[5] *= 100
    net.first_bias[5] *= 100
    net.second[:, 5] /= 100
    told = net.explained()
    worst = layer(told, "a")
    assert told.worst()[0] is worst and worst.cause == "outlier channel"
    assert "channel 5 " in worst.seen and worst.outlier_ratio > 20 and worst.share > 0.8
    assert worst.gain_db > 10
    assert worst.local_db > 25, "at its own output the large channel hides it"


def test_words_say_how_16_bits_are_had_where_they_help_and_only_there():
    net = Net()
    net.first[5] *= 100
    net.second[:, 5] /= 100
    told = net.explained()
    assert "16-bit" in told.worst()[0].advice and "--min-sqnr" in costs(told)[-1]
    calm = replace(told, layers=[replace(c, advice="") for c in told.layers], worst_int16_db=None)
    assert len(costs(calm)) == len(calm.worst())


@pytest.mark.parametrize(("weights", "cancel"), [(25.0, False), (20.0, True)])
def test_words_say_that_errors_cancel_where_a_part_is_noisier_than_the_whole(weights, cancel):
    words = parts(Explanation(8, 8, 8, 24.0, weights, 26.0, []))
    assert words.startswith(f"weights only {weights} dB, activations only 26.0 dB")
    assert ("cancel" in words) == cancel


@pytest.mark.parametrize(("share", "named"), [(0.5, True), (0.04, False), (0.001, None)])
def test_a_layer_is_the_cause_if_it_makes_much_of_the_error(share, named):
    told = Net().explained()
    worst = replace(told.worst()[0], share=share)
    found = main_cause(replace(told, layers=[worst]))
    assert bool(found) == (named is not None)
    if found:
        assert f"'{worst.name}'" in found[0] and found[0].startswith("no single") == (not named)


def test_the_gain_promised_for_equalizing_is_there():
    net = Net()
    net.first[5] *= 64
    net.first_bias[5] *= 64
    net.second[:, 5] /= 64
    before = net.explained()
    net.first[5] /= 64
    net.first_bias[5] /= 64
    net.second[:, 5] *= 64
    gained = net.explained().sqnr_db - before.sqnr_db
    assert layer(before, "a").gain_db == pytest.approx(gained, abs=1.5) and gained > 10


@pytest.mark.parametrize("ahead", [0.0, 6.0, 60.0])
def test_a_gain_is_over_the_file_where_its_errors_cancel(monkeypatch, ahead):
    """Ranges that were searched make a file better than its roundings, which any remedy ends."""
    net = Net()
    net.first[5] *= 64
    net.second[:, 5] /= 64
    before = layer(net.explained(), "a")
    ordinary = ActivationStatistics.__init__

    def with_luck(self, *words):
        ordinary(self, *words)
        file = self.scores["file"]
        self.scores["file"] = replace(file, noise=file.noise * 10 ** (-ahead / 10))

    monkeypatch.setattr(ActivationStatistics, "__init__", with_luck)
    told = net.explained()
    after = layer(told, "a")
    assert after.cause == before.cause == "outlier channel"
    if ahead < before.gain_db:
        assert after.gain_db == pytest.approx(before.gain_db - ahead, abs=0.3)
    else:
        assert after.gain_db is None and told.worst_int16_db is None
        assert after.advice == "changing this layer alone brings no measurable gain"


def test_where_one_remedy_is_no_certain_gain_the_other_is_told_with_its_own(monkeypatch):
    net = Net()
    net.first[5] *= 100
    net.second[:, 5] /= 100
    equalized = causes._equalized

    def helps_alone(layer, everything):
        return everything if len(everything.tensors) > 1 else equalized(layer, everything)

    monkeypatch.setattr(causes, "_equalized", helps_alone)
    worst = net.explained().worst()[0]
    assert (worst.name, worst.cause) == ("a", "outlier channel")
    assert worst.advice == "16-bit activations here" and worst.gain_db > 10


@pytest.mark.parametrize("seed", [0, 1])
def test_terms_of_a_sum_that_gain_together_only_are_told_so_with_what_is_there(seed):
    graph, ranges, samples = residual_sum(np.random.default_rng(seed))

    def on_16_bits(*names):
        wide = Options(search_scales=True, wide=frozenset(names))
        return explain(build_file(quantize_graph(graph, ranges, wide)[0]), graph, samples)

    told = on_16_bits()
    alone = [c for c in told.worst() if c.advice.startswith("16-bit activations here and")]
    assert alone, "errors of the other term outweigh a gain"
    for cost in alone:
        names = {c.name for c in told.worst() if f"'{c.name}'" in cost.advice}
        assert {cost.name} | names == {"a", "b", "s"} and cost.advice.endswith("(one residual sum)")
        together = on_16_bits("a", "b", "s").sqnr_db - told.sqnr_db
        assert on_16_bits(cost.name).sqnr_db - told.sqnr_db < together / 10
        assert cost.gain_db == pytest.approx(together, abs=1) and together > 10


@pytest.mark.parametrize("named", [coarse_steps, uneven_channels, narrow])
def test_what_is_on_16_bits_is_not_told_to_take_16_bits(named):
    for quant, told in ((QuantParams((0.1,)), True), (QuantParams.int16(0.1), False)):
        statistics = LayerStatistics(quant, (1, 4))
        statistics.add(np.array([[0.1, 0.2, 0.1, 12]], np.float32))
        cause = (
            named(Layer("a", statistics, {}, {}), False) if named is narrow else named(statistics)
        )
        assert ("16-bit" in cause.advice, "float" in cause.advice) == (told, not told)


def test_a_dead_channel_that_takes_the_range_is_named():
    net = Net()
    net.first[9], net.first_bias[9] = 0, 80.0
    net.second[:, 9] = 0
    told = net.explained()
    worst = told.worst()[0]
    assert (worst.name, worst.cause) == ("a", "dead channel")
    assert worst.dead_channels == 1 and "channel 9 " in worst.seen
    net.first_bias[9] = 0
    gained = net.explained().sqnr_db - told.sqnr_db
    assert worst.gain_db == pytest.approx(gained, abs=1.5) and gained > 10


def test_a_tensor_that_never_varies_has_no_dead_channel_among_others():
    net = Net()
    net.first[:], net.second[:] = 0, net.second[:] * 30
    net.first_bias[:] = np.linspace(-0.3, 0.35, 32)
    net.first_bias[4] = 30.0
    net.second[:, 4] = 0
    told = net.explained()
    worst = told.worst()[0]
    assert (worst.name, worst.cause) == ("a", "constant tensor") and worst.dead_channels == 32
    assert "no channel varies over 16 samples (values -0.3 to 30)" in worst.seen
    assert worst.gain_db > 10


def test_of_one_sample_nothing_is_known_to_be_constant():
    net = Net()
    net.first[5] *= 100
    net.first_bias[5] *= 100
    net.second[:, 5] /= 100
    net.samples = net.samples[:1]
    told = net.explained()
    assert {c.dead_channels for c in told.layers} == {0}
    assert not {c.cause for c in told.layers} & {"dead channel", "constant tensor"}


@pytest.mark.parametrize(("shape", "beyond"), [((4, 3, 2), 2), ((12, 2), 2), ((1, 24), 4)])
def test_samples_beyond_the_range_are_counted_each_of_a_batch(shape, beyond):
    x = np.zeros((4, 6), np.float32)
    x[1, 2:4] = x[3, 5] = 9.0
    statistics = LayerStatistics(QuantParams((1 / 127,), 0), shape, 4)
    statistics.add(x.reshape(shape))
    assert (statistics.samples, statistics.clipping_samples) == (4, beyond)


def test_a_rounding_bias_is_named():
    """Weights 0.4 of a step above the grid, all alike, meet inputs that are all near 1."""
    net = Net()
    rng = np.random.default_rng(8)
    step = 1 / 127
    net.first = (rng.integers(-60, 60, (32, 32)) + 0.4) * step
    net.first[:, 0] = 1.0
    net.samples = [
        {"x": (1 + rng.normal(size=(1, 32)) * 0.3).astype(np.float32)} for _ in range(40)
    ]
    graph, ranges = net.graph(), net.seen()
    quantized, _ = quantize_graph(graph, ranges)
    told = explain(build_file(quantized), graph, net.samples[:16])
    worst = told.worst()[0]
    assert (worst.name, worst.cause) == ("a", "rounding bias") and worst.gain_db > 1
    assert worst.local_weights_db < worst.local_activations_db


def test_a_bias_that_makes_up_for_clipping_is_no_rounding_bias():
    net = Net()
    net.first_bias += 1.0
    graph, ranges = net.graph(), net.seen()
    top = 0.4 * ranges["a"][1]
    ranges["a"] = (ranges["a"][0], top)
    a = np.concatenate([s["x"] for s in net.samples]) @ net.first.T + net.first_bias
    lost = (a - np.minimum(a, top)).mean(axis=0)
    made = net.graph()
    made.nodes[1].inputs[2] = constant((net.second @ lost).astype(np.float32), "b.b")
    quantized, _ = quantize_graph(made, ranges)
    told = explain(build_file(quantized), graph, net.samples, unseen=False)
    worst = told.worst()[0]
    assert (worst.name, worst.cause) == ("a", "clipped range") and worst.share > 0.9
    assert told.weights_only_db > 35 and "rounding bias" not in {c.cause for c in told.layers}


def test_a_rounding_bias_is_taken_from_the_bias_that_the_network_has():
    statistics = LayerStatistics(QuantParams((1 / 127,), 0), (4, 2))
    x = np.random.default_rng(2).uniform(-1, 1, (4, 2)).astype(np.float32)
    statistics.add(x, x + np.float32(0.25))
    layer = Layer("a", statistics, {1: np.eye(2), 2: np.zeros(2)}, {})
    for constants, bias in (({}, 0.0), ({"a": {2: np.full(2, 3.0)}}, 3.0)):
        tried = causes.remedies(layer, Rounding(frozenset("a"), constants=constants))
        mended = next(r for cause, r in tried if cause.name == "rounding bias").constants["a"]
        assert np.allclose(mended[2], bias - 0.25) and np.array_equal(mended[1], np.eye(2))


def test_a_range_taken_over_from_a_concat_is_named():
    rng = np.random.default_rng(4)
    x = Value("x", TensorType(FLOAT, (1, 16)))
    small = fully_connected(x, rng.normal(size=(16, 16)) / 400, np.zeros(16), "small")
    large = fully_connected(x, rng.normal(size=(16, 16)) / 4, np.zeros(16), "large")
    both = Value("both", TensorType(FLOAT, (1, 32)))
    concat = Node("Concat", [small.output, large.output], [both], {"axis": 1}, "both")
    weight = np.concatenate([np.eye(8, 16) * 100, np.eye(8, 16)], axis=1)
    y = fully_connected(both, weight, np.zeros(8), "y")
    ports = [Port("x", x, 1, x.shape)], [Port("y", y.output, 1, y.output.shape)]
    graph = Graph([small, large, concat, y], *ports)
    ranges = {"x": (-3.0, 3.0), "small": (-0.04, 0.04), "large": (-4.0, 4.0), "both": (-4.0, 4.0)}
    quantized, _ = quantize_graph(graph, ranges | {"y": (-8.0, 8.0)})
    samples = [{"x": rng.normal(size=(1, 16)).astype(np.float32)} for _ in range(16)]
    worst = explain(build_file(quantized), graph, samples).worst()[0]
    assert (worst.name, worst.cause) == ("small", "shared range") and "'both'" in worst.seen


def test_the_file_s_weights_are_read_back_and_removed_channels_are_put_in_place():
    net = Net()
    net.first[9], net.first_bias[9] = 0, -1.0
    graph = conv_graph()
    ranges = {n: (-4.0, 4.0) for n in ("x", "y")} | {"c": (0.0, 4.0), "d": (0.0, 4.0)}
    quantized, _ = quantize_graph(graph, ranges)
    whole = {n.output.name: (n.input(1), n.input(2)) for n in quantized.nodes if len(n.inputs) == 3}
    integers = {
        name: [np.array(v.const) * np.reshape(v.quant.scale, (-1,) + (1,) * (v.const.ndim - 1))
               for v in pair]
        for name, pair in whole.items()
    }  # fmt: skip
    kept = remove_constant_channels(quantized)
    assert kept, "the planted constant channel was removed"
    simulated_model = simulated_model_of(read(build_file(quantized, kept=kept)), graph)
    assert simulated_model.constants.keys() == integers.keys() and simulated_model.kept
    for name, (weight, bias) in integers.items():
        got = simulated_model.constants[name]
        rows = simulated_model.kept.get(name, np.ones(len(weight), bool))
        columns = np.ones(weight.shape[-1], bool)
        if name == "y":
            columns = simulated_model.kept["d"]
            assert not got[1][..., ~columns].any()
        assert np.allclose(got[1][rows][..., columns], weight[rows][..., columns], rtol=1e-6)
        if name != "y":
            assert np.allclose(got[2][rows], bias[rows], rtol=1e-5, atol=1e-7)


def conv_graph():
    """x -> c -> d (depthwise) -> t (transposed) -> y; channel 2 of c is always 0."""
    rng = np.random.default_rng(5)
    x = Value("x", TensorType(FLOAT, (1, 6, 6, 3)))
    made = []

    def conv(op, source, weight, shape, name, **attrs):
        y = Value(name, TensorType(FLOAT, shape))
        b = rng.normal(size=len(weight)) / 10
        if name == "c":
            weight[2], b[2] = 0.001, -3.0
        elif name == "d":
            b[2] = 0.0
        w = constant(weight.astype(np.float32), f"{name}.w")
        bias = constant(b.astype(np.float32), f"{name}.b")
        given = {"stride": (1, 1), "dilation": (1, 1), "pads": (1, 1, 1, 1), "groups": 1}
        made.append(Node(op, [source, w, bias], [y], given | LIMITS | attrs, name))
        return y

    c = conv("Conv2d", x, rng.normal(size=(8, 3, 3, 3)) / 5, (1, 6, 6, 8), "c", act_min=0.0)
    d = conv(
        "Conv2d", c, rng.normal(size=(8, 3, 3, 1)) / 3, (1, 6, 6, 8), "d", act_min=0.0, groups=8
    )
    y = conv("Conv2d", d, rng.normal(size=(5, 1, 1, 8)) / 3, (1, 6, 6, 5), "y", pads=(0, 0, 0, 0))
    return Graph(made, [Port("x", x, 1, x.shape)], [Port("y", y, 1, y.shape)])


def test_a_packed_file_is_refused_with_the_remedy():
    net = Net()
    quantized, _ = quantize_graph(net.graph(), net.seen())
    packed = write(replace(read(build_file(quantized)), target="cortex_m4"))
    with pytest.raises(UserError, match="generic file"):
        explain(packed, net.graph(), net.samples[:2])
