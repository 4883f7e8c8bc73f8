"""Expressions that break a rule, and sizes: refused, and the session runs on at its largest."""

from dataclasses import replace

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.schema import Term
from edgekit.toolkit.format.varying import Expression, Symbol, Varying
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.runtime.model import aligned

from ..fuzz import corpus

S = Expression.symbol(0)


@pytest.fixture(scope="module")
def varying():
    """A file of rows whose number is 2, 4 or 6."""
    return corpus.varying()


def bound(model, sizes, room=0, shift=0):
    """Status of ek_session_bind; what the session gives afterwards is what its inputs ask for."""
    session = Session(write(model))
    need = ffi.new("size_t *")
    lib.ek_session_bind_size(session.model.handle, need)
    memory = aligned(need[0] + 64)
    at = ffi.cast("void *", memory.ctypes.data + shift)
    numbers = ffi.new("uint32_t[]", list(sizes))
    status = lib.ek_session_bind(
        session._session, session.model.handle, numbers, at, need[0] + room
    )
    io = ffi.new("ek_io *")
    assert lib.ek_session_input(session._session, 0, io) == lib.EK_OK
    assert io.bytes == (16 * sizes[0] if status == lib.EK_OK else 96)
    assert lib.ek_run(session._session) == lib.EK_OK
    return status


def test_sizes(varying):
    for rows in (2, 4, 6):
        assert bound(varying, [rows]) == lib.EK_OK
    for rows in (0, 1, 3, 5, 7, 8, 2**31, 2**32 - 2):
        assert bound(varying, [rows]) == lib.EK_ERR_ARG
    assert bound(varying, [2], room=-1) == lib.EK_ERR_MEMORY
    assert bound(varying, [2], shift=4) == lib.EK_ERR_ALIGN


def with_count(model, expression, value=24):
    (op,) = model.ops
    return replace(
        model, ops=[replace(op, params={**op.params, "count": Varying(value, expression)})]
    )


@pytest.mark.parametrize(
    "expression",
    [
        S.times(2**31),  # overflows
        S.times(2**16).times(2**16).divided(2**30).times(4),
        Expression(((Term.Symbol, 0), (Term.Divide, 0))),
        Expression(((Term.Symbol, 1),)),  # which the file does not have
        Expression(((Term.Add, 0),)),
        Expression(()),
        Expression(((Term.Symbol, 0),) * 2),
        Expression(((Term.Symbol, 0),) * 9 + ((Term.Min, 0),) * 8).times(4),  # too deep
        S.times(3),  # not what is planned at the largest size
        S.times(4).plus(8),
        Expression.number(48).plus(-24).times(1).added(Expression.number(0)),  # does not follow
        Expression.number(12)._with(S, Term.Subtract).times(4),  # grows as rows fall
        S.plus(-3).times(8),  # negative at 2
        S.plus(-2).times(6),  # 0 at 2
        Expression.number(24).over(S.plus(-5)),  # by what is not positive at 2
        Expression.number(144).over(S),  # needs another byte of the program at 2, if it has one
        Expression.number(24).over(Expression(())),
    ],
)
def test_expressions(varying, expression):
    assert bound(with_count(varying, expression), [2]) == lib.EK_ERR_CORRUPT


def test_what_the_operator_refuses_at_a_size(varying):
    """Numbers that fit the largest size, and no longer each other at a smaller one."""
    assert bound(with_count(varying, S.times(3).plus(6)), [2]) == lib.EK_ERR_CORRUPT
    assert bound(with_count(varying, S.times(3).plus(6)), [6]) == lib.EK_OK


@pytest.mark.parametrize(
    "symbol",
    [Symbol("rows", 0, 6), Symbol("rows", 7, 6), Symbol("rows", 2, 2**31), Symbol("rows", 2, 6, 0)],
)
def test_symbols(varying, symbol):
    assert bound(replace(varying, symbols=(symbol,)), [2]) == lib.EK_ERR_CORRUPT
    found = ffi.new("ek_symbol *")
    session = Session(write(varying))
    assert lib.ek_model_symbol(session.model.handle, 0, found) == lib.EK_OK
    assert (ffi.string(found.name), found.lowest, found.highest, found.step) == (b"rows", 2, 6, 2)
    assert lib.ek_model_symbol(session.model.handle, 1, found) == lib.EK_ERR_ARG


def test_too_many_symbols(varying):
    many = replace(varying, symbols=varying.symbols * 17)
    with pytest.raises(UserError, match=r"not a valid \.edge file"):
        Session(write(many))


def test_a_file_without_symbols_binds_nothing(varying):
    static = replace(varying, symbols=(), version=3)
    session = Session(write(static))
    need = ffi.new("size_t *")
    assert lib.ek_symbol_count(session.model.handle) == 0
    assert lib.ek_session_bind_size(session.model.handle, need) == lib.EK_ERR_ARG
    x = np.ones((6, 4), np.float32)
    np.testing.assert_array_equal(session.run(x)["y0"], x)
