from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.toolkit.quantize.scheme.qparams import activation_params, constant_q

REALS = st.floats(-1e6, 1e6, width=32)


@given(REALS, REALS)
def test_zero_is_exact_and_both_ends_are_within_a_step(a, b):
    low, high = min(a, b), max(a, b)
    q = activation_params(low, high)
    assert q.dequantize(q.quantize(np.zeros(1)))[0] == 0.0
    ends = np.array([min(low, 0), max(high, 0)], np.float32)
    assert np.all(np.abs(q.dequantize(q.quantize(ends)) - ends) <= q.scalar * 1.001)


def test_a_range_without_width_still_has_a_legal_scale():
    for r in [(0.0, 0.0), (0.0, 1e-40), (-1e-45, 0.0)]:
        assert activation_params(*r).scalar == 1.0


def test_a_range_is_widened_to_zero():
    assert activation_params(3.0, 6.0) == activation_params(0.0, 6.0)
    assert activation_params(-6.0, -3.0).zero_point == 127


@pytest.mark.parametrize("low, high", [(1.0, 0.0), (0.0, np.inf), (np.nan, 1.0)])
def test_what_is_not_a_range_is_refused(low, high):
    with pytest.raises(ValueError, match="not a range"):
        activation_params(low, high)


def test_constants_round_half_to_even():
    q = activation_params(-128.0, 127.0)
    assert constant_q(np.array([0.5, 1.5, 2.5, -0.5, 300.0]), q).tolist() == [0, 2, 2, 0, 127]
