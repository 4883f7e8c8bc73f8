"""Weights only, activations only, one layer alone: against onnxruntime on a model whose rounding
is written out in ONNX, from numpy's own scales."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from edgekit.toolkit import pipeline
from edgekit.toolkit.accuracy import explain
from edgekit.toolkit.build import build_file
from edgekit.toolkit.quantize import quantize_graph

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RNG = np.random.default_rng(11)
WEIGHTS = {
    "c1": RNG.normal(size=(6, 3, 3, 3)) / 4,
    "c2": RNG.normal(size=(6, 1, 3, 3)) / 2,
    "c3": RNG.normal(size=(4, 6, 1, 1)) / 2,
}
BIASES = {name: RNG.normal(size=len(w)) / 4 for name, w in WEIGHTS.items()}
INPUTS = {"c1": "x", "c2": "r1", "c3": "s"}
SAMPLES = [{"x": RNG.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(6)]
TENSORS = ("x", "r1", "c2", "s", "y")
"""What int8 holds: the ReLU is a bound of c1's output, c2 -> s is a Sigmoid, s + c2 feeds c3."""


def model(weights=None, rounded=None, seen=()):
    """c1 (Conv, Relu) -> r1 -> c2 (depthwise) -> s (Sigmoid) -> c3 -> y, tensors rounded by Q/DQ.

    `weights` by name replace the float ones; `rounded` has (scale, zero point) by tensor.
    """
    nodes, constants = [], {}
    now = {"x": "x"}

    def emit(op, inputs, output, **attrs):
        quant = (rounded or {}).get(output)
        made = f"{output}.raw" if quant else output
        nodes.append(helper.make_node(op, inputs, [made], **attrs))
        now[output] = round_to(made, output) if quant else output

    def round_to(source, name):
        scale, zero = rounded[name]
        constants[f"{name}.s"] = np.array(scale, np.float32)
        constants[f"{name}.z"] = np.array(zero, np.int8)
        ends = [f"{name}.s", f"{name}.z"]
        nodes.append(helper.make_node("QuantizeLinear", [source, *ends], [f"{name}.q"]))
        target = f"{name}.dq" if name == "x" else name
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}.q", *ends], [target]))
        return target

    if (rounded or {}).get("x"):
        now["x"] = round_to("x", "x")
    for name, weight in WEIGHTS.items():
        constants[f"{name}.w"] = ((weights or {}).get(name, weight)).astype(np.float32)
        constants[f"{name}.b"] = BIASES[name].astype(np.float32)
        group = 6 if name == "c2" else 1
        pads = [0] * 4 if name == "c3" else [1] * 4
        output = {"c1": "a1", "c2": "c2", "c3": "y"}[name]
        source = now[INPUTS[name]]
        emit("Conv", [source, f"{name}.w", f"{name}.b"], output, group=group, pads=pads)
        if name == "c1":
            emit("Relu", ["a1"], "r1")
        if name == "c2":
            emit("Sigmoid", [now["c2"]], "s")
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", *seen)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        outputs if seen else [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


def run(serialized, names):
    """Arrays [samples, ...] by name; without optimization, which would fuse Q/DQ to integers."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
    answers = [session.run(list(names), s) for s in SAMPLES]
    return {n: np.stack([a[i] for a in answers]).astype(np.float64) for i, n in enumerate(names)}


def sqnr(truth, got):
    return 10 * np.log10(np.sum(truth**2) / np.sum((got - truth) ** 2))


def fake_weights(weight):
    scale = np.abs(weight).reshape(len(weight), -1).max(1) / 127
    scale = scale.reshape(-1, 1, 1, 1)
    return np.round(weight.astype(np.float32).astype(np.float64) / scale) * scale


def scale_of(low, high):
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / 255)
    return scale, int(np.clip(round(-128 - low / scale), -128, 127))


def as_int8(ranges):
    """(file, float graph, name of y there)."""
    graph = pipeline.load(model())
    first, *_, last = graph.nodes  # transposes, to NHWC and back
    y = last.input(0).name
    quantized, decisions = quantize_graph(
        graph, ranges | {first.output.name: ranges["x"], y: ranges["y"]}
    )
    assert not decisions
    return build_file(quantized), graph, y


@pytest.fixture(scope="module")
def both():
    names = ["r1", "c2", "s", "y"]
    truth = run(model(seen=names[:-1]), names) | {"x": np.stack([s["x"] for s in SAMPLES])}
    ranges = {n: (float(v.min()), float(v.max())) for n, v in truth.items()}
    file, graph, y = as_int8(ranges)
    told, mine = explain(file, graph, SAMPLES), {n: n for n in names} | {"y": y}
    return truth, ranges, {n: next(c for c in told.layers if c.name == o) for n, o in mine.items()}


def test_weights_only(both):
    truth, _, layers = both
    weights = {n: fake_weights(w) for n, w in WEIGHTS.items()}
    got = run(model(weights, seen=("r1", "c2", "s")), ["r1", "c2", "s", "y"])
    for name, layer in layers.items():
        assert layer.weights_only_db == pytest.approx(sqnr(truth[name], got[name]), abs=0.02), name


def test_activations_only(both):
    truth, ranges, layers = both
    rounded = {n: scale_of(*ranges[n]) for n in TENSORS}
    # From c2 on a little off: the range of what a table alone reads is narrowed to where it varies.
    got = run(model(None, rounded, seen=("r1", "c2", "s")), ["r1", "c2", "s", "y"])
    for name, layer in layers.items():
        expected = sqnr(truth[name], got[name])
        near = 0.02 if name == "r1" else 0.3
        assert layer.activations_only_db == pytest.approx(expected, abs=near), name


def test_a_layer_alone_at_its_output_and_at_the_model_s(both):
    truth, ranges, layers = both
    for name, output in {"c1": "r1", "c2": "c2", "c3": "y"}.items():
        weights = {name: fake_weights(WEIGHTS[name])}
        exact = run(model(weights, seen=("r1", "c2", "s")), [output])[output]
        local = sqnr(truth[output], exact)
        assert layers[output].local_weights_db == pytest.approx(local, abs=0.02)
        rounded = {output: scale_of(*ranges[output])}
        got = run(model(weights, rounded, seen=("r1", "c2", "s")), [output, "y"])
        near = 0.4 if output == "c2" else 0.05
        assert layers[output].local_db == pytest.approx(sqnr(truth[output], got[output]), abs=near)
        assert layers[output].output_db == pytest.approx(sqnr(truth["y"], got["y"]), abs=near)


def test_shares_add_up_and_are_the_layers_part_of_the_noise(both):
    layers = both[2]
    noise = {n: 10 ** (-c.output_db / 10) for n, c in layers.items()}
    for name, other in (("r1", "y"), ("c2", "s")):
        ratio = layers[name].share / layers[other].share
        assert ratio == pytest.approx(noise[name] / noise[other], rel=1e-6)


def test_shares_of_some_layers_are_parts_of_the_whole_loss(both, monkeypatch):
    """Of a large model not every layer is rounded alone: those that are make no more of the loss
    than they would among all."""
    _, ranges, _ = both
    file, graph, _ = as_int8(ranges)
    of_all = {c.name: c.share for c in explain(file, graph, SAMPLES).layers}
    monkeypatch.setattr(sys.modules["edgekit.toolkit.accuracy.explain"], "MOST_LAYERS", 1)
    told = explain(file, graph, SAMPLES)
    some = {c.name: c.share for c in told.layers if c.share is not None}
    assert len(some) == 1 < len(of_all)
    for name, share in some.items():
        assert share == pytest.approx(of_all[name], rel=0.05)
