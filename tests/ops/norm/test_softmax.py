"""Softmax: ONNX's node cases, onnxruntime, real arithmetic, and every kernel table."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.norm.softmax import OUTPUT, OUTPUT16, exponentials, exponentials16

BACKEND_OPS = {"Softmax", "LogSoftmax"}


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-6)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize(("shape", "axis"), [((2, 1000), 1), ((2, 3, 4, 5), 1), ((6, 1), -1)])
def test_onnxruntime_agrees(run_onnx, op, shape, axis):
    x = np.random.default_rng(4).normal(0, 20, shape).astype(np.float32)
    run_onnx(op, {"x": x}, axis=axis).agree(1e-5)


SHAPES = [((2, 10), 1), ((3, 1001), 1), ((2, 7, 5), 1), ((1, 1), 1), ((70000,), 0), ((4, 3), 0)]


@pytest.mark.parametrize("scale", [1e-3, 0.05, 0.7, 30.0])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_integers_are_the_same_on_all_kernels(integers, scale, shape, axis):
    node = integers.node("Softmax", [integers.value(shape, scale, 3)], OUTPUT, axis=axis)
    integers.agree(node)
    low = np.full(shape, -128, np.int8)
    integers.agree(node, {node.input(0): low})


@pytest.mark.parametrize("scale", [1e-3, 0.05, 0.7])
@pytest.mark.parametrize(("shape", "axis"), SHAPES[:3], ids=str)
def test_integers_are_the_real_probabilities_within_half_a_step(integers, scale, shape, axis):
    x = integers.value(shape, scale, -4)
    node = integers.node("Softmax", [x], OUTPUT, axis=axis)
    q = integers.data(x)
    real = np.exp((q.astype(np.float64) + 4) * scale)
    want = np.minimum(real / real.sum(axis=axis, keepdims=True) * 256, 255) - 128
    got = definition("Softmax").integer(node, [q])[0]
    assert np.abs(got - want).max() <= 0.501


@pytest.mark.parametrize("axis", [1, 2, 255, 256, 257, 1 << 20, (1 << 30) - 1])
def test_exponentials_never_overflow_their_sum(axis):
    table = exponentials(1e-9, axis)
    assert table[0] > 0 and int(table.max()) * axis < 1 << 31
    assert int(table.max()) * 256 + (1 << 30) < 1 << 32


@pytest.mark.parametrize("scale", [1e-6, 1e-4, 3e-3, 0.5])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_int16_is_the_same_on_all_kernels(integers, scale, shape, axis):
    node = integers.node("Softmax", [integers.value16(shape, scale)], OUTPUT16, axis=axis)
    integers.agree(node)
    low = np.full(shape, -32768, np.int16)
    integers.agree(node, {node.input(0): low})


@pytest.mark.parametrize("scale", [1e-6, 1e-4, 3e-4, 2e-3])
@pytest.mark.parametrize(("shape", "axis"), SHAPES[:3], ids=str)
def test_int16_is_the_real_probabilities_within_a_step(integers, scale, shape, axis):
    node = integers.node("Softmax", [integers.value16(shape, scale)], OUTPUT16, axis=axis)
    q = integers.data(node.input(0))
    real = np.exp((q.astype(np.float64) - q.max(axis=axis, keepdims=True)) * scale)
    want = np.minimum(real / real.sum(axis=axis, keepdims=True) * 32768, 32767)
    got = definition("Softmax").integer(node, [q])[0]
    assert np.abs(got - want).max() <= 1.0


@pytest.mark.parametrize("axis", [1, 2, 65535, 65536, 65537, 1 << 20, (1 << 31) - 1])
def test_int16_exponentials_never_overflow_their_sum(axis):
    for scale in (1e-9, 1e-3):
        high, low = (t.astype(object) for t in exponentials16(scale, axis))
        assert high[0] > 0 and high.max() * axis < 1 << 32
        assert high.max() * low.max() + (1 << 14) < 1 << 32
        e = (high.max() * low.max() + (1 << 14)) >> 15
        assert e <= high.max() and e * 32768 + high.max() * axis // 2 < 1 << 32


def test_the_logarithm_stays_float(integers):
    node = integers.node("LogSoftmax", [integers.value((4,))], axis=0)
    assert "int8" in definition("LogSoftmax").integer_problem(node)
    assert definition("Softmax").fixed_output(node, np.dtype(np.int8)) is OUTPUT
    assert definition("Softmax").fixed_output(node, np.dtype(np.int16)) is OUTPUT16
