"""Tables on int8 against the function itself, on every kernel table."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import Node, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.lut import make_table


@pytest.mark.parametrize("count", [1, 15, 64, 257, 1000])
def test_every_length_is_looked_up(integers, count):
    x = integers.value((count,), 0.05, 3)
    table = constant(integers.rng.integers(-128, 128, 256).astype(np.int8), "table")
    node = integers.node("Lut", [x, table], QuantParams((0.1,), 0))
    data = integers.data(x)
    got = integers.agree(node, {x: data})
    assert np.array_equal(got, table.const[data.astype(int) + 128])


def test_a_table_is_the_function_to_half_a_step():
    x, y = QuantParams((0.05,), -10), QuantParams((1 / 256,), -128)
    q = np.arange(-128, 128)
    table = make_table(lambda r: 1 / (1 + np.exp(-r)), x, y)
    exact = 256 / (1 + np.exp(-(q + 10) * 0.05)) - 128
    assert np.abs(table - np.clip(exact, -128, 127)).max() <= 0.5


def test_requantization_to_the_same_scale_is_the_identity():
    x = QuantParams((0.037,), 11)
    assert np.array_equal(make_table(lambda r: r, x, x), np.arange(-128, 128))


def test_a_table_must_be_256_constants():
    x = Value("x", TensorType(np.dtype(np.int8), (4,)))
    with pytest.raises(ValueError, match="256 constant int8"):
        definition("Lut").infer(Node("Lut", [x, constant(np.zeros(255, np.int8), "t")], []))
