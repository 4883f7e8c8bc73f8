"""The requantization of int16 operators against whole numbers without bounds."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from edgekit.toolkit import fixed_point as fp

EDGES = [0, 1, -1, fp.ACC_LIMIT16 - 1, 1 - fp.ACC_LIMIT16]


def test_multipliers_are_nearest_in_23_bits():
    rng = np.random.default_rng(0)
    ratios = np.exp2(rng.uniform(-39, 22, 1000))
    for ratio, m, s in zip(ratios, *fp.multipliers16(ratios), strict=True):
        assert 1 << 22 <= m < 1 << 23 and fp.MIN_SHIFT16 <= s <= fp.MAX_SHIFT16
        assert abs(Fraction(int(m), 1 << int(s)) / Fraction(float(ratio)) - 1) <= Fraction(
            1, 1 << 23
        )


def test_the_ends_of_the_ratios():
    assert fp.multiplier16(2.0**22 * (1 - 2.0**-23)) == ((1 << 23) - 1, 1)
    assert fp.multiplier16(1.0) == (1 << 22, 22)
    assert fp.multiplier16(2.0**-60) == (1 << 22, 62)
    for bad in (0.0, -1.0, float("inf"), float("nan"), 2.0**22):
        with pytest.raises(ValueError, match="scale ratio"):
            fp.multiplier16(bad)


def test_rounding_is_half_up_and_happens_once():
    rng = np.random.default_rng(1)
    for _ in range(300):
        acc = np.array([*EDGES, *rng.integers(1 - fp.ACC_LIMIT16, fp.ACC_LIMIT16, 20)])
        m, s = int(rng.integers(1 << 22, 1 << 23)), int(rng.integers(1, 63))
        want = [floor(Fraction(int(a) * m, 1 << s) + Fraction(1, 2)) for a in acc]
        assert fp.scale16(acc, m, s).tolist() == want
        clamped = [min(max(v, -32767), 32000) for v in want]
        got = fp.requantize16(acc, m, s, -32767, 32000)
        assert got.dtype == np.int16 and got.tolist() == clamped
