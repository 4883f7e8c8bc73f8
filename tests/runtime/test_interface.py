"""What edgekit.h promises to a C caller: memory, alignment, steps, callbacks, checksums."""

import zlib
from dataclasses import replace

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.schema import BinaryFn, DType, Place
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import kernel_tables
from edgekit.toolkit.runtime.kernels import table
from edgekit.toolkit.runtime.model import aligned

from .conftest import CASES

OPEN = 0


class Opened:
    def __init__(self, data, kernels="ref"):
        self.data = aligned(len(data))
        self.data[:] = np.frombuffer(data, np.uint8)
        self.model = ffi.new("ek_model *")
        assert lib.ek_model_open(self.model, self.at(self.data), len(data), OPEN) == lib.EK_OK
        self.kernels = table(kernels)
        size = ffi.new("size_t *")
        assert lib.ek_session_size(self.model, self.kernels, size) == lib.EK_OK
        self.size = size[0]
        self.memory = aligned(self.size + 64)
        self.session = ffi.new("ek_session **")

    @staticmethod
    def at(array, offset=0):
        return ffi.cast("void *", array.ctypes.data + offset)

    def init(self, size=None, offset=0):
        size = self.size if size is None else size
        memory = self.at(self.memory, offset)
        return lib.ek_session_init(self.session, memory, size, self.model, self.kernels)

    def io(self, get, i):
        io = ffi.new("ek_io *")
        assert get(self.session[0], i, io) == lib.EK_OK
        return np.frombuffer(ffi.buffer(io.data, io.bytes), np.uint8)

    def fill(self):
        for i in range(lib.ek_input_count(self.model)):
            view = self.io(lib.ek_session_input, i)
            view[::4] = np.arange(view[::4].size) % 4

    def outputs(self):
        count = lib.ek_output_count(self.model)
        return [self.io(lib.ek_session_output, i).tobytes() for i in range(count)]


@pytest.fixture(params=CASES)
def one_operator(request, corpus):
    return write(corpus.one_operator(request.param))


@pytest.mark.parametrize("kernels", kernel_tables())
def test_a_session_needs_all_its_memory_and_no_more(one_operator, kernels):
    o = Opened(one_operator, kernels)
    o.memory[:] = 0xA5
    assert o.init(o.size - 1) == lib.EK_ERR_MEMORY
    assert o.session[0] == ffi.NULL
    assert (o.memory == 0xA5).all()
    assert o.init() == lib.EK_OK
    o.fill()
    assert lib.ek_run(o.session[0]) == lib.EK_OK
    assert (o.memory[o.size :] == 0xA5).all()


def test_what_memory_held_before_does_not_matter(one_operator):
    results = []
    for fill in (0x00, 0xFF):
        o = Opened(one_operator)
        o.memory[:] = fill
        assert o.init() == lib.EK_OK
        o.fill()
        assert lib.ek_run(o.session[0]) == lib.EK_OK
        results.append(o.outputs())
    assert results[0] == results[1]


def test_the_file_stays_as_it_was(one_operator):
    o = Opened(one_operator)
    assert o.init() == lib.EK_OK
    o.fill()
    lib.ek_run(o.session[0])
    assert o.data.tobytes() == one_operator


