"""PRelu: ONNX's node cases, onnxruntime, real numbers, and C against the integers."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import Node, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition

BACKEND_OPS = {"PRelu"}
PRELU = definition("PRelu")

SHAPES = [
    ((2, 3, 4, 5), (5,)),
    ((2, 3, 4, 33), (1, 1, 33)),
    ((2, 3, 4, 5), (3, 1, 1)),
    ((2, 6, 1, 7), (6, 1, 7)),
    ((2, 3, 4), (2, 3, 4)),
    ((1, 40), (1, 40)),
    ((3, 17), (1,)),
]
SCALES = [(0.05, 0.05), (0.05, 0.031), (0.02, 0.3), (0.5, 0.01)]


def test_backend(backend_case):
    backend_case.check(1e-6)


def test_slopes_broadcast(run_onnx):
    x = np.random.default_rng(0).normal(size=(1, 3, 4, 5)).astype(np.float32)
    slope = np.array([0.1, -0.5, 2], np.float32).reshape(3, 1, 1)
    run_onnx("PRelu", {"x": x}, {"slope": slope}).agree(rtol=0)


def slopes(shape, low=-0.5, high=1.5):
    made = np.random.default_rng(len(shape)).uniform(low, high, shape).astype(np.float32)
    made.flat[0] = 0
    return constant(made, "slope")


@pytest.mark.parametrize("zeros", [(-128, -128), (127, 127), (9, -20)])
@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize(("shape", "slope"), SHAPES)
def test_integers_are_the_rounded_real_result(integers, shape, slope, scales, zeros):
    x = integers.value(shape, scales[0], zeros[0])
    c, out = slopes(slope), QuantParams((scales[1],), zeros[1])
    node = integers.node("PRelu", [x, c], out)
    assert PRELU.accumulator_problem(node) is None
    data = integers.data(x)
    q = integers.agree(node, {x: data})
    real = (data.astype(np.float64) - zeros[0]) * scales[0]
    exact = np.where(real >= 0, real, real * c.const.astype(np.float64)) / scales[1] + zeros[1]
    assert np.abs(q - np.clip(exact, -128, 127)).max() < 0.501


@pytest.mark.parametrize("ratio", [1.0, 0.37, 2.9, 50.0])
@pytest.mark.parametrize(("shape", "slope"), SHAPES)
def test_int16_is_the_rounded_real_result(integers, shape, slope, ratio):
    x, c = integers.value16(shape, 0.001), slopes(slope)
    node = integers.node("PRelu", [x, c], QuantParams.int16(0.001 / ratio))
    data = integers.data(x)
    q = integers.agree(node, {x: data})
    real = data.astype(np.float64) * ratio
    exact = np.where(real >= 0, real, real * c.const.astype(np.float64))
    assert q.dtype == np.int16
    assert np.abs(q - np.clip(exact, -32767, 32767)).max() <= 0.5 + 0.02 * ratio


def test_a_fused_clamp_bounds_the_result(integers):
    x = integers.value((50, 6), 0.05, 3)
    node = integers.node("PRelu", [x, slopes((6,))], QuantParams((0.05,), 0), act_max=1.0)
    assert integers.agree(node).max() == 20


def test_the_output_scale_may_be_too_small(integers):
    node = integers.node("PRelu", [integers.value((2, 3), 1.0), slopes((3,))], QuantParams((1e-7,)))
    assert "too small" in (PRELU.accumulator_problem(node) or "")


def test_what_has_no_integer_form_says_why():
    def problem(*shape, const=True, fill=0.25):
        x = Value("x", TensorType(np.dtype(np.float32), (2, 3, 4, 5)))
        slope = constant(np.full(shape, fill, np.float32), "slope")
        if not const:
            slope = Value("slope", slope.type)
        return PRELU.integer_problem(Node("PRelu", [x, slope], []))

    assert problem(5) is None
    assert problem(1) is None
    assert "not neighbours" in (problem(3, 1, 5) or "")
    assert "computed" in (problem(5, const=False) or "")
    assert "finite" in (problem(5, fill=np.inf) or "")
