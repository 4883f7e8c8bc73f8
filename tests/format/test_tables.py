"""Tables of requantization: tight ones take the fewest bits, both forms are read as written."""

import numpy as np
import pytest

from edgekit.toolkit.format.schema import DType, OpKind
from edgekit.toolkit.format.tables import WIDE, Table, table_of


def table(bias, multiplier, shift):
    return Table(*(np.array(v, np.int64) for v in (bias, multiplier, shift)))


def params(n, how):
    return {"n": n, "requant.table": 8, **how}


def same(a, b):
    return all(
        np.array_equal(getattr(a, f), getattr(b, f)) for f in ("bias", "multiplier", "shift")
    )


WHOLE = 1 << 30  # a multiplier of int8 without a fraction
OF_INT8 = table([-5, 1000], [WHOLE, 3 << 29], [-20, 7])
OF_INT16 = table([-5, 1000], [1 << 22, 3 << 21], [40, 62])


@pytest.mark.parametrize(("element", "wanted"), [(DType.Int8, OF_INT8), (DType.Int16, OF_INT16)])
def test_both_forms_are_read_as_written(element, wanted):
    wide = bytes(8) + wanted.wide().tobytes()
    assert len(wide) == 8 + 2 * 9
    assert same(table_of(OpKind.FullyConnected, element, params(2, WIDE), wide), wanted)
    bits, how = wanted.tight(element)
    tight = bytes(8) + bits.tobytes()
    assert same(table_of(OpKind.FullyConnected, element, params(2, how), tight), wanted)


@pytest.mark.parametrize(
    ("bias", "bits"),
    [([0], 1), ([-1], 1), ([1], 2), ([-2], 2), ([2], 3), ([7, -8], 4), ([-9], 5), ([8], 5),
     ([2**31 - 1], 32), ([-(2**31)], 32)],
)  # fmt: skip
def test_a_bias_has_the_bits_that_it_needs(bias, bits):
    n = len(bias)
    made = table(bias, [WHOLE] * n, [0] * n)
    _, how = made.tight(DType.Int8)
    assert how["requant.tight"] & 63 == bits


def test_shifts_and_multipliers_have_the_bits_that_they_need():
    def sizes(multiplier, shift):
        _, how = table([0] * len(shift), multiplier, shift).tight(DType.Int8)
        return how["requant.tight"] >> 6 & 7, how["requant.tight"] >> 16

    assert sizes([WHOLE], [3]) == (0, 0)
    assert sizes([WHOLE] * 2, [3, 4]) == (1, 0)
    assert sizes([WHOLE, 3 << 29], [3, 7]) == (3, 1)
    assert sizes([WHOLE | 1], [3]) == (0, 30)


def test_a_multiplier_that_is_not_as_the_arithmetic_has_it_is_refused():
    with pytest.raises(ValueError, match="not as the arithmetic has it"):
        table([0], [WHOLE >> 1], [3]).tight(DType.Int8)
