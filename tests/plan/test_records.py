"""Buffers of a file's records: those of its graph, by their sizes and lives."""

from edgekit.toolkit.format import model as m
from edgekit.toolkit.format.schema import DType, OpKind, Place
from edgekit.toolkit.plan.memory import Buffer
from edgekit.toolkit.plan.records import assigned


def tensor(offset, nbytes=16, place=Place.Arena):
    return m.TensorRecord((nbytes,), DType.Int8, place, offset)


def model(tensors, reads_and_writes, outputs):
    ops = [m.OpRecord(OpKind.Lut, "", tuple(r), tuple(w), {}) for r, w in reads_and_writes]
    ports = [[m.IoRecord("p", i, 1, tensors[i].shape) for i in some] for some in ([0], outputs)]
    return m.EdgeModel(tensors, ops, *ports, m.Memory(0, 0, 0, 0, 0), b"")


def test_an_output_over_its_input_lengthens_its_life():
    """x -> y over x -> z elsewhere, which the last operator reads with y. Constants have none."""
    tensors = [tensor(0), tensor(0), tensor(16), tensor(32, 8), tensor(0, 16, Place.Blob)]
    made = model(tensors, [((0, 4), (1,)), ((1,), (2,)), ((1, 2), (3,))], [3])
    buffers, buffer_of = assigned(made)
    assert buffers == [Buffer(16, 0, 3), Buffer(16, 2, 3), Buffer(8, 3, 4)]
    assert buffer_of == {0: 0, 1: 0, 2: 1, 3: 2}


def test_bytes_used_again_later_are_another_buffer():
    tensors = [tensor(0), tensor(16), tensor(0, 4), tensor(16, 4)]
    made = model(tensors, [((0,), (1,)), ((1,), (2,)), ((2,), (3,))], [3])
    buffers, _ = assigned(made)
    assert buffers == [Buffer(16, 0, 1), Buffer(16, 1, 2), Buffer(4, 2, 3), Buffer(4, 3, 4)]


def test_a_view_lives_as_long_as_it_is_read():
    """Tensor 2 is what no operator writes: 1 in another shape, an output."""
    tensors = [tensor(0), tensor(16), tensor(16), tensor(32)]
    made = model(tensors, [((0,), (1,)), ((1,), (3,))], [2, 3])
    buffers, buffer_of = assigned(made)
    assert buffers == [Buffer(16, 0, 1), Buffer(16, 1, 3), Buffer(16, 2, 3)]
    assert buffer_of == {0: 0, 1: 1, 2: 1, 3: 2}
