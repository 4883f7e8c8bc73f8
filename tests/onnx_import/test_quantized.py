"""Models that arrive quantized: QuantizeLinear and DequantizeLinear in, integers out.

The truth is onnxruntime on the same file, without its optimizations: it then computes each
operator in float between the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgekit
from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.describe import op_counts
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.model_files import load
from edgekit.toolkit.quantize import calibrate, quantize_graph, quantize_model

from .quantized_models import RNG, Maker, Ran, exact, image


def network(dtype: Any, zero: int, weight: Any, weight_zero: Any, per_channel: bool) -> Maker:
    """Conv, MaxPool, depthwise Conv, Add and Gemm, each on a grid."""
    m = Maker(21)
    axis = {"axis": 0} if per_channel else {}

    def scales(n: int) -> Any:
        return RNG.uniform(0.002, 0.01, n) if per_channel else np.float32(0.004)

    def zeros(n: int) -> Any:
        return np.full(n, weight_zero) if per_channel else weight_zero

    def bias(n: int, unit: Any) -> str:
        q = RNG.integers(-500, 500, n)
        inputs = m.const(q, np.int32), m.const(unit), m.const(np.zeros_like(unit), np.int32)
        return m.node("DequantizeLinear", *inputs, **axis)

    x = m.qdq(m.input(1, 3, 9, 9), 0.03, zero, dtype)
    s = scales(6)
    w = m.weights((6, 3, 3, 3), s, zeros(6), weight, **axis)
    y = m.node("Conv", x, w, bias(6, np.float32(0.03) * s), pads=[1, 1, 1, 1])
    y = m.qdq(m.node("Relu", y), 0.02, zero, dtype)
    y = m.qdq(m.node("MaxPool", y, kernel_shape=[2, 2]), 0.02, zero, dtype)
    w = m.weights((6, 1, 3, 3), scales(6), zeros(6), weight, **axis)
    z = m.qdq(m.node("Conv", y, w, group=6, pads=[1, 1, 1, 1]), 0.025, zero, dtype)
    y = m.qdq(m.node("Add", y, z), 0.03, zero, dtype)
    y = m.node("Flatten", y)
    w = m.weights((10, 384), scales(10), zeros(10), weight, **axis)
    m.qdq(m.node("Gemm", y, w, transB=1), 0.2, zero, dtype)
    return m


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(
    ("dtype", "zero", "weight", "weight_zero"),
    [
        (np.uint8, 120, np.int8, 0),
        (np.int8, -4, np.int8, 0),
        (np.uint8, 120, np.uint8, 128),
        (np.uint8, 120, np.uint8, 101),
        (np.int16, 0, np.int8, 0),
        (np.uint16, 32768, np.int8, 0),
    ],
)
def test_a_qdq_network_runs_in_integers(
    dtype: Any, zero: int, weight: Any, weight_zero: int, per_channel: bool
) -> None:
    m = network(dtype, zero, weight, weight_zero, per_channel)
    ran = Ran(m.model(m.nodes[-1].output[0]), image(1, 3, 9, 9)).integers()
    assert not ran.decisions
    for ours, theirs in zip(ran.ours, ran.theirs, strict=True):
        assert np.abs(ours - theirs).max() < 2.5 * 0.2


@pytest.mark.parametrize("op", ["Conv", "Gemm", "MatMul"])
@pytest.mark.parametrize(("weight", "zero"), [(np.int8, 0), (np.uint8, 128), (np.uint8, 90)])
def test_each_weighted_operator_is_within_one_step(op: str, weight: Any, zero: int) -> None:
    m = Maker()
    x = m.qdq(m.input(2, 4, 8, 8) if op == "Conv" else m.input(64, 24), 0.03, 120)
    shape = (5, 4, 3, 3) if op == "Conv" else (24, 5)
    y = m.node(op, x, m.weights(shape, np.float32(0.004), zero, weight))
    model = m.model(m.qdq(y, 0.05, 110))
    feed = image(2, 4, 8, 8) if op == "Conv" else image(64, 24)
    Ran(model, feed).within(0.05, 0.02).integers()


@pytest.mark.parametrize("op", ["Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Clip", "Softmax"])
def test_functions_are_on_the_grids_of_the_model(op: str) -> None:
    m = Maker()
    x = m.qdq(m.input(4, 64), 0.03, 120)
    y = m.qdq(m.node(op, x), 0.01, 100)
    # A softmax is rounded to its own grid first.
    part = 0.1 if op == "Softmax" else 0.03
    Ran(m.model(y), image(4, 64)).within(0.01, part).integers()


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "MatMul"])
def test_two_tensors_of_other_grids(op: str) -> None:
    m = Maker()
    a, b = m.qdq(m.input(32, 32), 0.0313, 120), m.qdq(m.input(32, 32), 0.0207, 3, np.int8)
    model = m.model(m.qdq(m.node(op, a, b), 0.1, 128))
    feed = {n: RNG.normal(size=(32, 32)).astype(np.float32) for n in ("x0", "x1")}
    Ran(model, feed).within(0.1, 0.02).integers()


def test_concat_requantizes_what_is_on_another_grid() -> None:
    m = Maker()
    a, b = m.qdq(m.input(4, 8), 0.03, 120), m.qdq(m.input(4, 8), 0.02, 100)
    model = m.model(m.qdq(m.node("Concat", a, b, axis=1), 0.03, 120))
    feed = {n: RNG.normal(size=(4, 8)).astype(np.float32) for n in ("x0", "x1")}
    Ran(model, feed).within(0.03, 0.01).integers()


def test_integers_are_moved_between_quantize_and_dequantize() -> None:
    m = Maker()
    s, z = m.const(0.03), m.const(120, np.uint8)
    q = m.node("QuantizeLinear", m.input(1, 4, 6, 6), s, z)
    q = m.node("MaxPool", q, kernel_shape=[2, 2], strides=[2, 2])
    q = m.node("Transpose", q, perm=[0, 2, 3, 1])
    q = m.node("Reshape", q, m.const([4, 9], np.int64))
    y = m.node("DequantizeLinear", q, s, z)
    Ran(m.model(y), image(1, 4, 6, 6)).within(0.03, 0).integers()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_quantized_ports_hold_integers(dtype: Any) -> None:
    m = Maker()
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = m.node("DequantizeLinear", m.input(4, 8, dtype=code), m.const(0.02), m.const(7, dtype))
    w = m.weights((8, 3), np.float32(0.01), 0, np.int8)
    y = m.node("QuantizeLinear", m.node("MatMul", x, w), m.const(0.05), m.const(9, dtype))
    feed = {"x0": RNG.integers(0, 100, (4, 8)).astype(dtype)}
    Ran(m.model(y, dtype=code), feed).within(1, 0.1)


@pytest.mark.parametrize("opset", [10, 13, 19, 21, 23])
def test_weights_fold_in_every_opset(opset: int) -> None:
    m = Maker(opset)
    w = m.weights((8, 4), np.float32(0.01), 3, np.uint8)
    Ran(m.model(m.node("MatMul", m.input(2, 8), w)), image(2, 8)).within(1e-5, 0)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_blocks_of_four_bit_weights_fold(dtype: Any) -> None:
    m = Maker(21)
    scale = RNG.uniform(0.01, 0.02, (4, 6)).astype(np.float32)
    w = m.weights((16, 6), scale, np.ones((4, 6), dtype), dtype, axis=0, block_size=4)
    Ran(m.model(m.node("MatMul", m.input(2, 16), w)), image(2, 16)).within(1e-4, 0)


def test_what_has_no_grid_stays_float_and_is_named() -> None:
    m = Maker()
    x = m.qdq(m.input(4, 8), 0.03, 120)
    y = m.node("MatMul", x, m.weights((8, 3), np.float32(0.01), 0, np.int8))
    y = m.node("Exp", y)
    ran = Ran(m.model(m.qdq(y, 0.05, 9)), image(4, 8)).within(0.05, 0.05)
    assert any("kept float" in d.what for d in ran.decisions)


def test_a_grid_per_channel_of_an_activation_is_rounded_to() -> None:
    m = Maker()
    x = m.qdq(m.input(4, 3, 5, 5), [0.03, 0.1, 0.4], [0, 8, 200], axis=1)
    Ran(m.model(x), image(4, 3, 5, 5)).within(0.03, 0)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_a_grid_per_channel_in_front_of_a_depthwise_convolution_is_free(dtype: Any) -> None:
    m = Maker(21)
    w = m.weights((4, 3, 1, 1), RNG.uniform(0.002, 0.01, 4), np.zeros(4), np.int8, axis=0)
    y = m.node("Conv", m.qdq(m.input(4, 3, 6, 6), 0.03, 0, np.int8), w)
    step = np.array([0.004, 0.01, 0.05, 0.001]) / (100 if dtype == np.int16 else 1)
    y = m.qdq(m.node("Relu", y), step, np.zeros(4), dtype, axis=1)
    w = m.weights((4, 1, 3, 3), RNG.uniform(0.002, 0.01, 4), np.zeros(4), np.int8, axis=0)
    y = m.qdq(m.node("Conv", y, w, group=4), 0.03, 0, np.int8)
    ran = Ran(m.model(y), image(4, 3, 6, 6)).within(0.03, 0.01).integers()
    assert not ran.decisions and len(ran.ops) <= 4, ran.ops


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    m = Maker()
    with pytest.raises(UserError, match="scale must be a positive number"):
        load(m.model(m.qdq(m.input(4, 8), scale, 0)).SerializeToString())


def test_a_relu_that_is_left_to_the_zero_point_clips() -> None:
    m = Maker()
    x = m.qdq(m.input(4, 8), 0.03, 120)
    y = m.node("MatMul", x, m.weights((8, 3), np.float32(0.01), 0, np.int8))
    ran = Ran(m.model(m.qdq(y, 0.05, 0)), image(4, 8)).within(0.05, 0.1).integers()
    assert ran.ours[0].min() == 0


def half_precision() -> Maker:
    """As exports with keep_io_types are: float16 between two Casts."""
    m = Maker()
    y = m.node("Cast", m.input(1, 3, 8, 8), to=10)
    w = [m.const(RNG.normal(size=s) * 0.3, np.float16) for s in ((6, 3, 3, 3), (6,), (6, 4))]
    y = m.node("Relu", m.node("Conv", y, *w[:2], pads=[1, 1, 1, 1]))
    y = m.node("Flatten", m.node("GlobalAveragePool", y))
    m.node("Cast", m.node("MatMul", y, w[2]), to=1)
    return m


def test_float16_with_float32_ports() -> None:
    m = half_precision()
    feed, model = image(1, 3, 8, 8), m.model(m.nodes[-1].output[0])
    ran = Ran(model, feed)
    np.testing.assert_allclose(ran.ours[0], ran.theirs[0], rtol=2e-3, atol=2e-3)
    graph = load(model.SerializeToString(), finite=True)
    made, decisions = quantize_graph(graph, calibrate(graph, [feed]).extremes())
    assert not decisions
    ops = op_counts(read(build_file(made)))
    assert not [op for op, of in ops.items() if "float32" in of], ops


def test_quantize_fills_in_what_has_no_grid() -> None:
    m = Maker()
    x = m.qdq(m.input(1, 8), 0.03, 120)
    y = m.node("MatMul", x, m.weights((8, 6), np.float32(0.01), 0, np.int8))
    y = m.node("Relu", y)
    y = m.node("MatMul", y, m.weights((6, 3), np.float32(0.01), 0, np.int8))
    graph = load(m.model(y).SerializeToString(), finite=True)
    feeds = [image(1, 8) for _ in range(8)]
    done = quantize_model(graph, feeds)
    data = build_file(done.graph)
    ops = op_counts(read(data))
    assert not [op for op, of in ops.items() if "float32" in of], ops
    (given,) = [p.value.quant for p in done.graph.inputs]
    assert given is not None and given.scale == (float(np.float32(0.03)),)
    assert given.zero_point == 120 - 128
    weights = [n.input(1) for n in done.graph.nodes if n.op == "FullyConnected"]
    for w in weights:  # as they came: multiples of the model's step
        assert w.quant is not None
        steps = np.array(w.quant.scale) / 0.01
        np.testing.assert_allclose(steps, np.rint(steps), atol=1e-4)


def test_weights_of_a_quantized_model_are_not_rounded_to_four_bits() -> None:
    m = Maker()
    y = m.qdq(m.node("Relu", m.qdq(m.input(1, 8), 0.03, 120)), 0.03, 0)
    graph = load(m.model(y).SerializeToString(), finite=True)
    with pytest.raises(UserError, match="already quantized"):
        quantize_model(graph, [image(1, 8)], weights="int4")


@pytest.mark.parametrize(
    ("op", "size", "on_a_grid"),
    [
        *(("Softmax", 10, False), ("Softmax", 10, True)),
        *(("Sigmoid", 1, False), ("Sigmoid", 1, True), ("ArgMax", 10, False)),
    ],
)
def test_answers_behind_a_given_grid_are_judged(
    tmp_path: Path, op: str, size: int, on_a_grid: bool
) -> None:
    """A softmax, sigmoid or arg-max that reads a DequantizeLinear, by `quantize` and `check`."""
    m = Maker(17)
    w = m.weights((size, 12), np.float32(0.02), 0, np.int8)
    x = m.qdq(m.input(1, 12), 0.03, 0, np.int8)
    z = m.qdq(m.node("Gemm", x, w, transB=1), 0.1, 0, np.int8)
    y = m.node(op, z, **({} if op == "Sigmoid" else {"axis": 1}))
    if on_a_grid:
        y = m.node("Reshape", m.qdq(y, 1 / 256, -128, np.int8), m.const([size], np.int64))
    onnx_file, edge_file = tmp_path / "m.onnx", tmp_path / "m.edge"
    dtype = TensorProto.INT64 if op == "ArgMax" else TensorProto.FLOAT
    onnx.save(m.model(y, dtype=dtype), onnx_file)
    samples = {"x0": RNG.normal(size=(40, 1, 12)).astype(np.float32)}
    done = edgekit.quantize(onnx_file, samples, edge_file)
    assert done.quality.level == "good" and (done.quality.answers or done.quality.sqnr_db)
    seen = edgekit.check(edge_file, onnx_file, samples).quality
    assert seen.level == "good" and (seen.answers or seen.sqnr_db)


@pytest.mark.parametrize("op", ["PRelu", "Pad"])
def test_a_quantized_model_is_explained_and_compared_on_its_grids(tmp_path: Path, op: str) -> None:
    m = Maker(17)
    x = m.qdq(m.input(1, 4, 6, 6), 0.03, 0, np.int8)
    w = m.weights((8, 4, 3, 3), np.float32(0.01), 0, np.int8)
    x = m.qdq(m.node("Conv", x, w), 0.05, -10, np.int8)
    given = {"PRelu": m.const(np.full((8, 1, 1), 0.2)), "Pad": m.const([0, 0, 1, 1] * 2, np.int64)}
    x = m.qdq(m.node(op, x, given[op]), 0.05, -10, np.int8)
    w = m.weights((2, 8, 3, 3), np.float32(0.01), 0, np.int8)
    y = m.qdq(m.node("Conv", x, w), 0.05, 0, np.int8)
    onnx_file, edge_file = tmp_path / "m.onnx", tmp_path / "m.edge"
    onnx.save(m.model(y), onnx_file)
    samples = {"x0": RNG.normal(size=(12, 1, 4, 6, 6)).astype(np.float32)}
    done = edgekit.quantize(onnx_file, samples, edge_file)
    assert done.explanation is not None and done.explanation.layers
    seen = edgekit.check(edge_file, onnx_file, samples).quality
    # Against the network without its grids, `check` measures 33 and 36 dB.
    assert min(*seen.sqnr_db.values(), *done.quality.sqnr_db.values()) > 40


def test_what_has_no_grid_is_promoted_where_int8_breaks_it(tmp_path: Path) -> None:
    m = Maker(17)
    x = m.qdq(m.input(1, 12), 0.03, 0, np.int8)
    z = m.node("Gemm", x, m.weights((8, 12), np.float32(0.02), 0, np.int8), transB=1)
    large = m.node("Relu", m.node("Add", z, m.const(np.full(8, 800.0))))
    y = m.qdq(m.node("Sub", large, m.const(np.full(8, 800.0))), 0.05, 0, np.int8)
    onnx_file, edge_file = tmp_path / "m.onnx", tmp_path / "m.edge"
    onnx.save(m.model(y), onnx_file)
    samples = {"x0": RNG.normal(size=(40, 1, 12)).astype(np.float32)}
    warned = edgekit.quantize(onnx_file, samples, edge_file, on_low_accuracy="warn")
    assert warned.quality.level == "broken"
    done = edgekit.quantize(onnx_file, samples, edge_file)
    assert done.quality.level == "good" and done.promotion is not None
    session, model = edgekit.Session(edge_file), m.model(y)
    truth = np.stack([exact(model, {"x0": x})[0] for x in samples["x0"]])
    ours = np.stack([next(iter(session.run({"x0": x}).values())) for x in samples["x0"]])
    assert np.square(ours - truth).sum() < 0.01 * np.square(truth).sum()
