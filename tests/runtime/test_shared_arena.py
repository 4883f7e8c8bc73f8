"""Sessions on one arena, against sessions with memory of their own."""

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.writer import write

from .conftest import CASES
from .test_interface import Opened, aligned


class Shared(Opened):
    """`init` puts the session on an arena that is given."""

    def __init__(self, data, kernels="ref"):
        super().__init__(data, kernels)
        own, arena = ffi.new("size_t *"), ffi.new("size_t *")
        status = lib.ek_session_size_shared(self.model, self.kernels, own, arena)
        assert status == lib.EK_OK and own[0] + arena[0] >= self.size
        assert own[0] <= self.size
        self.own, self.arena_bytes = own[0], arena[0]

    def init_on(self, arena, size=None, own=None, offset=0):
        own = self.own if own is None else own
        size = self.arena_bytes if size is None else size
        memory, place = self.at(self.memory), self.at(arena, offset)
        return lib.ek_session_init_shared(
            self.session, memory, own, place, size, self.model, self.kernels
        )

    def answer(self):
        for i in range(lib.ek_input_count(self.model)):
            self.io(lib.ek_session_input, i)[:] = 0  # of which `fill` writes a part
        self.fill()
        assert lib.ek_run(self.session[0]) == lib.EK_OK
        return self.outputs()


@pytest.mark.parametrize("kernels", ["ref", "x86_avx2"])
def test_sessions_that_share_an_arena_answer_as_if_alone(corpus, kernels):
    if kernels not in [ffi.string(lib.ek_kernels_name(i)).decode() for i in range(2)]:
        pytest.skip("not in this build")
    files = [write(corpus.one_operator(case)) for case in list(CASES)[:40]]
    alone = []
    for data in files:
        o = Shared(data, kernels)
        assert o.init() == lib.EK_OK
        alone.append([o.answer() for _ in range(2)])
    sessions = [Shared(data, kernels) for data in files]
    arena = aligned(max(s.arena_bytes for s in sessions) + 16)
    for s in sessions:
        arena[:] = 77
        assert s.init_on(arena) == lib.EK_OK
        assert not arena[: s.arena_bytes].any() and (arena[s.arena_bytes :] == 77).all()
    rounds = [[s.answer() for s in sessions] for _ in range(2)]
    assert [list(both) for both in zip(*rounds, strict=True)] == alone


def test_memory_that_is_short_or_crooked_is_refused(corpus):
    s = Shared(write(corpus.chain()))
    arena = aligned(s.arena_bytes + 64)
    assert s.init_on(arena) == lib.EK_OK
    assert s.init_on(arena, size=s.arena_bytes - 1) == lib.EK_ERR_MEMORY
    assert s.init_on(arena, own=s.own - 1) == lib.EK_ERR_MEMORY
    assert s.init_on(arena, offset=4) == lib.EK_ERR_ALIGN
    null, size = ffi.NULL, ffi.new("size_t *")
    memory, at = s.at(s.memory), s.at(arena)
    for status in (
        lib.ek_session_init_shared(s.session, memory, s.own, null, 64, s.model, s.kernels),
        lib.ek_session_init_shared(s.session, null, s.own, at, 64, s.model, s.kernels),
        lib.ek_session_init_shared(s.session, memory, s.own, at, 64, null, s.kernels),
        lib.ek_session_size_shared(s.model, s.kernels, size, null),
        lib.ek_session_size_shared(s.model, s.kernels, null, size),
        lib.ek_session_size_shared(s.model, null, size, size),
    ):
        assert status == lib.EK_ERR_ARG
    assert np.frombuffer(ffi.buffer(memory, 1), np.uint8).size
