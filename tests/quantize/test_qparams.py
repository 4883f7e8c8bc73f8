from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.toolkit.quantize.qparams import (
    activation_params,
    channel_scales,
    constant_q,
    quantize_weight,
)

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


def test_each_channel_uses_all_levels_of_a_narrow_symmetric_range():
    w = np.array([[1.0, -2.0], [0.001, 0.0004], [0.0, 0.0]], np.float32)
    scales = channel_scales(w, search=False)
    assert np.allclose(scales[:2] * 127, [2.0, 0.001])
    assert scales[2] == 0.0
    q = quantize_weight(w[:2], scales[:2])
    assert q.tolist() == [[64, -127], [127, 51]]


def test_a_searched_scale_never_has_the_larger_squared_error():
    rng = np.random.default_rng(0)
    w = (rng.normal(size=(16, 3, 3, 1))).astype(np.float32)

    def errors(search):
        s = channel_scales(w, search)
        return ((quantize_weight(w, s) * s[:, None, None, None] - w) ** 2).sum(axis=(1, 2, 3))

    assert np.all(errors(True) <= errors(False) + 1e-12)
    assert errors(True).sum() < 0.8 * errors(False).sum()


def test_constants_round_half_to_even():
    q = activation_params(-128.0, 127.0)
    assert constant_q(np.array([0.5, 1.5, 2.5, -0.5, 300.0]), q).tolist() == [0, 2, 2, 0, 127]
