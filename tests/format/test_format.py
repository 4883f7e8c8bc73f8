"""The writer and the reader agree, with each other and with flatc's schema compiler."""

import math
import struct
from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format import model as m
from edgekit.toolkit.format import names, program, reader, strip, structs, writer
from edgekit.toolkit.format.schema import EQUALS, STRUCTS, VARIANT, DType, OpKind, Place


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


def full():
    """All sections, and in each what a writer or a reader is likely to leave out."""
    persistent = [m.TensorRecord((2,), DType.Float32, Place.Persistent, 8 * i) for i in range(2)]
    op = small().ops[0]
    ops = [op, replace(op, name=""), replace(op, inputs=(m.ABSENT,), name="z")]
    return replace(
        small(),
        tensors=[*persistent, *small().tensors],
        ops=ops,
        inputs=[m.IoRecord("x", 2, 0, (1, 4)), m.IoRecord("s", 0, 1, ())],
        outputs=[m.IoRecord("y", 3, 1, (4, 1), ("", "a\n", "", "b", ""))],
        provenance=m.Provenance(options='{"a": 1}'),
        pruned={2: (True,) * 9, 0: (False, True)},
        placement=(False, False, False),
        starts={1: m.Start(64), 0: m.Start(32, 4)},
        states=[m.StateRecord("s", "t", 0), m.StateRecord("u", "v", 1)],
        empty_inputs=[m.IoRecord("none", 0, 1, (0, 3))],
        empty_outputs=[m.IoRecord("nothing", 0, 7, (0,))],
    )


@pytest.mark.parametrize("made", [small, full])
def test_what_is_written_is_read(made):
    data = writer.write(made())
    assert reader.read(data) == made()
    assert writer.write(reader.read(data)) == data
    assert reader.empty_ports(data) == (made().empty_inputs, made().empty_outputs)


def test_what_only_tools_read_is_stripped():
    left = strip.stripped(full())
    assert (left.provenance, left.pruned, left.states) == (m.Provenance(), {}, [])
    assert not any(left.op_names[i] != f"#{i}" for i in range(len(left.ops)))
    assert (left.inputs, left.outputs, left.starts) == (
        full().inputs,
        full().outputs,
        full().starts,
    )


def test_the_same_model_gives_the_same_bytes():
    other = replace(
        full(),
        pruned=dict(sorted(full().pruned.items())),
        starts={0: m.Start(32, 4), 1: m.Start(64)},
    )
    assert writer.write(other) == writer.write(full())
    assert writer.write(replace(full(), ops=[replace(op, name="") for op in full().ops]))


def test_shapes_that_are_in_others_take_no_bytes():
    shapes = [(2, 3, 4), (3, 4), (4,), (2, 3), (), (2, 3, 4), (3, 5)]
    _, _, dims = writer._tensors([replace(small().tensors[0], shape=s) for s in shapes])
    assert dims == [2, 3, 4, 3, 5]


@pytest.mark.parametrize("what", ["tensors", "operators"])
def test_as_many_things_as_an_index_can_tell_apart(what, monkeypatch):
    limit = m.ABSENT - 1
    for count in (limit, limit + 1):
        things = [small().tensors[0]] * count if what == "tensors" else []
        if what == "operators":  # which share what they can, and still are too many for the program
            monkeypatch.setattr(program, "encode", lambda *_: (b"", [], []))
            things = small().ops * count
        model = replace(small(), **{"tensors" if what == "tensors" else "ops": things})
        if count == limit:
            assert len(writer.write(model)) > len(writer.write(small()))
        else:
            with pytest.raises(ValueError, match=f"65535 {what}: the format holds at most 65534"):
                writer.write(model)


def test_an_operand_that_is_not_there_is_refused():
    outside = replace(small().ops[0], inputs=(2,))
    with pytest.raises(UserError, match="a tensor that is not there"):
        reader.read(writer.write(replace(small(), ops=[outside])))


@pytest.mark.parametrize("more", [1, 2, 1 << 20])
def test_a_section_that_ends_past_the_file_is_refused_with_the_right_checksums(more):
    """`blob` says to be longer than the file; what has no checksum is no guard against that."""
    data = bytearray(writer.write(small()))
    _, blob, _ = writer.checksum_position(data)
    struct.pack_into("<I", data, blob - 4, len(data) - blob + more)
    at = writer.checksum_position(data)[0]
    data[at : at + 8] = struct.pack("<II", *writer.checksums(data))
    with pytest.raises(UserError, match=r"Model\.blob runs past the end of the file"):
        reader.read(bytes(data))


def test_a_section_may_end_where_the_file_does():
    data = bytearray(writer.write(small()))
    _, blob, _ = writer.checksum_position(data)
    struct.pack_into("<I", data, blob - 4, len(data) - blob)
    at = writer.checksum_position(data)[0]
    data[at : at + 8] = struct.pack("<II", *writer.checksums(data))
    assert reader.read(bytes(data)).blob == bytes(data[blob:])


@pytest.mark.parametrize("options", ["[1]", "{", "1"])
def test_options_that_are_no_object_are_refused(options):
    with pytest.raises(UserError, match=r"corrupted"):
        reader.read(writer.write(replace(small(), provenance=m.Provenance(options=options))))


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


def program_of(*ops, dtype=DType.Int8, shapes=((1, 8, 6, 3), (1, 4, 3, 5))):
    """(bytes of the program, what is read of it), of operators from one image to another."""
    tensors = [
        m.TensorRecord(shapes[0], dtype, Place.Arena, 0, 0.5, -3),
        m.TensorRecord(shapes[1], dtype, Place.Arena, 144, 0.25, 7),
    ]
    data, begins, _ = program.encode(ops, tensors)
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


