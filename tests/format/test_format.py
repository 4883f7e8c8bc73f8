"""The writer and the reader agree, with each other and with flatc's schema compiler."""

import struct

import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format import model as m
from edgekit.toolkit.format import names, program, reader, structs, writer
from edgekit.toolkit.format.describe import op_type
from edgekit.toolkit.format.schema import EQUALS, STRUCTS, DType, OpKind, Place


def small(blob=b"abcd" * 40):
    return m.EdgeModel(
        tensors=[
            m.TensorRecord((1, 4), DType.Int8, Place.Arena, 0, 0.5, -3),
            m.TensorRecord((1, 4), DType.Int8, Place.Arena, 16, 0.25, 7),
        ],
        ops=[m.OpRecord(OpKind.Lut, "y", (0,), (1,), {"count": 4, "table": 0}, 16, 16)],
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


def convolution(**changed):
    """A 3x3 one, of the shapes and zero points of small_image's tensors."""
    sizes = {"in_h": 8, "in_w": 6, "out_h": 4, "out_w": 3, "batch": 1, "in_c": 3, "out_c": 5}
    window = {"groups": 1, "kernel_h": 3, "kernel_w": 3, "stride_h": 2, "stride_w": 2}
    window |= {"dilation_h": 1, "dilation_w": 1, "pad_top": 1, "pad_left": 1}
    params = {f"geometry.{k}": v for k, v in (sizes | window).items()} | {"weights": 300}
    quant = {"table": 512, "input_zero": -3, "output_zero": 7, "qmin": -128, "qmax": 127}
    quant |= {"tight": 18 + 64 * 3 + 512 * 55}
    params |= {f"requant.{k}": v for k, v in quant.items()}
    params |= {"codec.id": 0, "codec.group": 0, "codec.auxiliary": 0} | changed
    return m.OpRecord(OpKind.Conv2d, "c", (0,), (1,), params)


def program_of(*ops):
    """(bytes of the program, what is read of it), of operators from one image to another."""
    tensors = [
        m.TensorRecord((1, 8, 6, 3), DType.Int8, Place.Arena, 0, 0.5, -3),
        m.TensorRecord((1, 4, 3, 5), DType.Int8, Place.Arena, 144, 0.25, 7),
    ]
    data, begins = program.encode(ops, tensors)
    return len(data), program.decode(data, begins, [op.name for op in ops], tensors)


def test_a_convolution_takes_few_bytes():
    """Header and operands; where the geometry is, weights, table and its bits; the geometry."""
    size, found = program_of(convolution())
    assert found == [convolution()]
    assert size == 12 + 4 + 4 + 1 + 2 + 2 + 3


def test_what_differs_from_an_operand_is_written():
    for name in EQUALS["Conv2d"]:
        op = convolution(**{name: 77})
        size, found = program_of(op)
        assert found == [op], name
        assert size > 25
    op = convolution(**{"requant.qmin": -40, "geometry.in_h": 2**32 - 1})
    assert program_of(op)[1] == [op]


def test_operators_share_a_geometry():
    one, _ = program_of(convolution())
    two, found = program_of(convolution(), convolution(weights=9000))
    assert found == [convolution(), convolution(weights=9000)]
    assert two - one < 20


def test_a_program_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="operators of more than 262140 bytes"):
        program_of(*[convolution()] * 20_000)


def test_scratch_that_is_not_aligned_is_refused():
    op = small().ops[0]
    odd = m.OpRecord(op.kind, op.name, op.inputs, op.outputs, op.params, 33, 8)
    with pytest.raises(ValueError, match="scratch at 33"):
        program_of(odd)


@pytest.mark.parametrize("size", range(6))
def test_numbers_of_any_size_are_read_back(size):
    values = [0, 1, -1, 63, -64, 64, 127, 128, 2**14 - 1, 2**14, -(2**31), 2**31 - 1]
    clip = {f"strides.{i}": values[(size + i) % len(values)] for i in range(6)}
    params = {f"dims.{i}": 2**32 - 1 - i for i in range(6)} | clip
    op = m.OpRecord(OpKind.Copy, "c", (0,), (1,), params | {"offset": 0, "element_bytes": 4})
    assert program_of(op)[1] == [op]


@pytest.mark.parametrize(
    "listed",
    [[], [""], ["a", "a", "ab", "", "b"], ["x" * 300, "x" * 300 + "y", "x" * 14, "x" * 15, "é" * 9],
     [f"block_{i}/conv_{j}" for i in range(20) for j in range(20)]],
)  # fmt: skip
def test_names_are_read_back(listed):
    assert names.decode(names.encode(listed)) == listed


def test_names_alike_take_few_bytes():
    listed = [f"features.{i}.conv.weight" for i in range(100)]
    assert len(names.encode(listed)) < 16 * len(listed)


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


def test_a_version_from_before_the_first_release_says_convert():
    older = m.EdgeModel(**{**small().__dict__, "version": 1})
    with pytest.raises(UserError, match=r"format version 1.*convert the model again"):
        reader.read(writer.write(older))


def test_structs_have_no_padding():
    for name, (code, fields, size, align) in STRUCTS.items():
        assert struct.calcsize(code) == size, name
        assert size % align == 0, name
        assert len(fields) == len(set(fields)) or "reserved" in fields


def test_a_number_out_of_range_is_named():
    with pytest.raises(ValueError, match=r"Lut\.count = -1"):
        structs.pack("Lut", {"count": -1, "table": 0})
    with pytest.raises(ValueError, match=r"Lut\.table is missing"):
        structs.pack("Lut", {"count": 1})
    with pytest.raises(ValueError, match="no field tabel"):
        structs.pack("Lut", {"count": 1, "table": 0, "tabel": 0})


def test_tables_of_channels_have_the_name_of_others():
    assert {op_type(kind) for kind in (OpKind.Lut, OpKind.ChannelLut)} == {"Lut"}
    assert op_type(OpKind.Concat) == "Concat"
