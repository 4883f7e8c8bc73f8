"""Runs of one sample that differ from one operator on, for the quantizer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ...runtime_c._ffi import ffi, lib
from ..format.model import ABSENT
from ..format.schema import Place
from ..ir import Array
from .batches import Feed, only
from .many_runs import copies_of
from .session import Session

_HEADER = 12 * ffi.sizeof("void *")
"""EK_SESSION_OVERHEAD: a session's own part of its memory. The rest of it that a run changes is
the arena."""

_ALL = 0xFFFFFFFF

Change = Callable[[str, Array], Array | None]
"""Sees the first output of each operator, by name, and gives what is to be there instead."""


def steps(session: Session, feed: Feed) -> Iterator[tuple[int, str, Array, bool]]:
    """As `Session.run_layers` shows them: place and name of each operator, its first output, and
    whether it is the last. The session's state starts at zeros."""
    left, at, count = ffi.new("uint32_t *"), 0, len(session.op_outputs)
    with session._turn:
        session._must(lib.ek_session_reset(session._session))  # it may have stopped on its way
        given = session._shaped(session.model.of_raw(session._with_elements(feed)))
        session._write(only(given, session.inputs))
        while at < count:
            session._must(lib.ek_step(session._session, 1, left))
            if at in session.model.always_run:
                if at not in session._shown:
                    session._shown[at] = session._op_view(at)
                yield at, *session._shown[at], left[0] == 0
            at = count - left[0]


class Branches:
    """Runs a session, whose dimensions are fixed, and from chosen operators on a second time with
    another output of that operator."""

    def __init__(self, session: Session) -> None:
        self.session = session
        model = session.model.parsed(constants=False)
        made: dict[int, int] = {}
        needed = {io.tensor: len(model.ops) for io in model.outputs}
        for i, op in enumerate(model.ops):
            for t in op.outputs:
                made.setdefault(t, i)
            needed |= {t: i for t in (*op.inputs, *op.outputs) if needed.get(t, -1) < i}
        needed.pop(ABSENT, None)
        tensors = model.tensors
        at = [t for t in needed if tensors[t].place == Place.Arena]
        self._lives = [(made.get(t, -1), needed[t], tensors[t]) for t in at]
        self._firsts = [tensors[op.outputs[0]].offset for op in model.ops]

    def run(self, feed: Feed, change: Change) -> Iterator[tuple[str, dict[str, Array]]]:
        """The session's outputs with each change that is made, and the operator's name; none
        without."""
        for at, name, view, last in steps(self.session, feed):
            other = change(name, view)
            if other is not None:
                yield name, self._changed(at, view, other, last)

    def copies(
        self, seconds: float, most: int | None = None, within: int | None = None
    ) -> list[Branches]:
        """Copies that share work with it, of the sessions that copies_of gives."""
        found = []
        for session in copies_of(self.session, seconds, most, within):
            found.append(copy(self))
            found[-1].session = session
        return found

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each operator, by the name of its first output; none in a model with
        branches or loops, where places do not say what runs."""
        ops = self.session.op_outputs
        fixed = len(self.session.model.always_run) == len(ops)
        return {op.name: i for i, op in enumerate(ops)} if fixed else {}

    def run_sets(
        self,
        feed: Feed,
        sets: Sequence[Collection[str]],
        change: Callable[[int, str, Array], Array],
    ) -> Iterator[tuple[int, dict[str, Array]]]:
        """The session's outputs with all operators of each set changed, and the number of the
        set. The sets have names in `places`; `change` gets the number of the set as well."""
        ordered = [sorted(self.places[name] for name in names) for names in sets]
        names = list(self.places)
        if not ordered:
            return
        final = max(places[0] for places in ordered)
        for at, name, view, last in steps(self.session, feed):
            for i, places in enumerate(ordered):
                if places[0] == at:
                    later = [(place, partial(change, i, names[place])) for place in places[1:]]
                    yield i, self._changed(at, view, change(i, name, view), last, later)
            if at == final:
                break

    def _changed(
        self,
        at: int,
        view: Array,
        other: Array,
        last: bool,
        later: Sequence[tuple[int, Callable[[Array], Array]]] = (),
    ) -> dict[str, Array]:
        """The outputs with `other` after operator `at`, and changes after `later` ones; the session
        is then as it was."""
        session, parts, left = self.session, self._parts(at, view), ffi.new("uint32_t *")
        before = [part.copy() for part in parts]
        _put(view, other)
        for place, change in later:
            session._must(lib.ek_step(session._session, place - at, left))
            _, view = session._op_view(place)
            _put(view, change(view))
            at, last = place, left[0] == 0
        if not last:  # else it would begin anew
            session._must(lib.ek_step(session._session, _ALL, left))
        found = {io.name: session._told(io, v) for io, v in session._pairs()}
        for part, held in zip(parts, before, strict=True):
            part[...] = held
        return found

    def _parts(self, at: int, view: Array) -> list[NDArray[np.uint8]]:
        """Of the session's memory what the operators behind `at` need of those before, and more."""
        memory = self.session._memory
        base = view.ctypes.data - memory.ctypes.data - self._firsts[at]
        alive = [t for made, needed, t in self._lives if made <= at < needed]
        spans = dict.fromkeys((base + t.offset, base + t.offset + t.nbytes) for t in alive)
        return [memory[:_HEADER], *(memory[first:last] for first, last in spans)]


def _put(view: Array, other: Array) -> None:
    view.flags.writeable = True
    view[...] = other
    view.flags.writeable = False
