"""Causes that lie in ranges are named: clipping, samples, outliers."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import erf

from edgekit.toolkit.accuracy import explain
from edgekit.toolkit.accuracy.causes import Layer, clipped
from edgekit.toolkit.accuracy.layer_statistics import LayerStatistics
from edgekit.toolkit.accuracy.layers import Layers
from edgekit.toolkit.accuracy.simulated_model import simulated_model_of
from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.model import Provenance
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.ir import Node, QuantParams, Value
from edgekit.toolkit.quantize import quantize_graph

from .nets import Net, layer, of_gelu


def test_a_clipped_range_is_named_and_widening_it_gains_what_is_promised():
    net = Net()
    low, high = net.seen()["a"]
    told = net.explained({**net.seen(), "a": (low / 3, high / 3)}, unseen=False, observer="mse")
    worst = told.worst()[0]
    assert (worst.name, worst.cause) == ("a", "clipped range")
    x = np.concatenate([s["x"] for s in net.samples[:16]]).astype(np.float64)
    a = x @ net.first.T + net.first_bias
    assert worst.saturation == pytest.approx(np.mean((a < low / 3) | (a > high / 3)), abs=0.005)
    gained = net.explained().sqnr_db - told.sqnr_db
    assert worst.gain_db == pytest.approx(gained, abs=1.5) and gained > 10


@pytest.mark.parametrize("observer", ["minmax", "auto"])
def test_too_few_samples_are_named(observer):
    net = Net()
    for s in net.samples[:2]:
        s["x"] = s["x"] * np.float32(0.3)
    ranges = {**net.seen(), "a": net.seen(net.samples[:2])["a"]}
    told = net.explained(ranges, observer=observer, samples=2)
    worst = told.worst()[0]
    assert (worst.name, worst.cause) == ("a", "too few samples") and "of 2 samples" in worst.seen
    assert "more samples" in worst.advice and worst.gain_db > 3


@pytest.mark.parametrize("observer", ["auto", "mse", "entropy"])
def test_calibration_with_other_data_is_not_put_on_the_observer(observer):
    """A third of all values is more than any observer leaves out: another would not help."""
    net = Net()
    ranges = {n: (low / 4, high / 4) for n, (low, high) in net.seen().items()}
    told = net.explained(ranges, observer=observer, samples=40)
    for cost in told.worst():
        assert cost.saturation > 0.02 and cost.cause in ("too few samples", "coarse steps")
        assert "observer" not in cost.advice
    assert told.worst()[0].cause == "too few samples"


def test_what_is_cut_off_where_a_softmax_is_sure_is_not_put_on_the_observer():
    """The quantizer ends that range itself, whatever the observer."""
    statistics = LayerStatistics(QuantParams((0.01,)), (1, 4))
    statistics.add(np.array([[0.1, -9.0, 8.0, 0.5]], np.float32))
    for observer in ("minmax", "auto"):
        told = clipped(Layer("a", statistics, {}, {}, sure=True, observer=observer, calibrated=100))
        assert told.name == "clipped range" and "where the softmax is saturated" in told.seen
        assert told.advice == "16-bit activations here"


@pytest.mark.parametrize("dtype, times", [("int8", 2), ("int16", 4)])
def test_one_sample_beyond_the_range_is_not_taken_for_coarse_steps(dtype, times):
    """Mending it is no certain gain, but all of the loss is there. int16 has room for it twice."""
    net = Net()
    seen = net.seen(net.samples[16:])["a"]
    net.samples[0]["x"] = net.samples[0]["x"] * np.float32(times)
    low, high = net.seen(net.samples[:1])["a"]
    assert low < seen[0] or high > seen[1]
    told = net.explained({**net.seen(), "a": seen}, dtype, observer="minmax", samples=24)
    worst = told.worst()[0]
    assert (worst.name, worst.dtype, worst.cause) == ("a", dtype, "too few samples")
    assert worst.share > 0.9 and "1 of 16 samples" in worst.seen and worst.gain_db is None


def test_what_a_table_cannot_tell_apart_is_no_lack_of_samples():
    """Its input's range ends on purpose where Gelu is nearly 0: every sample leaves it."""
    net, graph = of_gelu()
    x = np.concatenate([s["x"] for s in net.samples]).astype(np.float64)
    a = x @ net.first.T + net.first_bias
    g = a * (1 + erf(a / np.sqrt(2))) / 2
    seen = {"x": x, "a": a, "g": g, "b": g @ net.second.T}
    ranges = {n: (float(v.min()), float(v.max())) for n, v in seen.items()}
    quantized, _ = quantize_graph(graph, ranges)
    provenance = Provenance(options=json.dumps({"observer": "minmax", "samples": 40}))
    told = explain(build_file(quantized, provenance), graph, net.samples[:16])
    found = layer(told, "a")
    assert found.saturation > 0.1 and found.low > ranges["a"][0] / 2
    assert found.cause != "too few samples"
    assert found.cause != "clipped range" or "table is nearly flat" in found.seen


def test_a_table_may_read_what_is_moved_first():
    net, graph = of_gelu()
    a, gelu = graph.nodes[:2]
    flipped = Value("flipped", a.output.type)
    attrs = {"dims": (32,), "strides": (-1,), "offset": 31, "shape": (1, 32)}
    graph.nodes[1:1] = [Node("Copy", [a.output], [flipped], attrs, "flipped")]
    gelu.inputs[0] = flipped
    quantized, _ = quantize_graph(graph, net.seen() | {"flipped": (-9.0, 9.0), "g": (-0.2, 9.0)})
    model = simulated_model_of(read(build_file(quantized)), graph)
    statistics = dict.fromkeys("abx", LayerStatistics(QuantParams((0.01,)), (1, 32)))
    layers = Layers(SimpleNamespace(simulated_model=model, statistics=statistics), unseen=False)
    assert {name for name in statistics if layers.layer(name).flat} == {"a"}
