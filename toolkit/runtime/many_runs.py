"""Many runs of a session, in few calls of C and on all cores, for the quantizer
(runtime_c/binding/toolkit.h)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf, prod
from time import perf_counter
from weakref import WeakKeyDictionary

import numpy as np

from ...runtime_c._ffi import ffi, lib
from ..ir import Array
from .convert import to_user
from .cores import cores, on_cores
from .operators import any_registered
from .session import Session

TOGETHER_BYTES = 1 << 22
"""Of inputs and outputs of runs that are given together, eight a number."""
CALL_BYTES = 1 << 22
"""Of inputs and outputs in memory for runs in one call, as the runtime holds them, if that is more
than one run for each core."""
COPIES_BYTES = 1 << 25
"""Memory for the copies of a session that run on other cores."""
FEW_COPIES_BYTES = 1 << 23
"""The same where much else is in memory."""
LEAST_SECONDS = 4e-3
"""Of work that is given to other cores."""
BLOCKS = 4
"""Parts of the work for each core: one that is busy with other work does fewer of them."""


@dataclass
class _Cores:
    """How a session runs on all cores: its copies, and the seconds of a run, once one was made."""

    copies: list[Session] = field(default_factory=list)
    seconds: float | None = None


_known: WeakKeyDictionary[Session, _Cores] = WeakKeyDictionary()


def can_run_many(session: Session) -> bool:
    """Whether its outputs are numbers that run after run has in the same shape and layout."""
    model = session.model
    apart = model.counted or model.symbols or model.empty_outputs
    return not apart and not any(io.axes or io.is_text for io in session.outputs)


def run_many(session: Session, feeds: Iterable[Sequence[Array]]) -> Iterator[dict[str, Array]]:
    """The outputs of `Session.run`, by name, along a first axis, of a few of the feeds after the
    other; `feeds` are inputs as `Session.to_raw` has them."""
    if not can_run_many(session):
        names = [io.name for io in session.inputs]
        for feed in feeds:
            made = session.run(dict(zip(names, feed, strict=True)))
            yield {name: array[None] for name, array in made.items()}
        return
    left, (together, in_call) = iter(feeds), _sizes(session)
    while call := list(islice(left, in_call)):
        held = run_raw_many(session, [np.stack(arrays) for arrays in zip(*call, strict=True)])
        for first in range(0, len(call), together):
            some = slice(first, first + together)
            ios = zip(session.outputs, held, strict=True)
            yield {io.name: to_user(io, array[some]) for io, array in ios}


def _sizes(session: Session) -> tuple[int, int]:
    """How many runs to give together, and how many to make in one call, which feeds all cores."""
    ios = (*session.inputs, *session.outputs)
    together = max(1, TOGETHER_BYTES // sum(8 * prod(io.shape) for io in ios))
    each = sum(view.nbytes for view in (*session._inputs, *session._outputs))
    in_call = max(cores(), min(BLOCKS * cores(), CALL_BYTES // each))
    return together, together * max(1, in_call // together)


def run_raw_many(session: Session, raw: Sequence[Array]) -> list[Array]:
    """The outputs of each run in order, as the runtime holds them, along a first axis as those of
    inputs `raw`; of a session that `can_run_many`."""
    count = len(raw[0])
    given = [np.ascontiguousarray(x, v.dtype) for x, v in zip(raw, session._inputs, strict=True)]
    if any(x.shape != (count, *v.shape) for x, v in zip(given, session._inputs, strict=True)):
        raise ValueError("inputs of other shapes than the model's, or of different numbers")
    found = [np.empty((count, *v.shape), v.dtype) for v in session._outputs]
    known, first = _known.setdefault(session, _Cores()), 0
    if known.seconds is None and count:
        started, first = perf_counter(), 1
        _run(session, given, found, range(first))
        known.seconds = perf_counter() - started
    left = range(first, count)
    copies = copies_of(session, len(left) * (known.seconds or 0.0), most=len(left) - 1)
    if copies:
        _run_on_cores([session, *copies], given, found, left)
    elif left:
        _run(session, given, found, left)
    return found


def _run(session: Session, given: Sequence[Array], found: Sequence[Array], runs: range) -> None:
    """Some of the runs."""
    from_, to = (
        ffi.new("uint8_t *[]", [ffi.cast("uint8_t *", x[runs.start :].ctypes.data) for x in arrays])
        for arrays in (given, found)
    )
    with session._turn:
        status = lib.ek_run_many(session._session, len(runs), len(given), from_, len(found), to)
        session._must(status)


def _run_on_cores(
    sessions: Sequence[Session], given: Sequence[Array], found: Sequence[Array], runs: range
) -> None:
    """Each of the runs on one of the sessions."""
    size = max(1, len(runs) // (BLOCKS * len(sessions)))
    blocks = iter([runs[first : first + size] for first in range(0, len(runs), size)])

    def work(session: Session) -> None:
        for block in blocks:
            _run(session, given, found, block)

    on_cores(work, sessions)


def copies_of(
    session: Session,
    seconds: float = inf,
    most: int | None = None,
    within: int | None = None,
) -> list[Session]:
    """Copies of a session that share work of so many seconds with it, if that is worth it, `most`
    at most: one for each other core, as far as they take `within` bytes, by default COPIES_BYTES.
    """
    if seconds < LEAST_SECONDS or any_registered():  # operators that may not be thread-safe
        return []
    within = COPIES_BYTES if within is None else within
    wanted = min(cores() - 1, within // session.memory_bytes)
    wanted = wanted if most is None else min(wanted, most)
    known = _known.setdefault(session, _Cores()).copies
    while len(known) < wanted:
        known.append(Session(session.model, session.kernels, max_memory=None, numbers=True))
    return known[:wanted]
