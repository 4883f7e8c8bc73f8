"""Many runs of a session in one call of C, for the quantizer (runtime_c/binding/toolkit.h)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ...runtime_c._ffi import ffi, lib
from ..ir import Array
from .convert import to_user
from .session import Session

TOGETHER_BYTES = 1 << 22
"""Of inputs and outputs that are in memory for runs in one call, eight a number."""


def together(session: Session) -> int:
    """How many runs to make in one call; 1 of a session that runs one at a time."""
    ios = (*session.inputs, *session.outputs)
    many = TOGETHER_BYTES // sum(8 * prod(io.shape) for io in ios)
    return max(1, many) if can_run_many(session) else 1


def can_run_many(session: Session) -> bool:
    """Whether its outputs are numbers that run after run has in the same shape and layout."""
    model = session.model
    apart = model.counted or model.symbols or model.empty_outputs
    return not apart and not any(io.axes or io.is_text for io in session.outputs)


def run_many(session: Session, raw: Sequence[Array]) -> dict[str, Array]:
    """As `Session.run` of each, along a first axis of inputs as `to_raw` has them; of a session
    that `can_run_many`."""
    found = zip(session.outputs, run_raw_many(session, raw), strict=True)
    return {io.name: to_user(io, held) for io, held in found}


def run_raw_many(session: Session, raw: Sequence[Array]) -> list[Array]:
    """Likewise the outputs in order, as the runtime holds them."""
    count = len(raw[0])
    with session._turn:
        given = [
            np.ascontiguousarray(x, v.dtype) for x, v in zip(raw, session._inputs, strict=True)
        ]
        if any(x.shape != (count, *v.shape) for x, v in zip(given, session._inputs, strict=True)):
            raise ValueError("inputs of other shapes than the model's, or of different numbers")
        found = [np.empty((count, *v.shape), v.dtype) for v in session._outputs]
        from_, to = (
            ffi.new("uint8_t *[]", [ffi.cast("uint8_t *", x.ctypes.data) for x in arrays])
            for arrays in (given, found)
        )
        status = lib.ek_run_many(session._session, count, len(given), from_, len(found), to)
        session._must(status)
    return found
