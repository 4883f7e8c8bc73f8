"""Reductions: ONNX's node cases, onnxruntime, real arithmetic, and every kernel table."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.ir import QuantParams
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import FROM_ONNX, definition

BACKEND_OPS = {name for name in FROM_ONNX if name.startswith("Reduce")}
PARAMETERS = dict.fromkeys(BACKEND_OPS, 1)


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-5)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_extrema_of_small_integers(run_onnx, op):
    x = np.random.default_rng(3).integers(0, 255, (2, 5, 4)).astype(np.uint8)
    run_onnx(op, {"x": x}, {"axes": np.array([1])}).agree(0)


@pytest.mark.parametrize(
    "op",
    [
        "ReduceSum",
        "ReduceMean",
        "ReduceL1",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceSumSquare",
    ],
)
def test_integers_are_exact(run_onnx, op):
    top, large = (2, 1) if op == "ReduceProd" else (9, 1 << 10)
    x = np.random.default_rng(3).integers(-top, top, (2, 5, 7)).astype(np.int32)
    x = x.astype(np.int64) if op in ("ReduceSum", "ReduceMax") else x
    x[0, 0] *= large
    x[1, 3, :2] = (1 << 24) + 1, -(1 << 24)  # a float32 would lose the 1
    if op in ("ReduceProd", "ReduceSumSquare"):
        x[1, 3, :2] = 1
    for axes, keepdims in (([1], 1), ([0, 2], 0), ([-1], 0)):
        run_onnx(op, {"x": x}, {"axes": np.array(axes)}, keepdims=keepdims).agree(0)


@pytest.mark.parametrize("op", sorted(BACKEND_OPS))
@pytest.mark.parametrize("axes", [[0], [1], [-1], [2, 3], [1, 2], [0, 2], [1, 3], [0, 1, 2, 3]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_onnxruntime_agrees(run_onnx, op, axes, keepdims):
    x = np.random.default_rng(3).uniform(0.5, 2, (2, 5, 4, 21)).astype(np.float32)
    run = run_onnx(op, {"x": x}, {"axes": np.array(axes, np.int64)}, keepdims=keepdims)
    run.agree(3e-5 if op == "ReduceProd" else 1e-5)


@pytest.mark.parametrize("shape", [(1, 100003), (100003, 3)])
def test_long_sums_keep_their_digits(run_onnx, shape):
    x = np.full(shape, 0.1, np.float32)
    axis = int(np.argmax(shape))
    run = run_onnx("ReduceSum", {"x": x}, {"axes": np.array([axis], np.int64)})
    np.testing.assert_allclose(run.ours[0], 10000.3, rtol=1e-5)


SHAPES = [
    ((7,), (0,)),
    ((3, 50), (1,)),
    ((3, 50), (0,)),
    ((2, 5, 33), (1,)),
    ((2, 5, 4, 3), (1, 2)),
    ((4, 1, 6), (1,)),
    ((1, 16), (1,)),
    ((2, 3), (0, 1)),
]


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("zeros", [(0, 0), (-128, 5), (127, -128)])
@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_integers_are_the_same_on_all_kernels(integers, op, zeros, shape, axes):
    x = integers.value(shape, zero=zeros[0])
    shared = definition(op).shared
    out = x.quant if shared else QuantParams((0.03 if op == "ReduceMean" else 0.4,), zeros[1])
    node = integers.node(op, [x], out, axes=axes, keepdims=False)
    integers.agree(node)


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_integer_sums_are_the_real_ones_within_half_a_step(integers, op, shape, axes):
    x = integers.value(shape, scale=0.05, zero=11)
    out = QuantParams((0.06,), -20)
    node = integers.node(op, [x], out, axes=axes, keepdims=True)
    q = integers.data(x)
    real = (q.astype(np.float64) - 11) * 0.05
    want = (np.mean if op == "ReduceMean" else np.sum)(real, axis=axes, keepdims=True)
    got = definition(op).integer(node, [q])[0].astype(np.float64)
    want = np.clip(want / 0.06 - 20, -128, 127)
    assert np.abs(got - want).max() <= 0.52


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_int16_is_the_real_result_within_half_a_step(integers, op, shape, axes):
    x = integers.value16(shape, 0.001)
    out = x.quant if definition(op).shared else QuantParams.int16(0.0013)
    node = integers.node(op, [x], out, axes=axes, keepdims=True)
    assert definition(op).accumulator_problem(node) is None
    q = integers.data(x)
    got = integers.agree(node, {x: q})
    fn = getattr(np, op.removeprefix("Reduce").lower())
    want = fn(q.astype(np.float64) * 0.001, axis=axes, keepdims=True) / out.scalar
    least = -32768 if definition(op).shared else -32767
    assert got.dtype == np.int16 and np.abs(got - np.clip(want, least, 32767)).max() <= 0.505


def test_int16_sums_that_cannot_fit_are_refused(integers):
    for count, fits in (((1 << 24) - 1, True), (1 << 24, False)):
        node = integers.node("ReduceSum", [integers.value16((count,))], QuantParams.int16(1.0),
                             axes=(0,), keepdims=False)  # fmt: skip
        assert (definition("ReduceSum").accumulator_problem(node) is None) == fits


def test_sums_that_cannot_fit_are_refused(integers):
    x = integers.value((1, 20_000_000))
    node = integers.node("ReduceSum", [x], QuantParams((1e4,)), axes=(1,), keepdims=False)
    assert "20000000 elements" in definition("ReduceSum").accumulator_problem(node)
    node = integers.node("ReduceMax", [x], axes=(1,), keepdims=False)
    assert definition("ReduceMax").accumulator_problem(node) is None


@pytest.mark.parametrize("op", ["ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2"])
def test_what_stays_float_says_why(integers, op):
    node = integers.node(op, [integers.value((4,))], axes=(0,), keepdims=False)
    assert "int8" in definition(op).integer_problem(node) or "float32" in (
        definition(op).integer_problem(node)
    )


def load_reduction(op, axes, keepdims):
    node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=keepdims)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 8, 4, 4))
    given = numpy_helper.from_array(np.array(axes, np.int64), "axes")
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")], [given])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return load(onnx.shape_inference.infer_shapes(model))


@pytest.mark.parametrize(("op", "pool"), [("ReduceMean", "AvgPool2d"), ("ReduceMax", "MaxPool2d")])
def test_a_reduction_of_an_image_is_a_global_pool(op, pool):
    assert [n.op for n in load_reduction(op, [2, 3], 0).nodes] == ["Transpose", pool, "Reshape"]
    assert [n.op for n in load_reduction(op, [-1, 2], 1).nodes] == ["Transpose", pool, "Transpose"]


def test_axes_apart_are_brought_together():
    nodes = load_reduction("ReduceSum", [1, 3], 1).nodes
    assert [n.op for n in nodes] == ["Transpose", "ReduceSum", "Reshape"]
    assert nodes[1].attrs["axes"] == (2, 3)


def test_axes_that_do_not_exist_are_refused():
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], name="sum")
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 8))
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (1, 1))
    axes = numpy_helper.from_array(np.array([2], np.int64), "axes")
    graph = helper.make_graph([node], "g", [x], [y], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(ValueError, match="axes"):
        load(model)
