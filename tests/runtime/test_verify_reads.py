"""What an operator reads was written in the same run: each way to break that rule."""

from dataclasses import replace

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.model import IoRecord, TensorRecord
from edgekit.toolkit.format.schema import DType, Place
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime.model import aligned

NOBODY = 0xFFFFFFFF


def opened(model):
    """Whether the model opens, and the operator that is blamed if it does not."""
    data = write(model)
    memory = aligned(len(data))
    memory[:] = np.frombuffer(data, np.uint8)
    handle = ffi.new("ek_model *")
    at = ffi.cast("void *", memory.ctypes.data)
    found = lib.ek_model_open(handle, at, len(data), lib.EK_OPEN_DEFAULT)
    assert found in (lib.EK_OK, lib.EK_ERR_CORRUPT)
    return found == lib.EK_OK, handle.failed_op


@pytest.fixture
def three(corpus):
    """x -> a -> b -> y, 32 bytes each, at 0, 32, 64 and 96 of the arena."""
    f = corpus.FileMaker()
    t = f.input(DType.Int8, 32)
    table = f.constant(np.arange(256).astype(np.int8))
    for _ in range(3):
        t = f.op(corpus.FORMS["lut_s8"], [t], DType.Int8, 32, count=32, table=table)
    f.output(t)
    return f.model()


def moved(model, tensor, **changes):
    tensors = list(model.tensors)
    tensors[tensor] = replace(tensors[tensor], **changes)
    return replace(model, tensors=tensors)


def with_op(model, i, **changes):
    ops = list(model.ops)
    ops[i] = replace(ops[i], **changes)
    return replace(model, ops=ops)


def with_tensor(model, offset, count, dtype=DType.Int8):
    """The model with one more tensor in the arena, and its index."""
    record = TensorRecord((count,), dtype, Place.Arena, offset)
    return replace(model, tensors=[*model.tensors, record]), len(model.tensors)


def test_a_chain_opens(three):
    assert opened(three) == (True, NOBODY)


def test_a_tensor_that_nothing_wrote_is_not_read(three):
    model, t = with_tensor(replace(three, memory=replace(three.memory, arena_bytes=256)), 128, 32)
    assert opened(with_op(model, 1, inputs=(t,))) == (False, 1)


def test_a_tensor_is_not_read_before_it_is_written(three):
    assert opened(with_op(three, 0, inputs=(2,))) == (False, 0)


def test_persistent_memory_may_be_read_first(three):
    model = replace(three, memory=replace(three.memory, persistent_bytes=32))
    state = TensorRecord((32,), DType.Int8, Place.Persistent, 0)
    model = replace(model, tensors=[*model.tensors, state])
    assert opened(with_op(model, 0, inputs=(4,))) == (True, NOBODY)


@pytest.mark.parametrize(
    ("offset", "count", "good"),
    [(32, 32, True), (40, 8, True), (32, 33, False), (31, 32, False), (33, 32, False)],
)
def test_what_is_read_is_inside_one_tensor(three, offset, count, good):
    """A view of another's bytes; one byte beyond them is another tensor's, written or not."""
    model, view = with_tensor(three, offset, count)
    model, out = with_tensor(model, 96, count)
    op = replace(model.ops[2], inputs=(view,), outputs=(out,))
    op = replace(op, params={**op.params, "count": count})
    model = replace(model, ops=[*model.ops[:2], op])
    model = replace(model, memory=replace(model.memory, arena_bytes=256))
    model = replace(model, outputs=[IoRecord("y", out, 3, (count,))])
    assert opened(model) == ((True, NOBODY) if good else (False, 2))


@pytest.fixture
def again(three):
    """x -> a, x -> b, a -> y: a is at 32 to 64, the others elsewhere."""
    model = replace(three, memory=replace(three.memory, arena_bytes=512))
    for tensor, offset in ((0, 256), (2, 320), (3, 384)):
        model = moved(model, tensor, offset=offset)
    return with_op(with_op(model, 1, inputs=(0,)), 2, inputs=(1,))


@pytest.mark.parametrize(
    ("offset", "good"), [(0, True), (1, False), (33, False), (63, False), (64, True)]
)
def test_an_output_over_a_part_of_what_is_read_later_is_refused(again, offset, good):
    assert opened(moved(again, 2, offset=offset)) == ((True, NOBODY) if good else (False, 2))


def test_an_output_over_all_that_is_read_later_is_what_is_read(again):
    assert opened(moved(again, 2, offset=32)) == (True, NOBODY)


@pytest.mark.parametrize(
    ("at", "nbytes", "good"), [(0, 32, True), (16, 17, False), (48, 16, False), (64, 16, True)]
)
def test_scratch_over_what_is_read_later_is_refused(again, at, nbytes, good):
    model = with_op(again, 1, scratch_offset=at, scratch_bytes=nbytes)
    assert opened(model) == ((True, NOBODY) if good else (False, 2))


def test_an_input_is_not_read_once_a_part_of_it_was_overwritten(three, again):
    model = moved(three, 2, offset=0)
    assert opened(model) == (True, NOBODY), "b takes the place of x, which nobody needs"
    model = moved(again, 2, offset=272)
    model = with_op(with_op(model, 1, inputs=(1,)), 2, inputs=(0,))
    assert opened(model) == (False, 2)


@pytest.mark.parametrize("spoiled", ["never written", "half overwritten", "used as scratch"])
def test_a_model_output_is_there_at_the_end(three, spoiled):
    model = replace(three, memory=replace(three.memory, arena_bytes=256))
    if spoiled == "never written":
        model, t = with_tensor(model, 128, 32)
        model = replace(model, outputs=[IoRecord("y", t, 3, (32,))])
    elif spoiled == "half overwritten":
        model = replace(model, outputs=[IoRecord("y", 1, 3, (32,))])
        assert opened(model)[0]
        model = moved(model, 3, offset=48)
        model = with_op(moved(model, 2, offset=128), 2, inputs=(2,))
    else:
        model = replace(model, outputs=[IoRecord("y", 1, 3, (32,))])
        model = with_op(model, 2, scratch_offset=48, scratch_bytes=1)
    assert opened(model) == (False, NOBODY)


def test_an_input_may_be_an_output_and_a_constant_too(three):
    through = IoRecord("through", 0, 3, (32,))
    assert opened(replace(three, outputs=[*three.outputs, through])) == (True, NOBODY)
    model = moved(three, 3, place=Place.Blob, offset=0)
    assert opened(replace(model, ops=model.ops[:2])) == (True, NOBODY)


@pytest.mark.parametrize("which", ["inputs", "outputs"])
def test_there_are_at_most_4096_inputs_and_outputs(three, which):
    """What was not written is sought among all inputs."""
    one = getattr(three, which)[0]
    for count in (4096, 4097):
        model = replace(three, **{which: [one] * count})
        assert opened(model)[0] == (count == 4096)
