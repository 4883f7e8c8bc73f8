"""LayerNorm: ONNX's node cases, onnxruntime, real numbers, and C against the integers."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.fixed_point import inverse_root
from edgekit.toolkit.ir import Node, QuantParams, TensorType, Value, constant
from edgekit.toolkit.numerics import W8A16
from edgekit.toolkit.ops import definition

BACKEND_OPS = {
    "LayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization",
}  # fmt: skip
PARAMETERS = {"RMSNormalization": 1, "InstanceNormalization": 1}
NORM = definition("LayerNorm")

SHAPES = [
    ((5, 384), (1,), (384,)),
    ((2, 3, 17), (2,), (17,)),
    ((2, 3, 4, 5), (2, 3), (4, 5)),
    ((2, 3, 4, 5), (3,), (4, 1)),
    ((2, 6, 3, 3), (2, 3), (6, 1, 1)),
    ((2, 3, 3, 6), (1, 2), (6,)),
    ((2, 5, 3, 2), (1,), (5, 1, 1)),
    ((2, 3, 2, 9), (2, 3), (3, 2, 1)),
    ((2, 3, 2), (0, 1, 2), (1,)),
    ((4, 1), (1,), (1,)),
    ((7, 2), (1,), (2,)),
    ((3, 1000), (1,), (1000,)),
    ((9, 4), (0,), (1, 4)),
    ((2, 3, 4), (1, 2), (4,)),
    ((3, 4, 5), (0, 1), (4, 1)),
    ((2, 3, 4, 5), (1, 2, 3), (4, 1)),
]


def test_backend(backend_case):
    backend_case.check(1e-4, 1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -2])
def test_layer_normalization_of_any_axis(run_onnx, axis, bias):
    rng = np.random.default_rng(axis + 5)
    x = rng.normal(3, 2, (2, 3, 4, 37)).astype(np.float32)
    given = {"s": rng.normal(1, 1, x.shape[axis:]).astype(np.float32)}
    if bias:
        given["b"] = rng.normal(0, 1, x.shape[axis:]).astype(np.float32)
    run_onnx("LayerNormalization", {"x": x}, given, axis=axis, epsilon=1e-3).agree(1e-5)


def test_computed_scales(run_onnx):
    x = np.random.default_rng(0).normal(3, 2, (2, 3, 5)).astype(np.float32)
    more = {n: np.linspace(0.5, 2, 5).astype(np.float32) for n in "sb"}
    run_onnx("LayerNormalization", {"x": x, **more}).agree(1e-5)


def test_a_long_line_far_from_zero_keeps_its_digits(run_onnx):
    x = np.random.default_rng(0).normal(50, 1, (1, 2, 300, 300)).astype(np.float32)
    one, none = np.ones(2, np.float32), np.zeros(2, np.float32)
    ran = run_onnx("InstanceNormalization", {"x": x}, {"s": one, "b": none})
    real = x.astype(np.float64) - x.mean(axis=(2, 3), keepdims=True, dtype=np.float64)
    real /= np.sqrt((real**2).mean(axis=(2, 3), keepdims=True) + 1e-5)
    np.testing.assert_allclose(ran.ours[0], real, atol=2e-5)


@pytest.mark.parametrize("shape", [(2, 6, 5), (2, 6, 5, 4), (1, 6, 2, 3, 4)])
def test_instance_and_group_normalization(run_onnx, shape):
    rng = np.random.default_rng(7)
    x = rng.normal(1, 2, shape).astype(np.float32)
    given = {n: rng.normal(1, 1, 6).astype(np.float32) for n in "sb"}
    run_onnx("InstanceNormalization", {"x": x}, given).agree(1e-5)
    for groups in (1, 2, 6):
        run_onnx("GroupNormalization", {"x": x}, given, num_groups=groups).agree(1e-5)


def parameters(rng, scale_shape, spread=1.0):
    """Scale and bias, one scale being 0."""
    scale = rng.normal(1, spread, scale_shape).astype(np.float32)
    scale.flat[0] = 0 if scale.size > 2 else 1
    return constant(scale, "s"), constant(rng.normal(0, 1, scale_shape).astype(np.float32), "b")


def real_result(node, q):
    """In double precision, of the dequantized input, in steps of the output."""
    x, s, b, factor = [*node.inputs, None][:4]
    real = (q.astype(np.float64) - x.quant.zero_point) * x.quant.scalar
    real = real if factor is None else real * factor.const
    axes = node.attrs["axes"]
    if node.attrs["centered"]:
        real = real - real.mean(axis=axes, keepdims=True)
    variance = (real**2).mean(axis=axes, keepdims=True) + node.attrs["epsilon"]
    with np.errstate(invalid="ignore"):
        y = np.nan_to_num(real / np.sqrt(variance))
    y = y if s is None else y * s.const
    y = y if b is None else y + b.const
    out = node.output.quant
    return np.clip(y / out.scalar + out.zero_point, out.qmin, out.qmax)


def most(node):
    """The error allowed, in steps: one rounding, and the bits of a normalized element."""
    x, s = node.inputs[:2]
    axis = np.prod([x.shape[a] for a in node.attrs["axes"]])
    bits = 28 - np.ceil(np.log2(axis) / 2)
    largest = 1 if s is None else np.abs(s.const).max()
    return 0.501 + largest / node.output.quant.scalar * 2.0**-bits


def extremes(node, rng):
    """Inputs that hurt: all equal, one that differs, the two ends, nearly equal, and any."""
    x = node.input(0)
    low, high = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    for fill in (low, high, x.quant.zero_point):
        yield np.full(x.shape, fill, x.dtype)
        one = np.full(x.shape, fill, x.dtype)
        one.flat[:: max(one.shape[-1], 2)] = low if fill == high else fill + 1
        yield one
    yield np.where(rng.random(x.shape) < 0.5, low, high).astype(x.dtype)
    yield (x.quant.zero_point + rng.integers(0, 2, x.shape)).astype(x.dtype)
    yield np.clip(rng.normal(0, high / 4, x.shape), low, high).astype(x.dtype)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("scales", [(0.05, 0.03), (1e-4, 0.02), (3.0, 0.01)])
@pytest.mark.parametrize(("shape", "axes", "scale_shape"), SHAPES)
def test_integers_are_the_rounded_real_result(integers, shape, axes, scale_shape, scales, centered):
    attrs = {"axes": axes, "epsilon": 1e-5, "centered": centered}
    s, b = parameters(integers.rng, scale_shape)
    for zero in (-128, 11, 127):
        x, out = integers.value(shape, scales[0], zero), QuantParams((scales[1],), -zero // 2)
        node = integers.node("LayerNorm", [x, s, b], out, **attrs)
        assert NORM.accumulator_problem(node) is None
        for data in (integers.data(x), *extremes(node, integers.rng)):
            q = integers.agree(node, {x: data})
            assert np.abs(q - real_result(node, data)).max() < most(node)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("scales", [(1e-3, 1e-4), (1e-6, 2e-4), (0.5, 3e-5)])
@pytest.mark.parametrize(("shape", "axes", "scale_shape"), SHAPES)
def test_int16_is_the_rounded_real_result(integers, shape, axes, scale_shape, scales, centered):
    attrs = {"axes": axes, "epsilon": 1e-5, "centered": centered}
    s, b = parameters(integers.rng, scale_shape)
    x, out = integers.value16(shape, scales[0]), QuantParams.int16(scales[1])
    node = integers.node("LayerNorm", [x, s, b], out, **attrs)
    assert NORM.accumulator_problem(node) is None
    for data in (integers.data(x), *extremes(node, integers.rng)):
        q = integers.agree(node, {x: data})
        assert q.dtype == np.int16
        assert np.abs(q - real_result(node, data)).max() < most(node) < 0.57


FACTORS = [((5, 384), (1,), (384,)), ((2, 6, 3, 3), (2, 3), (6, 1, 1)), ((4, 33), (1,), (33,))]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize(("shape", "axes", "factors"), FACTORS)
def test_channels_of_the_input_have_powers_of_two(integers, shape, axes, factors, centered, wide):
    exponents = integers.rng.integers(-6, 1, factors)
    s, b = parameters(integers.rng, factors)
    f = constant(np.exp2(exponents).astype(np.float32), "f")
    x = integers.value16(shape, 1e-3) if wide else integers.value(shape, 0.5, -20)
    out = QuantParams.int16(2e-4) if wide else QuantParams((0.05,), 9)
    attrs = {"axes": axes, "epsilon": 1e-5, "centered": centered}
    node = integers.node("LayerNorm", [x, s, b, f], out, **attrs)
    assert NORM.accumulator_problem(node) is None
    for data in (integers.data(x), *extremes(node, integers.rng)):
        q = integers.agree(node, {x: data})
        assert np.abs(q - real_result(node, data)).max() < most(node) < 0.57


def test_shifts_shorten_the_longest_line(integers):
    f = constant(np.exp2(-np.arange(8)).astype(np.float32), "f")
    attrs = {"axes": (0, 1), "epsilon": 1e-5, "centered": True}
    for rows, problem in ((4096, None), (8192, "longer than 32896")):
        node = integers.node("LayerNorm", [integers.value((rows, 8)), None, None, f], **attrs)
        found = NORM.accumulator_problem(node)
        assert found is problem if problem is None else problem in found
    wrong = constant(np.full(8, 0.75, np.float32), "f")
    with pytest.raises(ValueError, match="powers of two"):
        integers.node("LayerNorm", [integers.value((4, 8)), None, None, wrong], **attrs)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("axis", [255, 256, 257, 4096, 4097, 1 << 15])
def test_long_lines(integers, axis, wide):
    x = integers.value16((2, axis)) if wide else integers.value((2, axis), 0.05, -128)
    out = QuantParams.int16(1e-3) if wide else QuantParams((0.05,), 3)
    for centered in (True, False):
        attrs = {"axes": (1,), "epsilon": 1e-6, "centered": centered}
        node = integers.node("LayerNorm", [x, None, None], out, **attrs)
        for data in (integers.data(x), *extremes(node, integers.rng)):
            q = integers.agree(node, {x: data})
            assert np.abs(q - real_result(node, data)).max() < most(node)


def test_the_longest_line_of_int8(integers):
    x = integers.value((1 << 22,), 0.05, -128)
    attrs = {"axes": (0,), "epsilon": 1e-5, "centered": True}
    node = integers.node("LayerNorm", [x, None, None], QuantParams((0.02,)), **attrs)
    data = integers.data(x)
    assert np.abs(integers.agree(node, {x: data}) - real_result(node, data)).max() < most(node)
    longer = integers.value(((1 << 30) // 255 + 1,))
    assert "longer" in NORM.accumulator_problem(integers.node("LayerNorm", [longer], **attrs))


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-2, 1e3, 1e4])
def test_an_epsilon_of_any_size(integers, epsilon):
    """Small variances are where it counts."""
    x = integers.value((64, 8), 0.01, 5)
    data = integers.rng.integers(4, 7, (64, 8)).astype(np.int8)
    largest = 3 / np.sqrt(1 + epsilon / 0.01**2)
    attrs = {"axes": (1,), "epsilon": epsilon, "centered": True}
    node = integers.node("LayerNorm", [x, None, None], QuantParams((largest / 127,)), **attrs)
    assert NORM.accumulator_problem(node) is None
    q = integers.agree(node, {x: data})
    assert np.abs(q - real_result(node, data)).max() < most(node) < 0.57


def test_a_fused_clamp_bounds_the_result(integers):
    x = integers.value((50, 6), 0.05, 3)
    attrs = {"axes": (1,), "epsilon": 1e-5, "centered": True, "act_min": 0.0, "act_max": 0.5}
    q = integers.agree(integers.node("LayerNorm", [x, None, None], QuantParams((0.05,)), **attrs))
    assert q.min() == 0 and q.max() == 10


def test_inverse_roots_are_near():
    rng = np.random.default_rng(0)
    around = [(1 << k) + d for k in range(2, 62) for d in (-1, 0, 1)]
    anything = (2 ** rng.uniform(0, 62.9, 100000)).astype(np.int64)
    radicand = np.concatenate([[1, 2, 3, (1 << 63) - 1], around, anything]).astype(np.int64)
    r, e = inverse_root(radicand)
    ratio = np.ldexp(r.astype(np.float64), -44 - e) * np.sqrt(radicand.astype(np.float64))
    assert r.max() < 1 << 30 and np.abs(ratio - 1).max() < 2.0**-28


def test_what_has_no_integer_form_says_why(integers):
    def node(x, y, epsilon=1e-5, scale=1.0):
        s = constant(np.full(4, scale, np.float32), "s")
        attrs = {"axes": (1,), "epsilon": epsilon, "centered": True}
        return integers.node(
            "LayerNorm", [integers.value((2, 4), x), s], QuantParams((y,)), **attrs
        )

    assert "epsilon" in NORM.accumulator_problem(node(1e-7, 0.1, 1e6))
    assert "too small" in NORM.accumulator_problem(node(0.1, 1e-9))
    x = Value("x", TensorType(np.dtype(np.float32), (2, 1 << 16)))
    long = Node("LayerNorm", [x], [], {"axes": (1,), "epsilon": 1e-5, "centered": True})
    assert NORM.integer_problem(long) is None
    assert "longer" in NORM.problem(long, W8A16)
    wild = constant(np.full(1, np.inf, np.float32), "s")
    long.inputs.append(wild)
    assert "finite" in NORM.integer_problem(long)
