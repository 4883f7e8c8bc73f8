"""FullyConnected and Gemm against ONNX and onnxruntime, their integers against every table."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import Node, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition

from ..conftest import activation, output_of, rounded

BACKEND_OPS = {"Gemm"}
PARAMETERS = {"Gemm": 1}
WIDE = pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-5)


@pytest.mark.parametrize("c_shape", [None, (), (1,), (5,), (1, 5), (4, 1), (4, 5)])
@pytest.mark.parametrize("b_is_constant", [True, False])
@pytest.mark.parametrize("c_is_constant", [True, False])
@pytest.mark.parametrize("turned", [0, 1])
def test_gemm_is_that_of_onnxruntime(run_onnx, c_shape, b_is_constant, c_is_constant, turned):
    rng = np.random.default_rng(5)
    tensors = {
        "a": rng.normal(size=(7, 4) if turned else (4, 7)).astype(np.float32),
        "b": rng.normal(size=(5, 7) if turned else (7, 5)).astype(np.float32),
    }
    fixed = {"b"} if b_is_constant else set()
    if c_shape is not None:
        tensors["c"] = rng.normal(size=c_shape).astype(np.float32)
        fixed |= {"c"} if c_is_constant else set()
    run_onnx(
        "Gemm",
        {k: v for k, v in tensors.items() if k not in fixed},
        {k: v for k, v in tensors.items() if k in fixed},
        order=list(tensors),
        alpha=0.5,
        beta=1.5,
        transA=turned,
        transB=turned,
    ).agree()


def fc_node(rng, shape, n, zero=5, bias=True, out=None, wide=False, **act):
    k = shape[-1]
    x = activation(shape, zero, wide)
    scales = tuple(float(s) for s in rng.uniform(0.2, 1.8, n) * 0.25 / np.sqrt(k))
    w = constant(rng.integers(-127, 128, (n, k)).astype(np.int8), "w", QuantParams(scales, axis=0))
    most = 3000 << (8 if wide else 0)
    b = constant(rng.integers(-most, most, n).astype(np.int32), "b") if bias else None
    node = Node("FullyConnected", [x, w, b], [], act, "fc")
    quant = out or output_of(0.9, -7, wide)
    node.outputs = [Value("out", definition("FullyConnected").infer(node)[0], quant=quant)]
    return node


@WIDE
def test_the_integer_reference_is_the_sum_it_says(integers, wide):
    node = fc_node(integers.rng, (3, 11), 4, wide=wide)
    x, w, b = integers.data(node.input(0)), node.input(1).const, node.input(2).const
    qx, qy = node.input(0).quant, node.output.quant
    acc = (x.astype(int) - qx.zero_point) @ w.astype(int).T + b
    ratios = qx.scalar * np.array(node.input(1).quant.scale) / qy.scalar
    columns = [rounded(acc[:, o], float(ratios[o]), qy) for o in range(4)]
    want = np.stack(columns, axis=1)
    got = definition("FullyConnected").integer(node, [x, w, b])[0]
    np.testing.assert_array_equal(got, want)


@WIDE
@pytest.mark.parametrize("k", [1, 3, 16, 63, 64, 65, 640])
@pytest.mark.parametrize("n", [1, 2, 10, 16, 35])
@pytest.mark.parametrize("lead", [(1,), (3,), (2, 7)])
def test_kernels_give_the_bytes_of_the_reference(integers, k, n, lead, wide):
    integers.agree(fc_node(integers.rng, (*lead, k), n, wide=wide))


def test_worst_inputs_at_the_largest_sums(integers):
    """All weights and inputs at their extremes, as long as the toolkit lets them be summed."""
    k = (1 << 30) // (128 * 127 * 2) - 1
    node = fc_node(integers.rng, (1, k), 2, zero=-128, bias=False, out=QuantParams((3e3,), 1))
    for sign in (1, -1):
        w = np.full((2, k), 127 * sign, np.int8)
        node.inputs[1] = constant(w, "w", QuantParams((0.1, 0.01), axis=0))
        assert definition("FullyConnected").accumulator_problem(node) is None
        for fill in (-128, 127):
            integers.agree(node, {node.input(0): np.full((1, k), fill, np.int8)})
    wide = np.full((2, k + 2), 127, np.int8)
    x = Value("x", TensorType(np.dtype(np.int8), (1, k + 2)), quant=QuantParams((0.05,), -128))
    node.inputs[:2] = [x, constant(wide, "w", QuantParams((0.1, 0.01), axis=0))]
    assert definition("FullyConnected").accumulator_problem(node) is not None


@pytest.mark.parametrize("k", [(1 << 39) // (32768 * 127) - 1, 70000, 300])
def test_worst_int16_inputs_at_the_largest_sums(integers, k):
    """The longest sum there can be, one beyond 32 bits, and one beyond a chunk of 256 products."""
    scale = 0.05 / 256 * 0.01 * k * 127 * 1.3
    out = QuantParams.int16(scale)
    node = fc_node(integers.rng, (2, k), 2, wide=True, bias=False, out=out)
    for sign in (1, -1):
        node.inputs[1] = constant(
            np.full((2, k), 127 * sign, np.int8), "w", QuantParams((0.01, 0.002), axis=0)
        )
        assert definition("FullyConnected").accumulator_problem(node) is None
        for fill in (-32768, 32767):
            got = integers.agree(node, {node.input(0): np.full((2, k), fill, np.int16)})
            assert 20000 < abs(int(got[0, 0])) < 32767


def test_int16_sums_beyond_2_39_are_refused(integers):
    k = (1 << 39) // (32768 * 127) + 1
    node = fc_node(integers.rng, (1, k), 1, wide=True, bias=False, out=QuantParams.int16(1e3))
    node.inputs[1] = constant(np.full((1, k), -127, np.int8), "w", QuantParams((0.1,), axis=0))
    assert "leaves 64 bits" in definition("FullyConnected").accumulator_problem(node)


@WIDE
def test_an_activation_is_a_clamp_in_the_output(integers, wide):
    node = fc_node(integers.rng, (9, 30), 8, act_min=0.0, act_max=6.0, wide=wide)
    got, quant = integers.agree(node), node.output.quant
    assert got.min() == quant.zero_point
    assert got.max() == round(6 / quant.scalar) + quant.zero_point
