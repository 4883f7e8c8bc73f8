"""Quantize and Dequantize in C against QuantParams, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import QuantParams, TensorType, Value
from edgekit.toolkit.ops import definition

QUANT = [QuantParams((0.05,), 0), QuantParams((0.0313,), -128), QuantParams((3.7e-5,), 127)]


@pytest.mark.parametrize("quant", QUANT, ids=str)
def test_floats_are_quantized(integers, quant):
    x = Value("x", TensorType(np.dtype(np.float32), (4007,)))
    halves = (np.arange(-300, 300) + 0.5).astype(np.float32) * np.float32(quant.scalar)
    odd = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40, -0.0], np.float32)
    data = integers.rng.normal(0, 60 * quant.scalar, 4007 - 607).astype(np.float32)
    feed = {x: np.concatenate([halves, odd, data])}
    q = integers.agree(integers.node("Quantize", [x], quant), feed)
    assert q[600] == quant.zero_point and q[601] == 127 and q[602] == -128


@pytest.mark.parametrize("quant", QUANT, ids=str)
def test_integers_are_dequantized(integers, quant):
    x = integers.value((256,), quant.scalar, quant.zero_point)
    feed = {x: np.arange(-128, 128).astype(np.int8)}
    node = integers.node("Dequantize", [x])
    node.output.quant = None
    got = integers.agree(node, feed)
    exact = (np.arange(-128, 128) - quant.zero_point) * quant.scalar
    np.testing.assert_allclose(got, exact, rtol=1e-6)


def test_a_round_trip_is_the_identity(integers):
    q = np.arange(-128, 128).astype(np.int8)
    for quant in QUANT:
        assert np.array_equal(quant.quantize(quant.dequantize(q)), q)


def test_other_types_are_refused(integers):
    with pytest.raises(ValueError, match="float32 is quantized"):
        integers.node("Quantize", [integers.value((3,))])
    x = Value("x", TensorType(np.dtype(np.float32), (3,)), quant=QuantParams((1.0,)))
    with pytest.raises(ValueError, match="int8 is dequantized"):
        integers.node("Dequantize", [x])
    assert definition("Quantize").integer_problem is not None
