"""Removing constant channels changes no output bit, and removes what is known to be constant."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit import pipeline
from edgekit.toolkit.build import build_file, build_model
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.ir import constant
from edgekit.toolkit.quantize import Plan, calibrate, quantize_model
from edgekit.toolkit.quantize.ranges.range_search import fixed_ranges
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.weight_codecs import Storage

DEAD, CONSTANT, ALIVE = range(3)


def network(seed, kinds=(DEAD, CONSTANT, ALIVE)):
    """conv 3x3 -> depthwise 3x3 -> conv 1x1 -> pool -> dense, each with channels of these kinds."""
    rng = np.random.default_rng(seed)
    nodes, weights = [], []

    def weight(name, array):
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def conv(x, name, cout, cin, kernel, group=1):
        w, b = rng.normal(size=(cout, cin // group, kernel, kernel)), rng.normal(size=cout)
        for c in range(cout):
            kind = kinds[rng.integers(len(kinds))]
            if kind == DEAD:
                b[c] = -1e3
            if kind == CONSTANT:
                w[c] *= 1e-7
                b[c] = rng.uniform(0.5, 3)
        inputs = [x, weight(name + ".w", w), weight(name + ".b", b)]
        nodes.append(
            helper.make_node("Conv", inputs, [name], pads=[kernel // 2] * 4, group=group, name=name)
        )
        nodes.append(helper.make_node("Clip", [name, "zero", "six"], [name + "/relu6"]))
        return name + "/relu6"

    weight("zero", np.array(0.0))
    weight("six", np.array(6.0))
    y = conv("x", "first", 12, 3, 3)
    y = conv(y, "depthwise", 12, 12, 3, group=12)
    y = conv(y, "pointwise", 16, 12, 1)
    nodes.append(helper.make_node("GlobalAveragePool", [y], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    dense = [weight("dense.w", rng.normal(size=(5, 16))), weight("dense.b", rng.normal(size=5))]
    nodes.append(helper.make_node("Gemm", ["flat", *dense], ["y"], transB=1))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantized(seed, tmp_path, int16=(), weights="int8", **more):
    path = tmp_path / "m.onnx"
    onnx.save(network(seed, **more), path)
    rng = np.random.default_rng(seed)
    feeds = [{"x": rng.normal(size=(1, 3, 9, 9)).astype(np.float32)} for _ in range(8)]
    floats = pipeline.load(path)
    done = quantize_model(floats, feeds, "minmax", weights=weights, rounding="nearest")
    # Its precisions, on the network as it was: equalized or absorbed, channels may come alive.
    ranges = fixed_ranges(calibrate(floats, feeds), "minmax")
    names = [v.name for v in floats.values() if v.const is None]
    wide = frozenset(name for name in names if name.startswith(int16))
    return Plan(floats, ranges, replace(done.options, means={}, wide=wide)).emit(ranges)[0]


def answers(graph):
    session = Session(build_file(graph))
    rng = np.random.default_rng(99)
    dtype = session.inputs[0].dtype
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    inputs = [rng.integers(low, high + 1, (1, 3, 9, 9), dtype) for _ in range(20)]
    inputs += [np.full((1, 3, 9, 9), q, dtype) for q in (low, 0, high)]
    return np.concatenate([session.run_raw({"x": x})["y"] for x in inputs])


@pytest.mark.parametrize("seed", range(8))
def test_no_output_bit_changes_and_work_is_saved(seed, tmp_path):
    graph = quantized(seed, tmp_path)
    before, macs = answers(graph), build_model(graph).memory.macs
    kept = remove_constant_channels(graph)
    np.testing.assert_array_equal(answers(graph), before)
    assert kept
    assert build_model(graph).memory.macs < 0.7 * macs
    assert remove_constant_channels(graph) == {}


def test_a_graph_stays_as_it_is_where_its_copy_loses_channels(tmp_path):
    graph = quantized(0, tmp_path)
    before, text = build_file(graph), str(graph)
    copy = graph.unshared()
    assert build_file(copy) == before
    assert remove_constant_channels(copy) and str(copy) != text
    assert str(graph) == text and build_file(graph) == before


@pytest.mark.parametrize("int16", [("",), ("depthwise",), ("first", "pointwise")])
@pytest.mark.parametrize("seed", range(3))
def test_no_output_bit_changes_on_int16_and_between(seed, int16, tmp_path):
    graph = quantized(seed, tmp_path, int16)
    assert np.dtype(np.int16) in {n.output.dtype for n in graph.nodes}
    before, macs = answers(graph), build_model(graph).memory.macs
    assert remove_constant_channels(graph)
    np.testing.assert_array_equal(answers(graph), before)
    assert build_model(graph).memory.macs < 0.7 * macs


@pytest.mark.parametrize("weights", ["int4", "int4-group16"])
@pytest.mark.parametrize("seed", range(3))
def test_no_output_bit_changes_with_4_bit_weights(seed, weights, tmp_path):
    graph = quantized(seed, tmp_path, weights=weights)
    assert sum("storage" in n.attrs for n in graph.nodes) == 2
    before, macs = answers(graph), build_model(graph).memory.macs
    assert remove_constant_channels(graph)
    np.testing.assert_array_equal(answers(graph), before)
    assert build_model(graph).memory.macs < 0.7 * macs


def test_nothing_is_taken_out_of_groups_with_multipliers(tmp_path):
    graph = quantized(1, tmp_path)
    pointwise = next(n for n in graph.nodes if n.op == "Conv2d" and n.input(1).shape[1:3] == (1, 1))
    w = pointwise.input(1)
    pointwise.inputs[1] = constant(np.clip(w.const // 16, -7, 7) * np.int8(2), w.name, w.quant)
    multipliers = np.full((len(w.const), 3), 2, np.uint8)
    pointwise.attrs["storage"] = Storage("Nibbles", 4, multipliers)
    before = answers(graph)
    assert remove_constant_channels(graph)
    np.testing.assert_array_equal(answers(graph), before)
    rows = len(pointwise.input(1).const)
    assert rows < len(w.const) and pointwise.attrs["storage"].multipliers.shape == (rows, 3)
    assert pointwise.input(1).shape[3] == w.shape[3]


def test_a_network_without_constants_stays_as_it_is(tmp_path):
    graph = quantized(3, tmp_path, kinds=(ALIVE,))
    before = build_file(graph)
    assert remove_constant_channels(graph) == {}
    assert build_file(graph) == before


def test_one_channel_is_left_where_all_are_constant(tmp_path):
    graph = quantized(1, tmp_path, kinds=(DEAD,))
    before = answers(graph)
    remove_constant_channels(graph)
    np.testing.assert_array_equal(answers(graph), before)
    assert min(n.output.shape[-1] for n in graph.nodes if n.op == "Conv2d") == 1
