"""Tables in the fewest bits: they say what wide ones say, and are proved before they are read."""

import numpy as np
import pytest

from edgekit.toolkit.format.schema import DType
from edgekit.toolkit.format.tables import Table, table_of
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Session, kernel_tables

from .conftest import CASES
from .test_verify_ops import holding, opens, with_params

WITH_TABLES = holding("requant.table")


def answers(model, kernels):
    session = Session(write(model), kernels)
    rng = np.random.default_rng(5)
    feed = {io.name: rng.integers(-100, 100, io.shape).astype(io.dtype) for io in session.inputs}
    return [a.tobytes() for a in session.run_raw(feed).values()]


def test_there_are_operators_with_tables():
    assert {n.split("-")[0] for n in WITH_TABLES} == {
        f"{kind}_{element}" for element in ("s8", "s16")
        for kind in ("conv2d", "depthwise_conv2d", "conv_transpose2d", "fully_connected")
    } | {"recurrent_s16"}  # fmt: skip


@pytest.mark.parametrize("kernels", kernel_tables())
@pytest.mark.parametrize("form", WITH_TABLES)
def test_a_tight_table_means_what_the_wide_one_does(corpus, form, kernels):
    wide = corpus.coarse(corpus.one_operator(form))
    tight = corpus.tightened(wide)
    assert len(write(tight)) > 0 and answers(tight, kernels) == answers(wide, kernels)


@pytest.mark.parametrize("form", WITH_TABLES)
def test_what_leaves_the_bits_of_a_table_is_refused(corpus, form):
    model = corpus.tightened(corpus.coarse(corpus.one_operator(form)))
    last = len(model.ops) - 1
    p, int16 = model.ops[last].params, CASES[form].element is DType.Int16
    bias_bits, shift_bits, base = (
        p["requant.tight"] >> at & m for at, m in ((0, 63), (6, 7), (9, 127))
    )

    rest = p["requant.tight"] >> 16

    def tight(bias_bits=bias_bits, shift_bits=shift_bits, base=base - 64, rest=rest):
        sizes = bias_bits + 64 * shift_bits + 512 * (base + 64) + 65536 * rest
        return opens(with_params(model, last, **{"requant.tight": sizes}))

    assert rest == 14 and tight(rest=0) and tight(rest=13)
    assert not tight(rest=22 if int16 else 30)  # past the blob
    assert not tight(0, rest=0) and not tight(1, rest=23 if int16 else 31)
    assert tight() and tight(bias_bits - 1) and not tight(0)
    assert not tight(32) and not tight(33)  # past the blob; no int32
    for bits, good in ((0, True), (6, False), (7, False)):  # 6: past the blob, too
        assert tight(shift_bits=bits) == good
    low, high = (1, 62) if int16 else (-30, 30)
    assert tight(base=low) and tight(base=high)
    for base in (low - 1, high + 1, 2**22):
        assert not tight(base=base)
    at = p["requant.table"]
    assert opens(with_params(model, last, **{"requant.table": at - 1}))
    assert not opens(with_params(model, last, **{"requant.table": at + 1}))
    assert not opens(with_params(model, last, **{"requant.table": 2**32 - 1}))


@pytest.mark.parametrize("element", [DType.Int8, DType.Int16])
def test_numbers_at_their_ends_are_read_back(corpus, element):
    form = "fully_connected_s8" if element is DType.Int8 else "fully_connected_s16"
    op = corpus.one_operator(form).ops[0]
    low, high = (-30, 30) if element is DType.Int8 else (1, 62)
    zeros = 16 if element is DType.Int8 else 8
    for bias in (
        [0, -1, 0, 0, -1],
        [-(2**31), 2**31 - 1, 0, 1, -1],
        [-(2**15), 2**15 - 1, 5, 0, 9],
    ):
        for shift in ([low] * 5, [high, low, 3, 4, 5], [high, high - 1, high, high, high]):
            mantissa = np.array([2**14, 2**15 - 1, 2**14 + 1, 30000, 20000])
            table = Table(np.array(bias), mantissa << zeros, np.array(shift))
            bits, fields = table.tight(element)
            read = table_of(op.kind, element, {**op.params, **fields, "requant.table": 3},
                            b"abc" + bits.tobytes())  # fmt: skip
            assert read.wide().tobytes() == table.wide().tobytes()


def test_multipliers_of_any_bits_are_read_back(corpus):
    """As models that arrive quantized need them."""
    op, rng = corpus.one_operator("fully_connected_s8").ops[0], np.random.default_rng(3)
    for m, shift in (
        (rng.integers(2**30, 2**31, 5), np.array([-13, 0, 5, -30, 2])),
        (rng.integers(2**30, 2**31, 5) >> np.array([12, 1, 5, 7, 0]), np.zeros(5, np.int64)),
        (np.array([2**30, 2**29, 2**28, 2**18, 2**20]), np.zeros(5, np.int64)),
    ):
        table = Table(rng.integers(-(2**20), 2**20, 5), m, shift)
        bits, fields = table.tight(DType.Int8)
        params = {**op.params, **fields, "requant.table": 0}
        read = table_of(op.kind, DType.Int8, params, bits.tobytes())
        assert read.wide().tobytes() == table.wide().tobytes()


def test_a_multiplier_that_is_rounded_twice_is_refused():
    table = Table(np.zeros(1, np.int64), np.array([2**30 + 1]), np.array([-5]))
    with pytest.raises(ValueError, match="not as the arithmetic has it"):
        table.tight(DType.Int8)
