"""Requantization against whole numbers without bounds."""

from fractions import Fraction

import numpy as np
import pytest

from edgekit.toolkit import fixed_point as fp

from . import fixed_point_oracle as oracle

EDGES = [0, 1, -1, fp.ACC_LIMIT16 - 1, 1 - fp.ACC_LIMIT16]

# Multipliers of 31 and 23 bits are full just below a power of two, and become the next one's least.
FULL = [1 - k * 2.0**-bits for bits in (53, 33, 32, 31, 25, 24, 23) for k in (0.5, 1, 1.5, 2, 3)]


def test_multipliers_at_both_sides_of_a_power_of_two():
    ratios = np.array([2.0**e * f for e in range(-39, 22) for f in (1, 1 + 2**-52, 1.5, *FULL)])
    for of_array, of_one in (
        (fp.multipliers, oracle.multiplier),
        (fp.multipliers16, oracle.multiplier16),
    ):
        m, shift = of_array(ratios)
        assert [*zip(m.tolist(), shift.tolist(), strict=True)] == [of_one(r) for r in ratios]
    powers = np.arange(-30, 30)
    m, shift = fp.multipliers(np.nextafter(2.0**powers, 0))
    once = (powers < -1) & (powers >= -13)
    assert (m == np.where(once, 2.0 ** (powers + 31), 1 << 30)).all()
    assert shift.tolist() == np.where(once, 0, powers + 1).tolist()


def test_int8_is_rounded_half_up_twice():
    rng = np.random.default_rng(2)
    for shift in range(fp.MIN_SHIFT, fp.MAX_SHIFT + 1):
        most = (1 << 30 - max(shift, 0)) - 1
        acc = np.array([0, 1, -1, most, -most, *rng.integers(-most, most + 1, 20)])
        for m in (1, 1 << 30, (1 << 31) - 1, int(rng.integers(1, 1 << 31))):
            want = [oracle.scaled(int(a), m, shift) for a in acc]
            assert fp.scale(acc, m, shift).tolist() == want
            got = fp.requantize(acc, m, shift, 5, -100, 90)
            assert got.tolist() == [min(max(v + 5, -100), 90) for v in want]


def test_int8_is_rounded_once_between_2_to_the_minus_13_and_1():
    """Half up, and as far from the ratio as 2^-32."""
    rng = np.random.default_rng(5)
    ratios = np.exp2(rng.uniform(-13, 0, 400))
    m, shift = fp.multipliers(ratios)
    assert (shift == 0).all() and (np.abs(m - np.ldexp(ratios, 31)) <= 0.5).all()
    acc = rng.integers(-(2**20), 2**20, 400)
    want = [(int(a) * int(k) * 2 + 2**31) // 2**32 for a, k in zip(acc, m, strict=True)]
    assert fp.scale(acc, m, shift).tolist() == want


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
        want = [oracle.scaled16(int(a), m, s) for a in acc]
        assert fp.scale16(acc, m, s).tolist() == want
        clamped = [min(max(v, -32767), 32000) for v in want]
        got = fp.requantize16(acc, m, s, -32767, 32000)
        assert got.dtype == np.int16 and got.tolist() == clamped