@pytest.mark.parametrize("offset", [1, 4, 8])
def test_misaligned_memory_is_refused(corpus, offset):
    data = write(corpus.chain())
    o = Opened(data)
    assert o.init(offset=offset) == lib.EK_ERR_ALIGN
    shifted = aligned(len(data) + 16)
    shifted[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
    status = lib.ek_model_open(o.model, o.at(shifted, offset), len(data), OPEN)
    assert status == lib.EK_ERR_ALIGN


@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_steps_end_where_a_run_ends(corpus, step):
    data = write(corpus.one_operator("unary_f32"))
    whole, stepped = Opened(data), Opened(data)
    left = ffi.new("uint32_t *")
    for o in (whole, stepped):
        assert o.init() == lib.EK_OK
        o.fill()
    assert lib.ek_run(whole.session[0]) == lib.EK_OK
    counts = []
    while True:
        assert lib.ek_step(stepped.session[0], step, left) == lib.EK_OK
        counts.append(left[0])
        if not left[0]:
            break
    assert counts == [max(28 - step * (i + 1), 0) for i in range(len(counts))]
    assert stepped.outputs() == whole.outputs()
    assert lib.ek_step(stepped.session[0], 0, left) == lib.EK_OK
    assert left[0] == 28


def test_a_run_starts_over_and_so_does_a_reset(corpus):
    o = Opened(write(corpus.one_operator("unary_f32")))
    assert o.init() == lib.EK_OK
    o.fill()
    left = ffi.new("uint32_t *")
    ran = []
    callback = ffi.callback("ek_op_callback", lambda context, session, op: ran.append(op))
    assert lib.ek_session_on_op(o.session[0], callback, ffi.NULL) == lib.EK_OK
    lib.ek_step(o.session[0], 5, left)
    lib.ek_run(o.session[0])
    assert ran == [*range(5), *range(28)]
    lib.ek_step(o.session[0], 3, left)
    lib.ek_session_reset(o.session[0])
    lib.ek_step(o.session[0], 1, left)
    assert ran[33:] == [0, 1, 2, 0]


def test_a_run_that_failed_starts_over(corpus):
    """The operators before the one that failed may have to write anew what it had to read."""
    f = corpus.FileMaker()
    x, indices = f.input(DType.Int8, 4), f.input(DType.Int32, 2)
    table = f.constant(np.arange(256).astype(np.int8))
    y = f.op(corpus.FORMS["lut_s8"], [x], DType.Int8, 4, count=4, table=table)
    p = {"outer": 1, "axis": 4, "inner_bytes": 1, "count": 2}
    f.output(f.op(corpus.FORMS["gather"], [y, indices], DType.Int8, 2, **p))
    o = Opened(write(f.model()))
    assert o.init() == lib.EK_OK
    left = ffi.new("uint32_t *")
    at = o.io(lib.ek_session_input, 1).view(np.int32)
    at[:] = (0, 4)
    assert lib.ek_step(o.session[0], 1, left) == lib.EK_OK
    assert lib.ek_step(o.session[0], 1, left) == lib.EK_ERR_INDEX
    at[:] = (3, -4)
    o.io(lib.ek_session_input, 0)[:] = (0, 1, 2, 3)
    assert lib.ek_step(o.session[0], 1, left) == lib.EK_OK
    assert left[0] == 1, "the first operator ran again"
    assert lib.ek_step(o.session[0], 1, left) == lib.EK_OK
    assert left[0] == 0
    assert np.frombuffer(o.outputs()[0], np.int8).tolist() == [-125, -128]


def test_a_reset_makes_the_state_zero_and_a_run_does_not(corpus):
    """state + x to the state, which lies in persistent memory."""
    f = corpus.FileMaker()
    x, state = f.input(DType.Int32, 3), f.tensor(DType.Int32, 3, place=Place.Persistent, offset=0)
    every = corpus.indexed(**{"shape.dims": (1, 1, 1, 3), "shape.a": (3, 3, 3, 1)})
    every |= corpus.indexed(**{"shape.b": (3, 3, 3, 1)})
    p = {"fn": int(BinaryFn.Add), "qmin": -(2**31), "qmax": 2**31 - 1}
    f.output(f.op(corpus.FORMS["binary_s32"], [state, x], DType.Int32, 3, **every, **p))
    f.tensors[-1] = f.tensors[state]
    model = f.model()
    model = replace(model, memory=replace(model.memory, persistent_bytes=12))
    o = Opened(write(model))
    assert o.init() == lib.EK_OK

    def ran():
        o.io(lib.ek_session_input, 0).view(np.int32)[:] = (1, -2, 3)
        assert lib.ek_run(o.session[0]) == lib.EK_OK
        return np.frombuffer(o.outputs()[0], np.int32).tolist()

    assert [ran(), ran()] == [[1, -2, 3], [2, -4, 6]]
    assert lib.ek_session_reset(o.session[0]) == lib.EK_OK
    assert ran() == [1, -2, 3]


def test_the_profiler_stands_around_each_operator(corpus):
    o = Opened(write(corpus.chain()))
    assert o.init() == lib.EK_OK
    marks = []
    profiler = ffi.callback("ek_profiler", lambda context, op, after: marks.append((op, after)))
    lib.ek_session_on_profile(o.session[0], profiler, ffi.NULL)
    lib.ek_run(o.session[0])
    assert marks == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_null_and_out_of_range_are_argument_errors(corpus):
    o = Opened(write(corpus.chain()))
    null, io = ffi.NULL, ffi.new("ek_io *")
    data, nbytes = ffi.new("void const **"), ffi.new("uint32_t *")
    assert o.init() == lib.EK_OK
    s = o.session[0]
    for status in (
        lib.ek_model_open(null, o.at(o.data), 10, OPEN),
        lib.ek_model_open(ffi.new("ek_model *"), null, 10, OPEN),
        lib.ek_model_open(ffi.new("ek_model *"), o.at(o.data), 10, 0x80),
        lib.ek_session_size(null, o.kernels, ffi.new("size_t *")),
        lib.ek_session_size(ffi.new("ek_model *"), o.kernels, ffi.new("size_t *")),
        lib.ek_session_size(o.model, null, ffi.new("size_t *")),
        lib.ek_session_init(o.session, null, 10, o.model, o.kernels),
        lib.ek_session_input(s, 1, io),
        lib.ek_session_output(s, 1, io),
        lib.ek_session_input(s, 0, null),
        lib.ek_session_op_output(s, 2, 0, data, nbytes),
        lib.ek_session_op_output(s, 0, 1, data, nbytes),
        lib.ek_run(null),
        lib.ek_step(s, 1, null),
        lib.ek_session_reset(null),
    ):
        assert status == lib.EK_ERR_ARG
    assert lib.ek_input_count(null) == 0


def test_a_model_that_did_not_open_serves_no_session(corpus):
    o = Opened(write(corpus.chain()))
    assert lib.ek_model_open(o.model, o.at(o.data), 100, OPEN) == lib.EK_ERR_CORRUPT
    assert lib.ek_input_count(o.model) == 0
    assert o.init() == lib.EK_ERR_ARG


def test_crc_is_zlibs():
    data = np.random.default_rng(0).bytes(1000)
    whole = lib.ek_crc32(0, data, len(data))
    assert whole == zlib.crc32(data)
    assert lib.ek_crc32(lib.ek_crc32(0, data[:123], 123), data[123:], 877) == whole


def test_every_status_has_its_own_words():
    names = [n for n in dir(lib) if n == "EK_OK" or n.startswith("EK_ERR_")]
    said = {ffi.string(lib.ek_status_str(getattr(lib, n))) for n in names}
    assert len(said) == len(names) == 10
    assert b"unknown" in ffi.string(lib.ek_status_str(ffi.cast("ek_status", -99)))


def test_the_version_is_the_packages():
    import edgekit

    version = lib.ek_version()
    assert edgekit.__version__ == f"{version // 10000}.{version // 100 % 100}.{version % 100}"
