"""The writer and the reader agree, with each other and with flatc's schema compiler."""

import struct

import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format import model as m
from edgekit.toolkit.format import reader, structs, writer
from edgekit.toolkit.format.schema import STRUCTS, DType, OpKind, Place


def small(blob=b"abcd" * 40):
    return m.EdgeModel(
        tensors=[
            m.TensorRecord((1, 4), DType.Int8, Place.Arena, 0, 0.5, -3),
            m.TensorRecord((1, 4), DType.Int8, Place.Arena, 16, 0.25, 7),
        ],
        ops=[m.OpRecord(OpKind.LutS8, "y", (0,), (1,), {"count": 4, "table": 0}, 16, 16)],
        inputs=[m.IoRecord("x", 0, 1, (1, 4))],
        outputs=[m.IoRecord("y/ünï", 1, 1, (4, 1))],
        memory=m.Memory(12, 32, 16, 0, 32),
        blob=blob,
        target="cortex_m4",
        provenance=m.Provenance("edgekit 1", "00", "11", '{"a": 1}'),
        pruned={0: (True, False, True, True)},
    )


def test_what_is_written_is_read():
    data = writer.write(small())
    assert reader.read(data) == small()
    assert writer.write(reader.read(data)) == data


def test_operators_alike_share_their_parameters():
    one, op = small(), small().ops[0]
    again = m.OpRecord(op.kind, "z", (1,), (0,), dict(op.params), 0, 0)
    other = m.OpRecord(op.kind, "w", (1,), (0,), {"count": 3, "table": 0}, 0, 0)
    two = m.EdgeModel(**{**one.__dict__, "ops": [op, again, other]})
    data = writer.write(two)
    assert reader.read(data) == two
    lone = writer.write(m.EdgeModel(**{**two.__dict__, "ops": [op, other]}))
    extra = STRUCTS["Op"][2] + len("z") + 1 + 2 * 2
    assert len(data) - len(lone) < extra + 8


@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000])
def test_the_blob_is_aligned_in_the_file(size):
    data = writer.write(small(bytes(size)))
    _, start, end = writer.checksum_position(data)
    assert start % m.BLOB_ALIGN == 0
    assert end - start == size


def test_every_changed_byte_is_noticed():
    data = writer.write(small())
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 0x10
        with pytest.raises(UserError, match=r"f\.edge"):
            reader.read(bytes(damaged), "f.edge")


def test_every_truncation_is_noticed():
    data = writer.write(small())
    for size in range(len(data)):
        with pytest.raises(UserError):
            reader.read(data[:size])


def test_a_newer_version_says_upgrade():
    newer = m.EdgeModel(**{**small().__dict__, "version": 9})
    with pytest.raises(UserError, match="upgrade edgekit"):
        reader.read(writer.write(newer))


def test_structs_have_no_padding():
    for name, (code, names, size, align) in STRUCTS.items():
        assert struct.calcsize(code) == size, name
        assert size % align == 0, name
        assert len(names) == len(set(names)) or "reserved" in names


def test_a_number_out_of_range_is_named():
    with pytest.raises(ValueError, match=r"LutS8\.count = -1"):
        structs.pack("LutS8", {"count": -1, "table": 0})
    with pytest.raises(ValueError, match=r"LutS8\.table is missing"):
        structs.pack("LutS8", {"count": 1})
    with pytest.raises(ValueError, match="no field tabel"):
        structs.pack("LutS8", {"count": 1, "table": 0, "tabel": 0})