def bits(value):
    return struct.unpack("<i", struct.pack("<f", value))[0]


@pytest.mark.parametrize(
    ("dtype", "lowest", "highest"),
    [
        (DType.Int16, -32767, 32767),
        (DType.Int32, -(2**31), 2**31 - 1),
        (DType.Float32, bits(-math.inf), bits(math.inf)),
    ],
)
def test_the_whole_range_of_a_type_is_not_written(dtype, lowest, highest):
    """As docs/format.md has `lowest` and `highest`: of int16 without -32768, of floats infinite."""
    clamp = {"requant.qmin": lowest, "requant.qmax": highest}
    size, found = program_of(convolution(**clamp), dtype=dtype)
    assert found == [convolution(**clamp)]
    assert size == program_of(convolution())[0]


def test_a_dimension_or_an_operand_that_is_not_there_is_0():
    line = convolution(**{"geometry.in_c": 0, "geometry.out_c": 0})
    assert program_of(line, shapes=((1, 8, 6), (1, 4, 3)))[0] == program_of(convolution())[0]
    op = replace(convolution(), inputs=(m.ABSENT,))
    assert program_of(op)[1] == [op]


@pytest.mark.parametrize("kind", OpKind)
def test_every_parameter_of_every_kind_is_read_back(kind):
    code, fields, _, _ = STRUCTS[kind.name]
    ends = {"f": (-3.0e-38, 16777215.0)}
    for letter, bits in {"b": 8, "h": 16, "i": 32}.items():
        ends |= {
            letter: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
            letter.upper(): (0, 2**bits - 1),
        }
    for side in (0, 1):
        params = {
            f: ends[c][side] for f, c in zip(fields, code[1:], strict=True) if f != "reserved"
        }
        op = m.OpRecord(kind, "c", (0,), (1,), params)
        (found,) = program_of(op)[1]
        want = {f: np.float32(v) if isinstance(v, float) else v for f, v in params.items()}
        assert found.params == want


def test_a_number_that_never_ends_is_left_after_five_bytes():
    reading = program._Reader(b"\xff" * 20, 0)
    assert (reading.varint(), reading.at) == (2**32 - 1, 5)


def test_operators_share_a_geometry():
    one, _ = program_of(convolution())
    two, found = program_of(convolution(), convolution(weights=9000))
    assert found == [convolution(), convolution(weights=9000)]
    assert two - one < 20


def test_a_program_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="operators of more than 262140 bytes"):
        program_of(*[convolution()] * 20_000)


def test_the_last_operator_may_begin_at_the_last_word(monkeypatch):
    ops = [convolution(), convolution()]
    tensors = [m.TensorRecord((1, 8, 6, 2), DType.Int8, m.Place.Arena, 0)] * 2
    begin = program.encode(ops, tensors)[1][1]
    monkeypatch.setattr(program, "_MOST_WORDS", begin)
    assert program.encode(ops, tensors)[1][1] == begin
    monkeypatch.setattr(program, "_MOST_WORDS", begin - 1)
    with pytest.raises(ValueError, match="operators of more than"):
        program.encode(ops, tensors)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_number_that_attributes_contradict_is_refused(groups):
    """Of a kind for a variant, or the other way."""
    channels = {f"geometry.{name}": 2 for name in ("in_c", "out_c")}
    op = convolution(**channels, **{"geometry.groups": groups})
    tensors = [m.TensorRecord((1, 8, 6, 2), DType.Int8, m.Place.Arena, 0)] * 2
    data, begins, _ = program.encode([op], tensors)
    at = begins[0] * program.WORD
    assert data[at] == OpKind.Conv2d + VARIANT * (groups == 2)
    wrong = data[:at] + bytes([data[at] ^ VARIANT]) + data[at + 1 :]
    with pytest.raises(ValueError, match="'c' is of number"):
        program.decode(wrong, begins, ["c"], tensors)


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
    [[], [""], ["abcdefghijklmno", "pqrstuvwxyzabcd", "e"], ["abcdefghijklmn", "opqrstuvwxyzabcd"],
     ["a", "a", "ab", "", "b"], ["x" * 300, "x" * 300 + "y", "x" * 14, "x" * 15, "é" * 9],
     [f"block_{i}/conv_{j}" for i in range(20) for j in range(20)]],
)  # fmt: skip
def test_names_are_read_back(listed):
    assert names.decode(names.encode(listed)) == listed


def test_names_alike_take_few_bytes():
    listed = [f"features.{i}.conv.weight" for i in range(100)]
    assert len(names.encode(listed)) < 16 * len(listed)
    assert len(names.encode(["x" * 200] * 2)) == 1 + 200 + 1 + 2  # the second is the first
    fifteen = [chr(ord("a") + i) * 50 for i in range(15)]
    assert len(names.encode(fifteen * 2)) == 15 * (1 + 50 + 1) + 15 * 2


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
    newer = m.EdgeModel(**{**small().__dict__, "version": m.FORMAT_VERSION + 1})
    with pytest.raises(UserError, match="upgrade edgekit"):
        reader.read(writer.write(newer))


def test_a_version_from_before_the_first_release_says_convert():
    older = m.EdgeModel(**{**small().__dict__, "version": m.FORMAT_VERSION - 1})
    with pytest.raises(UserError, match=r"format version 2.*convert the model again"):
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
