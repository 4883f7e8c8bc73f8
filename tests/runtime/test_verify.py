"""Every rule of docs/format.md, broken once: the file is refused with the right status."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format import schema
from edgekit.toolkit.format.model import IoRecord, TensorRecord
from edgekit.toolkit.format.program import WORD
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import EQUALS, SLOTS, STRUCTS, DType, OpKind, Place
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model
from edgekit.toolkit.runtime.model import aligned

from .conftest import CASES

# Of an operator in the program: its first bytes, and where its operands are.
KIND, INPUTS, OUTPUTS, FLAGS, HEADER = range(5)
EXTREMES = {
    "B": (0, 0xFF),
    "H": (0, 0xFFFF),
    "I": (0, 0xFFFFFFFF),
    "h": (-(2**15), 2**15 - 1),
    "i": (-(2**31), 2**31 - 1),
    "f": (float("-inf"), float("nan")),
}


def opened(data, checksum=False):
    """Status of ek_model_open, and the operator it blames."""
    memory = aligned(len(data))
    memory[:] = np.frombuffer(data, np.uint8)
    model = ffi.new("ek_model *")
    at = ffi.cast("void *", memory.ctypes.data)
    flags = lib.EK_OPEN_CHECKSUM if checksum else lib.EK_OPEN_DEFAULT
    return lib.ek_model_open(model, at, len(data), flags), model.failed_op


def status(data, checksum=False):
    return opened(data, checksum)[0]


class Patch:
    """A file to be damaged by field."""

    def __init__(self, data):
        self.data = bytearray(data)
        (self.root,) = struct.unpack_from("<I", data, 0)
        self.vtable = self.root - struct.unpack_from("<i", data, self.root)[0]

    def slot(self, field):
        return self.vtable + 4 + 2 * SLOTS["Model"][field]

    def field(self, name):
        return self.root + struct.unpack_from("<H", self.data, self.slot(name))[0]

    def vector(self, name):
        at = self.field(name)
        return at + struct.unpack_from("<I", self.data, at)[0]

    def set(self, code, at, value):
        struct.pack_into("<" + code, self.data, at, value)
        return bytes(self.data)

    def operator(self, i):
        """Where operator i begins in the file."""
        (word,) = struct.unpack_from("<H", self.data, self.vector("ops") + 4 + 2 * i)
        return self.vector("program") + 4 + WORD * word

    def set_struct(self, vector, struct_name, i, field, value):
        code, names, size, _ = STRUCTS[struct_name]
        at = names.index(field)
        offset = struct.calcsize("<" + code[1 : 1 + at])
        return self.set(code[1 + at], self.vector(vector) + 4 + i * size + offset, value)


@pytest.fixture
def chain(corpus):
    return corpus.chain()


@pytest.fixture
def patch(chain):
    return Patch(write(chain))


def test_the_file_itself_opens(chain):
    assert opened(write(chain), checksum=True) == (lib.EK_OK, 0xFFFFFFFF)


def test_every_truncation_is_refused(chain):
    data = write(chain)
    assert {status(data[:n]) for n in range(len(data))} == {lib.EK_ERR_CORRUPT}


def test_every_changed_bit_is_noticed_by_the_checksums(chain):
    data = write(chain)
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 1 << (i % 8)
        assert status(bytes(damaged), checksum=True) != lib.EK_OK, f"byte {i}"


def test_a_changed_weight_is_a_checksum_error(patch):
    data = patch.set("b", patch.vector("blob") + 4, 77)
    assert status(data) == lib.EK_OK
    assert status(data, checksum=True) == lib.EK_ERR_CHECKSUM


@pytest.mark.parametrize("at", range(8))
def test_identifier_and_root(patch, at):
    patch.data[at] ^= 0xFF
    assert status(bytes(patch.data)) == lib.EK_ERR_CORRUPT


def test_version(patch):
    at = patch.field("version")
    for unknown in (1, 2, 4):
        assert status(patch.set("H", at, unknown)) == lib.EK_ERR_VERSION
    assert status(patch.set("H", at, 0)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize(
    "field",
    ["version", "target", "memory", "tensors", "types", "dims", "program", "ops", "inputs",
     "outputs", "names", "blob"],
)  # fmt: skip
def test_a_field_outside_the_table_or_the_file(patch, field):
    assert status(patch.set("H", patch.slot(field), 0xFFFC)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize("count", [0x7FFFFFFF, 0xFFFFFFFF, 0x40000000, 0x15555556])
@pytest.mark.parametrize(
    "field", ["tensors", "types", "dims", "program", "ops", "inputs", "outputs", "names", "blob"]
)
def test_a_vector_longer_than_the_file(patch, field, count):
    assert status(patch.set("I", patch.vector(field), count)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize("offset", [1, 2, 3, 0x7FFFFFFC, 0xFFFFFFFC, 0xFFFFFFFF])
@pytest.mark.parametrize("field", ["tensors", "types", "program", "ops", "inputs", "blob"])
def test_a_vector_at_a_wrong_place(patch, field, offset):
    assert status(patch.set("I", patch.field(field), offset)) == lib.EK_ERR_CORRUPT


def test_without_memory_there_is_no_model(patch):
    assert status(patch.set("H", patch.slot("memory"), 0)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("offset", 0xFFFFFFF0), ("offset", 1 << 20), ("type", 1), ("type", 0xFFFF),
        ("scale", float("nan")), ("scale", float("inf")), ("scale", -1.0),
    ],
)  # fmt: skip
def test_a_tensor_that_lies(patch, field, value):
    assert status(patch.set_struct("tensors", "Tensor", 0, field, value)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bytes", 5), ("bytes", 7), ("bytes", 0), ("bytes", 0xFFFFFFFF), ("dims", 0xFFFFFFFF),
        ("dims", 1), ("rank", 9), ("rank", 3), ("dtype", 5), ("dtype", 0), ("place", 3),
        ("reserved", 1),
    ],
)  # fmt: skip
def test_a_type_that_lies(patch, field, value):
    assert status(patch.set_struct("types", "TensorType", 0, field, value)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize("shape", [(0, 6), (2, 0), (2**31, 2**31, 2**31), (2**16, 2**16)])
def test_a_shape_that_is_empty_or_overflows(chain, shape):
    patch = Patch(write(chain))
    dims = patch.vector("dims") + 4
    for i, d in enumerate(shape[:2]):
        patch.set("I", dims + 4 * i, d)
    assert status(bytes(patch.data)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize("place", [Place.Arena, Place.Blob, Place.Persistent])
def test_a_tensor_past_the_end_of_its_place(corpus, place):
    f = corpus.FileMaker()
    f.floats(8)
    model = f.model()
    memory = replace(model.memory, arena_bytes=32, persistent_bytes=32)

    def at(offset):
        tensors = [TensorRecord((4,), DType.Float32, place, offset)]
        return status(write(replace(model, tensors=tensors, memory=memory)))

    assert at(16) == lib.EK_OK
    assert at(20) == lib.EK_ERR_CORRUPT
    assert at(14) == lib.EK_ERR_CORRUPT, "not aligned to its type"


@pytest.mark.parametrize(
    ("byte", "value", "verdict"),
    [
        (KIND, 0, "EK_ERR_UNSUPPORTED"),
        (KIND, 255, "EK_ERR_UNSUPPORTED"),
        (KIND, OpKind.Lut + schema.VARIANT, "EK_ERR_UNSUPPORTED"),
        (INPUTS, 0, "EK_ERR_CORRUPT"),
        (INPUTS, 255, "EK_ERR_CORRUPT"),
        (OUTPUTS, 0, "EK_ERR_CORRUPT"),
        (OUTPUTS, 2, "EK_ERR_CORRUPT"),
        (FLAGS, 4, "EK_ERR_CORRUPT"),
        (FLAGS, 8, "EK_ERR_CORRUPT"),
        (FLAGS, 16, "EK_ERR_CORRUPT"),
        (FLAGS, 255, "EK_ERR_CORRUPT"),
    ],
)
def test_an_operator_that_lies(patch, byte, value, verdict):
    found = opened(patch.set("B", patch.operator(1) + byte, value))
    assert found == (getattr(lib, verdict), 1)


@pytest.mark.parametrize(
    ("form", "verdict"),
    [
        ("conv2d_s8", "EK_ERR_CORRUPT"),
        ("dequantize_s8", "EK_ERR_UNSUPPORTED"),
        ("quantize_s8", "EK_ERR_UNSUPPORTED"),
    ],
)
def test_a_variant_that_attributes_or_dtypes_contradict(corpus, form, verdict):
    patch = Patch(write(corpus.one_operator(form)))
    at = patch.operator(0) + KIND
    found = opened(patch.set("B", at, patch.data[at] ^ schema.VARIANT))
    assert found == (getattr(lib, verdict), 0)


@pytest.mark.parametrize("operand", [3, 0xFFFE, 0xFFFF])
@pytest.mark.parametrize("which", [0, 1])
def test_an_operand_that_is_not_there(patch, which, operand):
    data = patch.set("H", patch.operator(0) + HEADER + 2 * which, operand)
    assert opened(data) == (lib.EK_ERR_CORRUPT, 0)


@pytest.mark.parametrize("word", [1, 0xFFFF])
def test_an_operator_that_begins_elsewhere(patch, word):
    found = opened(patch.set("H", patch.vector("ops") + 4 + 2, word))
    assert found[0] in (lib.EK_ERR_CORRUPT, lib.EK_ERR_UNSUPPORTED)
    assert found[1] == 1


@pytest.mark.parametrize("form", CASES)
def test_an_operator_that_ends_past_the_program(corpus, form):
    patch = Patch(write(corpus.one_operator(form)))
    count = patch.vector("program")
    (size,) = struct.unpack_from("<I", patch.data, count)
    last = patch.operator(0) - count - 4
    for shorter in range(last, size):
        assert status(patch.set("I", count, shorter)) == lib.EK_ERR_CORRUPT, shorter


def test_scratch_without_end_is_refused(chain):
    op = replace(chain.ops[0], scratch_bytes=0xFFFFFFFF)
    assert opened(write(replace(chain, ops=[op, chain.ops[1]]))) == (lib.EK_ERR_CORRUPT, 0)


def test_nothing_is_written_to_the_blob(chain):
    out = replace(chain.tensors[2], place=Place.Blob, offset=0)
    tensors = [*chain.tensors[:2], out]
    assert opened(write(replace(chain, tensors=tensors))) == (lib.EK_ERR_CORRUPT, 1)
    ops = chain.ops[:1]
    constant_output = replace(chain, tensors=tensors, ops=ops)
    assert status(write(constant_output)) == lib.EK_OK
    constant_input = replace(constant_output, inputs=[replace(chain.inputs[0], tensor=2)])
    assert status(write(constant_input)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize(
    ("offset", "nbytes", "good"),
    [
        (32, 16, True),
        (32, 17, False),
        (16, 16, False),
        (0, 16, False),
        (48, 1, False),
    ],
)
def test_scratch_is_inside_the_arena_aligned_and_apart(chain, offset, nbytes, good):
    op = replace(chain.ops[0], scratch_offset=offset, scratch_bytes=nbytes)
    memory = replace(chain.memory, arena_bytes=48)
    verdict = opened(write(replace(chain, ops=[op, chain.ops[1]], memory=memory)))
    assert verdict == ((lib.EK_OK, 0xFFFFFFFF) if good else (lib.EK_ERR_CORRUPT, 0))


@pytest.mark.parametrize(
    ("ends", "begins", "good"), [(16, 35, True), (17, 35, False), (16, 34, False)]
)
def test_scratch_may_touch_operands_and_not_by_a_byte_more(chain, ends, begins, good):
    """19 bytes from 16 on; the operands are of 6."""
    x = replace(chain.tensors[0], offset=ends - 6)
    y = replace(chain.tensors[1], offset=begins)
    z = replace(chain.tensors[2], offset=begins)
    op = replace(chain.ops[0], scratch_offset=16, scratch_bytes=19)
    memory = replace(chain.memory, arena_bytes=64)
    model = replace(chain, tensors=[x, y, z], ops=[op, chain.ops[1]], memory=memory)
    assert opened(write(model)) == ((lib.EK_OK, 0xFFFFFFFF) if good else (lib.EK_ERR_CORRUPT, 0))


def test_scratch_of_no_bytes_is_inside_the_arena_too(chain):
    """Else where it begins would be computed beyond the session's memory."""
    op = replace(chain.ops[0], scratch_offset=64, scratch_bytes=1)
    memory = replace(chain.memory, arena_bytes=48)
    patch = Patch(write(replace(chain, ops=[op, chain.ops[1]], memory=memory)))
    at = patch.operator(0) + HEADER + 2 * (len(op.inputs) + len(op.outputs))
    assert opened(patch.set("B", at, 0)) == (lib.EK_ERR_CORRUPT, 0)
    assert opened(patch.set("B", at + 1, 48 // 16)) == (lib.EK_OK, 0xFFFFFFFF)


@pytest.mark.parametrize(
    "io",
    [
        IoRecord("x", 3, 1, (2, 3)),
        IoRecord("x", 0, 1, (2, 4)),
        IoRecord("x", 0, 1, (2**31, 2**31, 2**31)),
        IoRecord("x", 0, 1, (1,) * 8 + (6,)),
    ],
)
def test_an_input_that_does_not_fit_its_tensor(chain, io):
    assert status(write(replace(chain, inputs=[io]))) == lib.EK_ERR_CORRUPT
    assert status(write(replace(chain, outputs=[io]))) == lib.EK_ERR_CORRUPT


def test_names_that_make_no_sense_do_no_harm(patch):
    """They are for tools: the operators run without."""
    good = Model(bytes(patch.data), checksum=False)
    assert [o.name for o in good.op_outputs] == ["op0", "op1"]
    for damage in (0x11, 0xFF, 0x05):
        model = Model(patch.set("B", patch.vector("names") + 4, damage), checksum=False)
        assert [o.name for o in model.op_outputs] == ["", ""]


def test_the_message_names_the_file_the_operator_and_the_reason(patch, tmp_path):
    path = tmp_path / "m.edge"
    path.write_bytes(patch.set("B", patch.operator(1) + KIND, 127))
    with pytest.raises(
        UserError, match=r"m\.edge: operator 1 \(kind 127 'op1'\): operator or kernels not in"
    ):
        Model(path, checksum=False)
    with pytest.raises(UserError, match=r"m\.edge: checksum mismatch"):
        Model(path)
    path.write_bytes(b"no model at all")
    with pytest.raises(UserError, match=r"m\.edge: not a valid \.edge file"):
        Model(path)
    with pytest.raises(UserError, match=r"none\.edge: no such file; give an \.edge file"):
        Model(tmp_path / "none.edge")


@pytest.mark.parametrize("form", CASES)
def test_no_parameter_can_be_the_largest_number_and_open_unproved(corpus, form):
    """The largest and the smallest number of its type in any field: refused, or harmless to run."""
    model = corpus.one_operator(form)
    code, names, _, _ = STRUCTS[model.ops[0].kind.name]
    for name, letter in zip(names, code[1:], strict=True):
        for value in EXTREMES[letter] if name != "reserved" else ():
            first = replace(model.ops[0], params={**model.ops[0].params, name: value})
            damaged = write(replace(model, ops=[first, *model.ops[1:]]))
            found = status(damaged)
            if name.startswith("codec.") and found == lib.EK_ERR_UNSUPPORTED:
                continue  # the element type has no weights behind a codec
            if form == "custom" and name in ("name", "version") and found == lib.EK_ERR_UNSUPPORTED:
                continue  # there is no such operator
            assert found in (lib.EK_OK, lib.EK_ERR_CORRUPT), (name, value)


@pytest.mark.parametrize("form", CASES)
def test_no_byte_of_the_program_can_open_unproved(corpus, form):
    patch = Patch(write(corpus.one_operator(form)))
    begin = patch.vector("program")
    (size,) = struct.unpack_from("<I", patch.data, begin)
    for at in range(begin + 4, begin + 4 + size):
        for value in (0, 0x7F, 0x80, 0xFF):
            was = patch.data[at]
            found = status(patch.set("B", at, value))
            assert found in (lib.EK_OK, lib.EK_ERR_CORRUPT, lib.EK_ERR_UNSUPPORTED), (at, value)
            patch.data[at] = was


def test_a_number_that_its_operands_contradict_is_refused(corpus):
    """It equals a dimension as a rule, and is written where it does not."""
    model = corpus.one_operator("conv2d_s8")
    for name in EQUALS["Conv2d"]:
        if name.startswith("geometry."):
            op = model.ops[0]
            lying = replace(op, params={**op.params, name: op.params[name] + 1})
            data = write(replace(model, ops=[lying, *model.ops[1:]]))
            assert read(data).ops[0] == lying
            assert opened(data) == (lib.EK_ERR_CORRUPT, 0), name
