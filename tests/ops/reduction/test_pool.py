"""Pools: ONNX's node cases, onnxruntime, real arithmetic, and every kernel table."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import definition
from edgekit.toolkit.runtime import Session

BACKEND_OPS = {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "LRN"}


def test_backend(backend_case):
    # That case's results are written with four digits.
    loose = backend_case.name.endswith("ceil_last_window_starts_on_pad")
    backend_case.check(1e-5, 1e-4 if loose else 1e-6)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attrs",
    [
        {"kernel_shape": [3, 1, 1], "pads": [1, 0, 0, 0, 0, 0]},
        {"kernel_shape": [1, 2, 3], "strides": [1, 2, 1], "pads": [0, 0, 1, 0, 0, 1]},
        {"kernel_shape": [1, 1, 1]},
        {"kernel_shape": [2, 2, 3], "strides": [2, 1, 2]},
        {"kernel_shape": [3, 2, 2], "strides": [2, 2, 2], "pads": [1, 1, 0, 1, 0, 1]},
    ],
)
def test_volumes_are_pooled(run_onnx, op, attrs):
    x = np.random.default_rng(3).normal(0, 3, (2, 3, 6, 4, 5)).astype(np.float32)
    run_onnx(op, {"x": x}, **attrs).agree(1e-6)


@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_channels_are_normalized_by_their_neighbours(run_onnx, size):
    x = np.random.default_rng(3).normal(0, 3, (2, 6, 3, 4)).astype(np.float32)
    run_onnx("LRN", {"x": x}, size=size, alpha=0.3, beta=0.6, bias=1.5).agree(1e-5)


GEOMETRIES = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [2, 0, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [5, 5], "strides": [3, 3], "ceil_mode": 1},
    {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "dilations": [2, 3], "pads": [2, 2, 2, 2]},
    {"kernel_shape": [3, 4], "strides": [2, 1], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"},
    {"kernel_shape": [4, 3], "strides": [3, 2], "auto_pad": "VALID"},
    {"kernel_shape": [9, 11]},
    {"kernel_shape": [1, 1]},
]


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "AveragePool+pad"])
@pytest.mark.parametrize("attrs", GEOMETRIES, ids=str)
def test_onnxruntime_agrees(run_onnx, op, attrs):
    x = np.random.default_rng(1).normal(1, 3, (2, 5, 9, 11)).astype(np.float32)
    counted = {"count_include_pad": 1} if "+pad" in op else {}
    run_onnx(op.removesuffix("+pad"), {"x": x}, **attrs, **counted).agree(1e-6)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(2, 3, 17), (2, 3, 4, 5), (1, 2, 3, 4, 5)], ids=str)
def test_one_axis_and_global_pools_agree_with_onnxruntime(run_onnx, op, shape):
    x = np.random.default_rng(2).normal(0, 3, shape).astype(np.float32)
    if op.startswith("Global"):
        run_onnx(op, {"x": x}).agree(1e-6)
    elif len(shape) == 3:
        run_onnx(op, {"x": x}, kernel_shape=[4], strides=[3], pads=[1, 2], ceil_mode=1).agree(1e-6)


def test_a_global_pool_of_many_pixels_keeps_its_digits(run_onnx):
    x = np.full((1, 2, 300, 300), 0.1, np.float32)
    run = run_onnx("GlobalAveragePool", {"x": x})
    np.testing.assert_allclose(run.ours[0], 0.1, rtol=1e-5)


def attrs_of(kernel, stride=(1, 1), dilation=(1, 1), pads=(0, 0, 0, 0), out_hw=(1, 1), **more):
    geometry = {"kernel": kernel, "stride": stride, "dilation": dilation, "pads": pads}
    return geometry | {"out_hw": out_hw} | more


WINDOWS = [
    ((1, 4, 4, 3), attrs_of((2, 2), (2, 2), out_hw=(2, 2))),
    ((2, 7, 5, 33), attrs_of((3, 3), (2, 2), pads=(1, 1, 1, 1), out_hw=(4, 3))),
    ((1, 9, 9, 8), attrs_of((3, 3), dilation=(2, 3), pads=(2, 2, 2, 2), out_hw=(9, 7))),
    ((1, 7, 7, 64), attrs_of((7, 7))),
    ((3, 5, 6, 1), attrs_of((5, 6))),
    ((1, 1, 20, 5), attrs_of((1, 4), (1, 3), pads=(0, 1, 0, 2), out_hw=(1, 7))),
    ((1, 6, 4, 7), attrs_of((2, 4), (2, 1), out_hw=(3, 1))),
    ((1, 7, 4, 3), attrs_of((3, 4), dilation=(2, 1), out_hw=(3, 1))),
    ((1, 1, 1, 4), attrs_of((2, 2), dilation=(2, 2), pads=(1, 1, 1, 1))),  # nothing inside
    ((1, 3, 3, 130), attrs_of((8, 9), pads=(4, 4, 4, 4), out_hw=(4, 3))),
]


@pytest.mark.parametrize(("shape", "attrs"), WINDOWS, ids=str)
def test_integer_max_is_the_same_on_all_kernels(integers, shape, attrs):
    integers.agree(integers.node("MaxPool2d", [integers.value(shape, zero=-5)], **attrs))


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("zeros", [(0, 0), (-128, -128), (127, 3), (-7, 100)])
@pytest.mark.parametrize(("shape", "attrs"), WINDOWS, ids=str)
def test_integer_average_is_the_same_on_all_kernels(integers, shape, attrs, zeros, counted):
    x = integers.value(shape, scale=0.04, zero=zeros[0])
    out = QuantParams((0.031,), zeros[1])
    node = integers.node("AvgPool2d", [x], out, **attrs, count_include_pad=counted)
    assert definition("AvgPool2d").accumulator_problem(node) is None
    integers.agree(node)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("shape", "attrs"), WINDOWS, ids=str)
def test_integer_average_is_the_float_one_within_half_a_step(integers, shape, attrs, counted):
    x = integers.value(shape, scale=0.04, zero=9)
    out = QuantParams((0.05,), -3)
    node = integers.node("AvgPool2d", [x], out, **attrs, count_include_pad=counted)
    q = integers.data(x)
    got = out.dequantize(definition("AvgPool2d").integer(node, [q])[0])
    v, y = Value("x", TensorType(np.dtype(np.float32), shape)), node.output.type.shape
    real = Node("AvgPool2d", [v], [Value("y", TensorType(v.dtype, y))], node.attrs, "node")
    graph = Graph([real], [Port("x", v, 1, shape)], [Port("y", real.output, 1, y)])
    want = Session(build_file(graph)).run({"x": x.quant.dequantize(q)})["y"]
    low, high = out.dequantize(np.array([-128, 127]))
    assert np.abs(got - np.clip(want, low, high)).max() <= 0.52 * 0.05


@pytest.mark.parametrize(("shape", "attrs"), WINDOWS, ids=str)
def test_int16_max_is_the_same_on_all_kernels(integers, shape, attrs):
    node = integers.node("MaxPool2d", [integers.value16(shape)], **attrs)
    assert integers.agree(node).min() >= -32767


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(("shape", "attrs"), WINDOWS, ids=str)
def test_int16_average_is_the_float_one_within_half_a_step(integers, shape, attrs, counted):
    x, out = integers.value16(shape, 0.001), QuantParams.int16(0.00071)
    node = integers.node("AvgPool2d", [x], out, **attrs, count_include_pad=counted)
    assert definition("AvgPool2d").accumulator_problem(node) is None
    q = integers.data(x)
    got = integers.agree(node, {x: q})
    v, y = Value("x", TensorType(np.dtype(np.float32), shape)), node.output.type.shape
    real = Node("AvgPool2d", [v], [Value("y", TensorType(v.dtype, y))], node.attrs, "node")
    graph = Graph([real], [Port("x", v, 1, shape)], [Port("y", real.output, 1, y)])
    want = Session(build_file(graph)).run({"x": x.quant.dequantize(q)})["y"] / out.scalar
    assert got.dtype == np.int16 and np.abs(got - np.clip(want, -32767, 32767)).max() <= 0.52


def test_sums_that_cannot_fit_are_refused(integers):
    x = integers.value((1, 1, 40000, 1), scale=1.0)
    attrs = attrs_of((1, 40000), count_include_pad=False)
    definition_ = definition("AvgPool2d")
    fine = integers.node("AvgPool2d", [x], QuantParams((0.5,)), **attrs)
    steep = integers.node("AvgPool2d", [x], QuantParams((1e-7,)), **attrs)
    assert definition_.accumulator_problem(fine) is None
    assert "40000 elements" in definition_.accumulator_problem(steep)
    assert "2^30" in definition_.accumulator_problem(
        integers.node("AvgPool2d", [x], QuantParams((1e-15,)), **attrs)
    )


def load_pool(shape=(1, 3, 4, 4), op="MaxPool", outputs=("y",), **attrs):
    node = helper.make_node(op, ["x"], list(outputs), name="pool", **attrs)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return load(onnx.shape_inference.infer_shapes(model))


@pytest.mark.parametrize(
    ("message", "attrs"),
    [
        ("spatial axes", {"shape": (1, 2, 3, 3, 3, 3), "kernel_shape": [2] * 4}),
        ("larger than the padded input", {"kernel_shape": [6, 6]}),
    ],
)
def test_what_is_refused_says_why(message, attrs):
    with pytest.raises(UnsupportedError, match=message):
        load_pool(**attrs)


def test_a_global_pool_is_one_pool_node():
    graph = load_pool(op="GlobalAveragePool")
    assert [n.op for n in graph.nodes] == ["Transpose", "AvgPool2d", "Transpose"]
