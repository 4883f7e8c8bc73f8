"""Every rule of docs/format.md, broken once: the file is refused with the right status."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.model import IoRecord, TensorRecord
from edgekit.toolkit.format.schema import SLOTS, STRUCTS, DType, OpKind, Place
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model
from edgekit.toolkit.runtime.model import aligned


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
    assert status(patch.set("H", at, 2)) == lib.EK_ERR_VERSION
    assert status(patch.set("H", at, 0)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize(
    "field",
    ["version", "target", "memory", "tensors", "ops", "operands", "dims", "params", "inputs",
     "outputs", "names", "blob"],
)  # fmt: skip
def test_a_field_outside_the_table_or_the_file(patch, field):
    assert status(patch.set("H", patch.slot(field), 0xFFFC)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize("count", [0x7FFFFFFF, 0xFFFFFFFF, 0x40000000, 0x0CCCCCCD])
@pytest.mark.parametrize(
    "field", ["tensors", "ops", "operands", "dims", "params", "inputs", "outputs", "names", "blob"]
)
def test_a_vector_longer_than_the_file(patch, field, count):
    assert status(patch.set("I", patch.vector(field), count)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize("offset", [1, 2, 3, 0x7FFFFFFC, 0xFFFFFFFC, 0xFFFFFFFF])
@pytest.mark.parametrize("field", ["tensors", "ops", "params", "inputs", "blob"])
def test_a_vector_at_a_wrong_place(patch, field, offset):
    assert status(patch.set("I", patch.field(field), offset)) == lib.EK_ERR_CORRUPT


def test_without_memory_there_is_no_model(patch):
    assert status(patch.set("H", patch.slot("memory"), 0)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("offset", 0xFFFFFFF0), ("offset", 1 << 20), ("bytes", 5), ("bytes", 7), ("bytes", 0),
        ("bytes", 0xFFFFFFFF), ("scale", float("nan")), ("scale", float("inf")), ("scale", -1.0),
        ("dims", 0xFFFF), ("rank", 9), ("rank", 3), ("dtype", 5), ("dtype", 0), ("place", 3),
        ("reserved", 1),
    ],
)  # fmt: skip
def test_a_tensor_that_lies(patch, field, value):
    assert status(patch.set_struct("tensors", "Tensor", 0, field, value)) == lib.EK_ERR_CORRUPT


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
    ("field", "value", "verdict"),
    [
        ("kind", 0, "EK_ERR_UNSUPPORTED"),
        ("kind", 999, "EK_ERR_UNSUPPORTED"),
        ("inputs", 0, "EK_ERR_CORRUPT"),
        ("inputs", 255, "EK_ERR_CORRUPT"),
        ("outputs", 0, "EK_ERR_CORRUPT"),
        ("outputs", 2, "EK_ERR_CORRUPT"),
        ("operands", 3, "EK_ERR_CORRUPT"),
        ("operands", 0xFFFFFFFF, "EK_ERR_CORRUPT"),
        ("params", 3, "EK_ERR_CORRUPT"),
        ("params", 0xFFFFFFFF, "EK_ERR_CORRUPT"),
        ("scratch_bytes", 0xFFFFFFFF, "EK_ERR_CORRUPT"),
    ],
)
def test_an_operator_that_lies(patch, field, value, verdict):
    found = opened(patch.set_struct("ops", "Op", 1, field, value))
    assert found == (getattr(lib, verdict), 1)


@pytest.mark.parametrize("operand", [3, 0xFFFE, 0xFFFF])
@pytest.mark.parametrize("which", [0, 1])
def test_an_operand_that_is_not_there(patch, which, operand):
    data = patch.set("H", patch.vector("operands") + 4 + 2 * which, operand)
    assert opened(data) == (lib.EK_ERR_CORRUPT, 0)


def test_nothing_is_written_to_the_blob(chain):
    out = replace(chain.tensors[2], place=Place.Blob, offset=0)
    tensors = [*chain.tensors[:2], out]
    assert opened(write(replace(chain, tensors=tensors))) == (lib.EK_ERR_CORRUPT, 1)
    ops = chain.ops[:1]
    constant_output = replace(chain, tensors=tensors, ops=ops)
    assert status(write(constant_output)) == lib.EK_OK
    constant_input = replace(constant_output, inputs=[replace(chain.inputs[0], tensor=2)])
    assert status(write(constant_input)) == lib.EK_ERR_CORRUPT


@pytest.mark.parametrize(("offset", "verdict"), [(16, "EK_OK"), (17, "CORRUPT"), (15, "CORRUPT")])
def test_an_output_takes_over_all_of_an_input_or_none(chain, offset, verdict):
    y = replace(chain.tensors[1], offset=16)
    z = replace(chain.tensors[2], offset=offset)
    model = replace(chain, tensors=[chain.tensors[0], y, z])
    model = replace(model, memory=replace(chain.memory, arena_bytes=64))
    assert status(write(model)) == (lib.EK_OK if verdict == "EK_OK" else lib.EK_ERR_CORRUPT)


@pytest.mark.parametrize(
    ("offset", "nbytes", "good"),
    [
        (32, 16, True),
        (32, 17, False),
        (33, 8, False),
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


def test_names_are_one_per_operator(patch):
    names = patch.vector("names")
    assert status(patch.set("B", names + 4 + 2, 0)) == lib.EK_ERR_CORRUPT, (
        "three names, two operators"
    )
    assert status(patch.set("B", names + 4 + 7, 1)) == lib.EK_ERR_CORRUPT, "the last does not end"


def test_the_message_names_the_file_the_operator_and_the_reason(patch, tmp_path):
    path = tmp_path / "m.edge"
    path.write_bytes(patch.set_struct("ops", "Op", 1, "kind", 999))
    with pytest.raises(
        UserError, match=r"m\.edge: operator 1 \(kind 999 'op1'\): this build has no"
    ):
        Model(path, checksum=False)
    with pytest.raises(UserError, match=r"m\.edge: the file's bytes changed"):
        Model(path)
    path.write_bytes(b"no model at all")
    with pytest.raises(UserError, match=r"m\.edge: not a valid \.edge file"):
        Model(path)
    with pytest.raises(UserError, match=r"none\.edge: cannot be read: No such file"):
        Model(tmp_path / "none.edge")


@pytest.mark.parametrize("kind", list(OpKind), ids=lambda kind: kind.name)
def test_no_parameter_can_be_the_largest_number_and_open_unproved(corpus, kind):
    """A count of 2^32 - 1 in any 32-bit word of the parameters: refused, or harmless to run."""
    data = write(corpus.one_operator(kind))
    patch = Patch(data)
    at = patch.vector("params")
    (words,) = struct.unpack_from("<I", data, at)
    for i in range(words):
        damaged = bytearray(data)
        struct.pack_into("<I", damaged, at + 4 + 4 * i, 0xFFFFFFFF)
        assert status(bytes(damaged)) in (lib.EK_OK, lib.EK_ERR_CORRUPT)
