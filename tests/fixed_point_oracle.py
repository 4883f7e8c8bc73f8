"""docs/arithmetic.md's requantization in Python's numbers: nothing of the toolkit's."""

from fractions import Fraction

import numpy as np


def parts(ratio, bits):
    """`(m, e)`: m of `bits` bits is the ratio nearest to m * 2^(e - bits), halves to even."""
    exact = Fraction(float(ratio))
    e = exact.numerator.bit_length() - exact.denominator.bit_length()
    while exact >= Fraction(2) ** e:
        e += 1
    while exact < Fraction(2) ** (e - 1):
        e -= 1
    m = round(exact * Fraction(2) ** (bits - e))
    return (m // 2, e + 1) if m == 2**bits else (m, e)


def multiplier(ratio):
    """`(m, shift)` of int8's requantization."""
    m, e = parts(ratio, 31)
    if -12 <= e < 0:
        return round(Fraction(float(ratio)) * 2**31), 0
    return (m, e) if e >= -30 else (2**30, -30)


def multiplier16(ratio):
    """`(m, shift)` of int16's, to the right."""
    m, e = parts(ratio, 23)
    return (m, 23 - e) if 23 - e <= 62 else (2**22, 62)


def scaled(acc, m, shift):
    """Rounded half up twice; `//` of integers rounds down."""
    h = (acc * 2 ** max(shift, 0) * m + 2**30) // 2**31
    return (h + 2 ** (-shift - 1)) // 2**-shift if shift < 0 else h


def scaled16(acc, m, shift):
    """Rounded half up once."""
    return (acc * m + 2 ** (shift - 1)) // 2**shift


def requantized(acc, ratio, zero_point, qmin, qmax):
    """int8 of an array of accumulators."""
    m, shift = multiplier(ratio)
    real = [scaled(int(a), m, shift) + zero_point for a in np.ravel(acc)]
    return np.array([min(max(v, qmin), qmax) for v in real], np.int8).reshape(np.shape(acc))


def requantized16(acc, ratio, qmin, qmax):
    """int16 of an array of accumulators."""
    m, shift = multiplier16(ratio)
    real = [scaled16(int(a), m, shift) for a in np.ravel(acc)]
    return np.array([min(max(v, qmin), qmax) for v in real], np.int16).reshape(np.shape(acc))
