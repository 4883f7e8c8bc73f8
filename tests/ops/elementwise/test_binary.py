"""Binary functions: ONNX's node cases, onnxruntime, and integers against real numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.toolkit.ir import Node, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops._broadcast import broadcast
from edgekit.toolkit.ops.elementwise._add_mul import (
    add_params,
    add_params16,
    mul_params,
    mul_params16,
)

BACKEND_OPS = {"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean", "Pow"}
SHAPES = [
    ((7,), (7,)),
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((2, 3, 4, 5), (5,)),
    ((5,), (2, 3, 4, 5)),
    ((2, 3, 4, 1), (2, 3, 4, 5)),
    ((2, 3, 4, 5), (1, 3, 1, 5)),
    ((2, 1, 4, 1), (1, 3, 1, 5)),
    ((1, 1, 1, 33), (1, 17, 1, 1)),
    ((4, 1, 1), ()),
    ((1,), (1,)),
]


def test_backend(backend_case):
    backend_case.check(1e-6)


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max"])
def test_floats_broadcast_as_in_onnxruntime(run_onnx, op, a, b):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(0, 2, s).astype(np.float32) for s in (a, b))
    run_onnx(op, {"x": x, "y": y}).agree(rtol=0)
    run_onnx(op, {"x": x}, {"c": y}).agree(rtol=1e-6)
    run_onnx(op, {"x": x}, {"c": y}, order=["c", "x"]).agree(rtol=1e-6)


def test_five_independent_axes_are_broadcast_by_expanding(run_onnx):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 1, 3, 1, 2)).astype(np.float32)
    y = rng.normal(size=(1, 4, 1, 5, 1)).astype(np.float32)
    run_onnx("Add", {"x": x, "y": y}).agree(rtol=0)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("op", ["Sum", "Mean", "Min", "Max"])
def test_any_number_of_inputs(run_onnx, op, count):
    rng = np.random.default_rng(0)
    feed = {f"x{i}": rng.normal(size=(3, 1 + i % 2)).astype(np.float32) for i in range(count)}
    run_onnx(op, feed).agree(rtol=1e-6)


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max"])
def test_integers_as_in_onnxruntime(run_onnx, op, a, b):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-40, 40, s).astype(np.int32) for s in (a, b))
    y[y == 0] = 7
    run_onnx(op, {"x": x, "y": y}).agree(rtol=0)
    run_onnx(op, {"x": x.astype(np.int64)}, {"c": y.astype(np.int64)}).agree(rtol=0)
    run_onnx(op, {"y": y}, {"c": x}, order=["c", "y"]).agree(rtol=0)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max"])
def test_integers_wrap(integers, op):
    limits = np.array([-(2**31), 2**31 - 1, -1, 0, 1, 65536], np.int32)
    x, y = integers.plain(np.int32, (6, 1)), integers.plain(np.int32, (6,))
    integers.agree(integers.node(op, [x, y]), {x: limits[:, None], y: limits})


@pytest.mark.parametrize("op", ["Clip", "Relu", "Neg", "Abs", "Sign"])
def test_functions_of_one_integer(run_onnx, op):
    x = np.arange(-9, 9, dtype=np.int32)
    limits = {"low": np.int32(-3), "high": np.int32(4)} if op == "Clip" else {}
    run_onnx(op, {"x": x}, {k: np.array(v) for k, v in limits.items()}).agree(rtol=0)


@pytest.mark.parametrize("exponent", [2.0, 0.5, -1.0, 3.0, 1.7])
def test_pow(run_onnx, exponent):
    x = np.linspace(0.1, 4, 40, dtype=np.float32)
    run_onnx("Pow", {"x": x}, {"e": np.array(exponent, np.float32)}).agree()


def real(v: Value, q: np.ndarray) -> np.ndarray:
    assert v.quant is not None
    return (q.astype(np.float64) - v.quant.zero_point) * v.quant.scalar


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_integers_are_the_rounded_real_result(integers, op, a, b):
    x, y = integers.value(a, 0.031, -20), integers.value(b, 0.047, 55)
    node = integers.node(op, [x, y], QuantParams((0.083,), -7))
    data = {v: integers.data(v) for v in (x, y)}
    q = integers.agree(node, data)
    fn = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[op]
    exact = np.clip(fn(real(x, data[x]), real(y, data[y])) / 0.083 - 7, -128, 127)
    twice = 2.0 ** (mul_params(node)["shift"] - 1) if op == "Mul" else 0  # Mul rounds twice
    assert np.abs(q - exact).max() < 0.5 + twice + 1e-3


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("zeros", [(-20, 55, -7), (0, 0, 0), (127, -128, 3), (-128, 127, 127)])
def test_integer_quotients_are_the_rounded_real_ones(integers, a, b, zeros):
    x, y = integers.value(a, 0.031, zeros[0]), integers.value(b, 0.047, zeros[1])
    node = integers.node("Div", [x, y], QuantParams((0.083,), zeros[2]))
    data = {v: integers.data(v) for v in (x, y)}
    q = integers.agree(node, data).astype(np.float64)
    near = 0.5 + 255 / 2**18  # the multiplier has 18 bits or more
    assert np.abs(q - quotients(node, data)).max() < near


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("scale", [0.00003, 0.0031, 0.9])
def test_int16_quotients_are_the_rounded_real_ones(integers, a, b, scale):
    x, y = integers.value16(a, 0.00031), integers.value16(b, 0.00047)
    node = integers.node("Div", [x, y], QuantParams.int16(scale))
    data = {v: integers.data(v) for v in (x, y)}
    q = integers.agree(node, data)
    assert q.dtype == np.int16 and np.abs(q - quotients(node, data)).max() < 1.01


def quotients(node: Node, data: dict[Value, np.ndarray]) -> np.ndarray:
    """In steps of the output; by 0 the largest of the sign, and 0 of 0."""
    x, y = (real(node.input(i), data[node.input(i)]) for i in (0, 1))
    out = node.output.quant
    with np.errstate(all="ignore"):
        exact = np.where((x == 0) & (y == 0), 0, x / np.where(y == 0, 0.0, y))
    return np.clip(exact / out.scalar + out.zero_point, out.qmin, out.qmax)


def test_quotients_at_the_ends_of_the_integers(integers):
    ends = np.array([-128, -127, -1, 0, 1, 126, 127], np.int8)
    for zero in (-128, 0, 127):
        x, y = integers.value((7, 1), 0.5, zero), integers.value((7,), 0.25, zero)
        node = integers.node("Div", [x, y], QuantParams((0.5,), 0), act_min=0.0, act_max=20.0)
        q = integers.agree(node, {x: ends[:, None], y: ends})
        assert q.min() == 0 and q.max() == 40


@pytest.mark.parametrize("scale", [1e-7, 1e9])
def test_quotients_out_of_reach_of_the_output_are_refused(integers, scale):
    node = integers.node("Div", [integers.value((3,), 0.5), integers.value((3,), 0.25)],
                         QuantParams((scale,), 0))  # fmt: skip
    assert "output scale" in definition("Div").accumulator_problem(node)


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_int16_is_the_rounded_real_result(integers, op, a, b):
    x, y = integers.value16(a, 0.00031), integers.value16(b, 0.00047)
    out = QuantParams.int16(0.00313 if op == "Mul" else 0.00083)
    node = integers.node(op, [x, y], out)
    data = {v: integers.data(v) for v in (x, y)}
    q = integers.agree(node, data)
    fn = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[op]
    exact = np.clip(fn(real(x, data[x]), real(y, data[y])) / out.scalar, -32767, 32767)
    assert q.dtype == np.int16 and np.abs(q - exact).max() <= 0.51


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Min", "Max"])
def test_int16_constants_on_either_side(integers, op):
    c = constant(integers.rng.integers(-32767, 32768, 7).astype(np.int16), "c",
                 QuantParams.int16(0.001))  # fmt: skip
    x = integers.value16((2, 5, 7), 0.001)
    for inputs in ([x, c], [c, x]):
        integers.agree(integers.node(op, inputs, x.quant))


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Min", "Max"])
def test_constants_on_either_side(integers, op):
    shared = op in ("Min", "Max")
    q = QuantParams((0.05,), 3)
    for order in (0, 1):
        x, c = integers.value((2, 5, 7), 0.05, 3), integers.const((7,), 0.05 if shared else 0.02, 3)
        integers.agree(integers.node(op, [x, c][:: 1 - 2 * order], q))


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("op", ["Min", "Max"])
def test_min_and_max_compare_bytes(integers, op, a, b):
    integers.agree(integers.node(op, [integers.value(a), integers.value(b)]))
    integers.agree(integers.node(op, [integers.value16(a), integers.value16(b)]))


def test_a_value_may_meet_itself(integers):
    x = integers.value((130,), 0.05, 7)
    integers.agree(integers.node("Mul", [x, x], QuantParams((0.1,), -128)))
    integers.agree(integers.node("Sub", [x, x], QuantParams((0.1,), 5)))


@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_a_fused_clamp_bounds_the_result(integers, op):
    x, y = integers.value((300,), 0.05), integers.value((300,), 0.05)
    node = integers.node(op, [x, y], QuantParams((0.02,), -128), act_min=0.0, act_max=1.0)
    q = integers.agree(node)
    assert q.min() == -128 and q.max() == -128 + 50


SCALE = st.floats(-14, 14).map(lambda e: 2.0**e)
ZERO = st.integers(-128, 127)


def quantized(op: str, a: QuantParams, b: QuantParams, out: QuantParams) -> Node:
    kind = TensorType(out.dtype, (1,))
    inputs = [Value("a", kind, quant=a), Value("b", kind, quant=b)]
    return Node(op, inputs, [Value("y", kind, quant=out)], {}, "n")


@given(st.sampled_from(["Add", "Sub"]), SCALE, SCALE, SCALE, ZERO, ZERO, ZERO)
def test_sums_never_overflow_and_stay_exact(op, sa, sb, so, za, zb, zo):
    node = quantized(op, QuantParams((sa,), za), QuantParams((sb,), zb), QuantParams((so,), zo))
    try:
        p = add_params(node)
    except ValueError:
        assert (sa + sb) / so > 2**15
        return
    assert 0 <= p["shift"] <= 30
    assert abs(p["a_multiplier"]) + abs(p["b_multiplier"]) <= 1 << 22
    corners = [np.array([i, j], np.int8) for i in (-128, 127) for j in (-128, 127)]
    sign = -1 if op == "Sub" else 1
    for a, b in corners:
        total = int(a) * p["a_multiplier"] + int(b) * p["b_multiplier"] + p["bias"]
        assert abs(total) < 1 << 31
        exact = ((int(a) - za) * sa + sign * (int(b) - zb) * sb) / so + zo
        got = definition(op).integer(node, [np.array([a]), np.array([b])])[0][0]
        error = abs(int(got) - np.clip(exact, -128, 127))
        # 255 half units of the last place of both multipliers, besides the rounding.
        assert error <= 0.5 + 2 * 255 * 0.5 / 2.0 ** p["shift"] + 1e-9


CORNERS = [(a, b) for a in (-32768, -32767, 1, 32767) for b in (-32768, 32767)]


@given(st.sampled_from(["Add", "Sub"]), SCALE, SCALE, SCALE)
def test_int16_sums_are_exact_to_their_multipliers(op, sa, sb, so):
    node = quantized(op, *(QuantParams.int16(s) for s in (sa, sb, so)))
    try:
        p = add_params16(node)
    except ValueError:
        assert (sa + sb) / so > 2**21
        return
    assert 1 <= p["shift"] <= 40
    assert abs(p["a_multiplier"]) + abs(p["b_multiplier"]) <= 1 << 23
    for a, b in CORNERS:
        exact = (a * sa + (-b if op == "Sub" else b) * sb) / so
        got = definition(op).integer(node, [np.array([a]), np.array([b])])[0][0]
        error = abs(int(got) - np.clip(exact, -32767, 32767))
        assert error <= 0.5 + 2 * 32768 * 0.5 / 2.0 ** p["shift"] + 1e-9


@given(SCALE, SCALE, SCALE)
def test_int16_products_are_exact_or_refused(sa, sb, so):
    node = quantized("Mul", *(QuantParams.int16(s) for s in (sa, sb, so)))
    if sa * sb / so >= 2**22 * (1 - 2.0**-24):
        with pytest.raises(ValueError, match="or more"):
            mul_params16(node)
        return
    for a, b in CORNERS:
        exact = a * b * sa * sb / so
        got = int(definition("Mul").integer(node, [np.array([a]), np.array([b])])[0][0])
        bound = 0.5 + min(abs(exact), 32768) * 2.0**-23 + 1e-9
        assert abs(got - np.clip(exact, -32767, 32767)) <= bound


@given(SCALE, SCALE, SCALE, ZERO, ZERO, ZERO)
def test_products_are_exact_or_refused(sa, sb, so, za, zb, zo):
    node = quantized("Mul", QuantParams((sa,), za), QuantParams((sb,), zb), QuantParams((so,), zo))
    if sa * sb / so >= 2**14 * (1 - 2.0**-32):
        with pytest.raises(ValueError, match="too small"):
            mul_params(node)
        return
    shift = mul_params(node)["shift"]
    bound = 0.501 + (2.0 ** (shift - 1) if shift < 0 else 0)
    for a, b in [(-128, 127), (127, 127), (-128, -128), (za, 5)]:
        exact = (a - za) * (b - zb) * sa * sb / so + zo
        operands = [np.array([a], np.int8), np.array([b], np.int8)]
        got = int(definition("Mul").integer(node, operands)[0][0])
        assert abs(got - np.clip(exact, -128, 127)) <= bound


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "PRelu"])
def test_a_constant_scalar_makes_a_table(op):
    x = Value("x", TensorType(np.dtype(np.float32), (2, 3)))
    reals = np.array([0.5, 2.0, 4.0])
    for c in (constant(np.array(2, np.float32), "c"),
              constant(np.array([100], np.int8), "q", QuantParams((0.02,), 0))):  # fmt: skip
        node = Node(op, [x, c], [], {"act_max": 10.0})
        table = definition(op).table(node)
        fn = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
              "Min": np.minimum, "Max": np.maximum, "Pow": np.power,
              "PRelu": lambda v, _: v}[op]  # fmt: skip
        np.testing.assert_allclose(table(reals), np.minimum(fn(reals, 2.0), 10), rtol=1e-6)
    flipped = definition(op).table(Node(op, [constant(np.float32([8]), "c"), x], []))
    if op == "PRelu":
        assert flipped is None
    elif op == "Div":
        np.testing.assert_allclose(flipped(reals), 8 / reals)


def test_what_has_no_integer_form_says_why():
    x = Value("x", TensorType(np.dtype(np.float32), (2, 3)))
    assert "constant scalar" in (definition("Pow").integer_problem(Node("Pow", [x, x], [])) or "")
    for op in ("Add", "Div"):
        assert definition(op).integer_problem(Node(op, [x, x], [])) is None


def test_broadcast_merges_what_steps_alike():
    assert broadcast((2, 3, 4), (2, 3, 4)) == ([24], [1], [1])
    assert broadcast((2, 3, 4), (4,)) == ([6, 4], [4, 1], [0, 1])
    assert broadcast((2, 3, 4), ()) == ([24], [1], [0])
    assert broadcast((2, 1, 4), (3, 1)) == ([2, 3, 4], [4, 0, 1], [0, 1, 0])
