from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.accuracy import (
    OnnxRuntime,
    OwnRuntime,
    compare,
    explain,
    make_meter,
    make_oracle,
    open_metric,
    summary,
)
from edgekit.toolkit.accuracy.layer_statistics import LayerStatistics
from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.inspection import describe
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.quantize import quantize_graph
from edgekit.toolkit.runtime import Session

FLOAT = np.dtype(np.float32)
RNG = np.random.default_rng(2)
WEIGHT = RNG.normal(size=(4, 6)).astype(np.float32) / 4
LIMITS = {"act_min": -np.inf, "act_max": np.inf}


def small_net(batch=1):
    x, y, z = (Value(n, TensorType(FLOAT, (batch, d))) for n, d in (("x", 6), ("y", 4), ("z", 4)))
    w = constant(WEIGHT, "w")
    nodes = [
        Node("FullyConnected", [x, w, None], [y], LIMITS, "y"),
        Node("Tanh", [y], [z], {}, "z"),
    ]
    return Graph(nodes, [Port("x", x, 1, x.shape)], [Port("z", z, 1, z.shape)])


@pytest.fixture
def sides():
    graph = small_net()
    quantized, _ = quantize_graph(graph, {"x": (-3.0, 3.0), "y": (-2.0, 2.0), "z": (-1.0, 1.0)})
    return Session(build_file(quantized)), graph


def of_classes(graph, labels, total=None):
    return make_meter(graph, open_metric("top1", "c"), {"c": np.array(labels)}, total)


SAMPLES = [{"x": RNG.uniform(-2, 2, size=(1, 6)).astype(np.float32)} for _ in range(10)]


def test_the_report_has_the_keys_of_check(sides):
    edge, graph = sides
    truth = [int(np.tanh(s["x"] @ WEIGHT.T).argmax()) for s in SAMPLES]
    meter = of_classes(graph, truth)
    told = compare(edge, OwnRuntime(graph), SAMPLES, meter=meter).to_json()
    assert told.keys() == {"level", "outputs", "samples", "oracle", "target", "metric", "notes"}
    (output,) = told["outputs"]
    assert output.keys() == {"name", "sqnr_db", "cosine", "max_abs_error"}
    assert output["name"] == "z" and output["sqnr_db"] > 25 and output["cosine"] > 0.99
    assert told["metric"]["float"] == 100.0 and told["samples"] == told["metric"]["of"] == 10
    counted = meter.counted.to_json()
    assert told["metric"]["edge"] == 100 * counted["edge"] == 100 * counted["agreement"] >= 80


def test_each_sample_of_a_batch_has_its_label():
    graph = small_net(batch=2)
    edge = Session(build_file(graph))
    pairs = [
        {"x": np.concatenate([a["x"], b["x"]])}
        for a, b in zip(SAMPLES[::2], SAMPLES[1::2], strict=True)
    ]
    truth = [int((s["x"] @ WEIGHT.T).argmax()) for s in SAMPLES]
    wrong = [(c + 1) % 4 for c in truth[:3]] + truth[3:]
    meter = of_classes(graph, [*wrong, 0], total=11)
    report = compare(edge, OwnRuntime(graph), pairs, batch=2, meter=meter)
    assert report.samples == meter.counted.samples == 10
    assert meter.counted.to_json() == {"float": 0.7, "edge": 0.7, "agreement": 1.0}
    assert report.metric.real == report.metric.edge == pytest.approx(70)


def test_layers_are_compared_by_name_the_worst_first(sides):
    edge, graph = sides
    report = compare(edge, OwnRuntime(graph), SAMPLES, floats=graph)
    assert {layer.name for layer in report.layers} == {"y", "z"}
    levels = [layer.sqnr_db for layer in report.layers]
    assert levels == sorted(levels) and all(db is not None and db > 25 for db in levels)
    z = next(layer for layer in report.layers if layer.name == "z")
    assert np.isclose(z.sqnr_db, report.outputs[0].sqnr_db)
    assert report.to_json()["layers"][0].keys() == {"name", "operator", "dtype", "sqnr_db"}


def test_with_an_explanation_every_figure_of_a_layer_is_of_its_samples(sides):
    edge, graph = sides
    report = compare(edge, OwnRuntime(graph), SAMPLES, floats=graph)
    few = compare(edge, OwnRuntime(graph), SAMPLES[:3], floats=graph)
    told = explain(edge.model.data.tobytes(), graph, SAMPLES[:3])
    expected = {layer.name: layer.sqnr_db for layer in few.layers}
    for layer in replace(report, explanation=told).to_json()["layers"]:
        if layer["name"] in expected:
            assert layer["sqnr_db"] == pytest.approx(expected[layer["name"]])
    assert expected != {layer.name: layer.sqnr_db for layer in report.layers}
    assert f"on 3 samples: {few.outputs[0].sqnr_db:.1f} dB" in summary(told)[0]


def test_layers_are_named_as_inspect_names_them(sides):
    edge, graph = sides
    data = edge.model.data.tobytes()
    report = compare(edge, OwnRuntime(graph), SAMPLES[:3], floats=graph)
    report = replace(report, explanation=explain(data, graph, SAMPLES[:3]))
    inspected = {o.name: (o.operator, o.dtype) for o in describe(data, "a file").ops}
    told = {n["name"]: (n["operator"], n["dtype"]) for n in report.to_json()["layers"]}
    assert inspected and told == inspected | {"x": ("Input", "int8")}
    assert {n.name: (n.operator, n.dtype) for n in report.layers} == inspected


def test_a_float_file_meets_itself_exactly(sides):
    _, graph = sides
    report = compare(Session(build_file(graph)), OwnRuntime(graph), SAMPLES)
    assert report.outputs[0].max_abs_error == 0.0 and report.outputs[0].sqnr_db == 300.0


def test_samples_and_labels_must_agree(sides):
    edge, graph = sides
    for labels, why in [([0] * 9, "more samples than the 9"), ([0] * 11, "10 samples and 11")]:
        with pytest.raises(UserError, match=why):
            compare(edge, OwnRuntime(graph), SAMPLES, meter=of_classes(graph, labels))
    with pytest.raises(UserError, match="10 samples and 9"):
        of_classes(graph, [0] * 9, total=10)
    with pytest.raises(UserError, match="no samples"):
        compare(edge, OwnRuntime(graph), [])


def test_the_oracle_is_onnxruntime_where_it_is_installed(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper

    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Tanh", ["y"], ["z"])],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6])],
            [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4])],
            [helper.make_tensor("w", TensorProto.FLOAT, [6, 4], WEIGHT.T.ravel().tolist())],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(model, tmp_path / "m.onnx")
    oracle = make_oracle(tmp_path / "m.onnx", small_net())
    assert isinstance(oracle, OnnxRuntime) and oracle.name.startswith("onnxruntime ")
    own = make_oracle(None, small_net())
    assert own.name == "edgekit float32"
    for sample in SAMPLES[:3]:
        assert np.allclose(oracle.run(sample)["z"], own.run(sample)["z"], atol=1e-5)
    with pytest.raises(UserError, match="cannot run the float model"):
        oracle.run({"x": np.zeros((1, 7), np.float32)})


def test_errors_of_huge_values_are_counted():
    """Their squares are beyond float32."""
    statistics = LayerStatistics(QuantParams((1e25,)), (1, 2))
    statistics.add(np.array([[4e24, 1e29]], np.float32))
    assert statistics.rounding == pytest.approx(1.6e49, rel=1e-5)
    assert statistics.clipping == pytest.approx((1e29 - 127e25) ** 2, rel=1e-5)
