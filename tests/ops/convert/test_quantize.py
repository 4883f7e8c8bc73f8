"""Quantize and Dequantize in C against QuantParams, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import QuantParams, TensorType, Value
from edgekit.toolkit.ops import definition

INT16 = [QuantParams.int16(s) for s in (0.001, 0.37, 3.7e-7)]
QUANT = [QuantParams((0.05,), 0), QuantParams((0.0313,), -128), QuantParams((3.7e-5,), 127)]


ODD = 600


def quantized(integers, quant, spread):
    """(q, the last floats) of floats halfway between steps, at ODD of odd ones, and of random ones
    that spread over so many steps."""
    x = Value("x", TensorType(np.dtype(np.float32), (4007,)))
    halves = (np.arange(-300, 300) + 0.5).astype(np.float32) * np.float32(quant.scalar)
    odd = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40, -0.0], np.float32)
    data = integers.rng.normal(0, spread * quant.scalar, 4007 - 607).astype(np.float32)
    feed = {x: np.concatenate([halves, odd, data])}
    return integers.agree(integers.node("Quantize", [x], quant), feed), data


@pytest.mark.parametrize("quant", QUANT, ids=str)
def test_floats_are_quantized(integers, quant):
    q, _ = quantized(integers, quant, spread=60)
    assert list(q[ODD : ODD + 3]) == [quant.zero_point, 127, -128]


@pytest.mark.parametrize("quant", [*QUANT, *INT16], ids=str)
def test_a_mask_of_the_lowest_float_is_the_lowest_integer(quant):
    lowest = np.array([np.finfo(np.float32).min], np.float32)
    assert quant.quantize(lowest) == quant.qmin


@pytest.mark.parametrize("quant", QUANT, ids=str)
def test_integers_are_dequantized(integers, quant):
    x = integers.value((256,), quant.scalar, quant.zero_point)
    feed = {x: np.arange(-128, 128).astype(np.int8)}
    node = integers.node("Dequantize", [x])
    node.output.quant = None
    got = integers.agree(node, feed)
    exact = (np.arange(-128, 128) - quant.zero_point) * quant.scalar
    np.testing.assert_allclose(got, exact, rtol=1e-6)


@pytest.mark.parametrize("quant", INT16, ids=str)
def test_floats_become_int16(integers, quant):
    q, data = quantized(integers, quant, spread=2e4)
    assert q.dtype == np.int16 and list(q[ODD : ODD + 3]) == [0, 32767, -32767]
    exact = np.clip(data.astype(np.float64) / quant.scalar, -32767, 32767)
    assert np.abs(q[ODD + 7 :] - exact).max() < 0.51


@pytest.mark.parametrize("quant", INT16, ids=str)
def test_int16_is_dequantized(integers, quant):
    x = integers.value16((65536,), quant.scalar)
    node = integers.node("Dequantize", [x])
    node.output.quant = None
    q = np.arange(-32768, 32768).astype(np.int16)
    got = integers.agree(node, {x: q})
    np.testing.assert_allclose(got, q * quant.scalar, rtol=1e-6)


@pytest.mark.parametrize(
    "ratio", [1e-7, 1e-6, 0.003, 0.25, 0.7, 1.0, 1.0001, 1.5, 100, 700, 3e6, 1e30]
)
@pytest.mark.parametrize(("from_zero", "to_zero"), [(0, 0), (-128, 127), (127, -128), (31, 5)])
def test_requantization_rounds_half_up_once(integers, ratio, from_zero, to_zero):
    """Between int8 and int16 both ways, and of int16, against exact arithmetic."""
    for x, y in (
        (integers.value((256,), 0.01, from_zero), QuantParams.int16(0.01 / ratio)),
        (integers.value16((65536,), 0.01), QuantParams((0.01 / ratio,), to_zero)),
        (integers.value16((65536,), 0.01), QuantParams.int16(0.01 / ratio)),
    ):
        node = integers.node("Requantize", [x], y)
        assert definition("Requantize").accumulator_problem(node) is None
        limits = np.iinfo(x.dtype)
        q = np.arange(limits.min, limits.max + 1).astype(x.dtype)
        got = integers.agree(node, {x: q})
        exact = (q.astype(np.float64) - x.quant.zero_point) * x.quant.scalar / y.scalar
        error = np.abs(got - np.clip(exact + y.zero_point, y.qmin, y.qmax))
        assert got.dtype == y.dtype and error.max() <= 0.5 + 32768 * 2.0**-23


def test_requantization_to_the_same_scale_is_the_identity(integers):
    x = integers.value16((65535,), 0.37)
    q = np.arange(-32767, 32768).astype(np.int16)
    node = integers.node("Requantize", [x], x.quant)
    assert np.array_equal(integers.agree(node, {x: q}), q)


def test_what_requantization_refuses(integers):
    with pytest.raises(ValueError, match="int8 is not requantized to int8"):
        integers.node("Requantize", [integers.value((3,))], QuantParams((1.0,)))


def test_a_round_trip_is_the_identity(integers):
    q = np.arange(-128, 128).astype(np.int8)
    for quant in QUANT:
        assert np.array_equal(quant.quantize(quant.dequantize(q)), q)


def test_other_types_are_refused(integers):
    with pytest.raises(ValueError, match="float32 is quantized"):
        integers.node("Quantize", [integers.value((3,))])
    x = Value("x", TensorType(np.dtype(np.float32), (3,)), quant=QuantParams((1.0,)))
    with pytest.raises(ValueError, match="int8 or int16 is dequantized"):
        integers.node("Dequantize", [x])
    assert definition("Quantize").integer_problem is not None
