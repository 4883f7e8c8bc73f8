"""FullyConnected and Gemm against ONNX and onnxruntime, their integers against every table."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit import fixed_point
from edgekit.toolkit.ir import Node, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition

BACKEND_OPS = {"Gemm"}
PARAMETERS = {"Gemm": 1}


def test_onnx_backend_case(backend_case):
    got = backend_case.run()
    for name, want in backend_case.want.items():
        np.testing.assert_allclose(got[name], want, rtol=1e-5, atol=1e-5)


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


def int8_node(rng, shape, n, zero=5, bias=True, out=None, **act):
    k = shape[-1]
    x = Value("x", TensorType(np.dtype(np.int8), shape), quant=QuantParams((0.05,), zero))
    scales = tuple(float(s) for s in rng.uniform(0.2, 1.8, n) * 0.25 / np.sqrt(k))
    w = constant(rng.integers(-127, 128, (n, k)).astype(np.int8), "w", QuantParams(scales, axis=0))
    b = constant(rng.integers(-3000, 3000, n).astype(np.int32), "b") if bias else None
    node = Node("FullyConnected", [x, w, b], [], act, "fc")
    quant = out or QuantParams((0.9,), -7)
    node.outputs = [Value("out", definition("FullyConnected").infer(node)[0], quant=quant)]
    return node


def test_the_integer_reference_is_the_sum_it_says(integers):
    node = int8_node(integers.rng, (3, 11), 4)
    x, w, b = integers.data(node.input(0)), node.input(1).const, node.input(2).const
    acc = (x.astype(int) - 5) @ w.astype(int).T + b
    ratios = 0.05 * np.array(node.input(1).quant.scale) / 0.9
    want = np.zeros((3, 4), np.int8)
    for o in range(4):
        m, shift = fixed_point.multiplier(float(ratios[o]))
        want[:, o] = fixed_point.requantize(acc[:, o], m, shift, -7, -128, 127)
    got = definition("FullyConnected").integer(node, [x, w, b])[0]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("k", [1, 3, 16, 63, 64, 65, 640])
@pytest.mark.parametrize("n", [1, 2, 10, 16, 35])
@pytest.mark.parametrize("lead", [(1,), (3,), (2, 7)])
def test_kernels_give_the_bytes_of_the_reference(integers, k, n, lead):
    integers.agree(int8_node(integers.rng, (*lead, k), n))


def test_worst_inputs_at_the_largest_sums(integers):
    """All weights and inputs at their extremes, as long as the toolkit lets them be summed."""
    k = (1 << 30) // (128 * 127 * 2) - 1
    node = int8_node(integers.rng, (1, k), 2, zero=-128, bias=False, out=QuantParams((3e3,), 1))
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


def test_an_activation_is_a_clamp_in_the_output(integers):
    got = integers.agree(int8_node(integers.rng, (9, 30), 8, act_min=0.0, act_max=6.0))
    assert got.min() == -7 and got.max() == 0
