"""The operators of a file: `Model.program` and `Model.ops`, written and read (docs/format.md).

The C reader is runtime_c/src/model/program.c.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType

from ..ir import Shape
from .model import OpRecord, TensorRecord
from .schema import EQUALS, OPTIONAL, SHARED, STRUCTS, VARIANT, DType, OpKind
from .structs import Number, float_bits, pack
from .varying import WIDEST, Expression, Varying, expression_of, read_varint, varint

WORD = 4
_HEADER = struct.Struct("<BBBB")
_OWN_LITERAL, _SHARED_LITERAL, _SCRATCH, _OPTIONAL = 1, 2, 4, 8
_SCRATCH_UNIT = 16
_MOST_WORDS = 0xFFFF

_INFINITIES = (float_bits(-math.inf), float_bits(math.inf))
_RANGE = {
    DType.Float32: _INFINITIES,
    DType.Int16: (-32767, 32767),
    DType.Int32: (-(1 << 31), (1 << 31) - 1),
}
_NARROW = (-128, 127)
"""The lowest and highest values of an element type; of int8 and whatever else."""

KNOWN = 2048
"""Operators whose parameters are kept as they lie in a file: most files that a search writes differ
in a few."""

Seen = tuple[int, DType, Shape]
"""Of an operand: zero point, element type, shape."""

Operands = tuple[tuple[Seen | None, ...], tuple[Seen | None, ...]]
"""The inputs and the outputs of an operator; None of one that is absent."""

Field = tuple[str, str, str]
"""Name, letter of struct.pack, and the property of an operand that it equals, or ""."""


_NOTHING_VARIES: Mapping[int, Expression] = MappingProxyType({})

Places = list[tuple[int, Expression]]
"""Bytes at which numbers lie that follow from the sizes."""

Piece = tuple[bytes, tuple[tuple[int, Expression], ...]]
"""Fields as they lie in the program, and which of them vary."""


@dataclass(frozen=True)
class Written:
    """An operator as it lies in a program, but for where the fields lie that operators share, which
    come between `head` and `own`."""

    head: bytes
    shared: Piece
    own: Piece
    has_shared: bool


def encode(
    ops: Sequence[OpRecord], tensors: Sequence[TensorRecord]
) -> tuple[bytes, list[int], Places]:
    """(program, where each operator begins in words, what varies in it).

    Raises ValueError if it is too long.
    """
    return assembled([written(op, tensors) for op in ops])


def written(op: OpRecord, tensors: Sequence[TensorRecord]) -> Written:
    """The parts of an operator."""
    flags, shared, own = _parameters(op, tensors)
    head = _head(op, op.number(tensors), flags)
    return Written(head, shared, own, op.kind.name in SHARED)


def assembled(ops: Sequence[Written]) -> tuple[bytes, list[int], Places]:
    """As `encode`."""
    program = bytearray()
    places: Places = []

    def put(piece: Piece) -> None:
        nonlocal program
        places.extend((len(program) + i, expression) for i, expression in piece[1])
        program += piece[0]

    at: dict[Piece, int] = {}  # what operators share
    for op in ops:
        if op.shared not in at:
            at[op.shared] = len(program)
            put(op.shared)
    begins = []
    for op in ops:
        program += bytes(-len(program) % WORD)
        begins.append(len(program) // WORD)
        if begins[-1] > _MOST_WORDS:
            raise ValueError(f"operators of more than {_MOST_WORDS * WORD} bytes")
        program += op.head
        if op.has_shared:
            program += varint(at[op.shared])
        put(op.own)
    return bytes(program), begins, places


def _head(op: OpRecord, number: int, flags: int) -> bytes:
    """All but the parameters. Raises ValueError for scratch that is not aligned."""
    operands = (*op.inputs, *op.outputs)
    if op.scratch_bytes:
        flags |= _SCRATCH
    head = _HEADER.pack(number, len(op.inputs), len(op.outputs), flags)
    head += struct.pack(f"<{len(operands)}H", *operands)
    units, rest = divmod(op.scratch_offset, _SCRATCH_UNIT)
    if rest:
        raise ValueError(f"scratch at {op.scratch_offset}, no multiple of {_SCRATCH_UNIT}")
    return head + varint(op.scratch_bytes) + varint(units) if op.scratch_bytes else head


def decode(
    program: bytes,
    begins: Sequence[int],
    names: Sequence[str],
    tensors: Sequence[TensorRecord],
    varying: Mapping[int, Expression] = _NOTHING_VARIES,
) -> list[OpRecord]:
    """The operators. Raises ValueError, IndexError or struct.error when there is no sense in it."""
    return [
        _decode_op(program, at * WORD, name, tensors, varying)
        for at, name in zip(begins, names, strict=True)
    ]


def first_output(program: bytes, begin: int) -> tuple[int, int]:
    """(kind, index of the first output's tensor) of the operator at word `begin`."""
    number, inputs, _, _ = _HEADER.unpack_from(program, begin * WORD)
    (tensor,) = struct.unpack_from("<H", program, begin * WORD + _HEADER.size + 2 * inputs)
    return number % VARIANT, int(tensor)


@cache
def _kind_fields(kind: OpKind) -> list[Field]:
    code, names, _, _ = STRUCTS[kind.name]
    equals = EQUALS.get(kind.name, {})
    return [(n, c, equals.get(n, "")) for n, c in zip(names, code[1:], strict=True)]


@cache
def _sections(kind: OpKind) -> list[tuple[int, list[Field]]]:
    """The fields that operators share, the kind's own, those left out where they are 0.

    With each the flag that says that fields which equal something are written nevertheless.
    """
    shared, optional = SHARED.get(kind.name), OPTIONAL.get(kind.name)
    found: dict[int, list[Field]] = {_SHARED_LITERAL: [], _OWN_LITERAL: [], _OPTIONAL: []}
    flags = {shared: _SHARED_LITERAL, optional: _OPTIONAL}
    for field in _kind_fields(kind):
        found[flags.get(field[0].partition(".")[0], _OWN_LITERAL)].append(field)
    return list(found.items())


def _parameters(op: OpRecord, tensors: Sequence[TensorRecord]) -> tuple[int, Piece, Piece]:
    """(flags, the fields that operators share, the others)."""
    packed = pack(op.kind.name, op.params)  # which says what is wrong with them
    operands = _seen(op.inputs, tensors), _seen(op.outputs, tensors)
    return _written(op.kind, tuple(op.params.items()), operands, packed)


@lru_cache(maxsize=KNOWN)
def _written(
    kind: OpKind, params: tuple[tuple[str, Number], ...], operands: Operands, packed: bytes
) -> tuple[int, Piece, Piece]:
    """As _parameters; `packed` tells numbers apart that are equal, as 0.0 and -0.0 are."""
    del packed
    values, flags, written = dict(params), 0, []
    for flag, fields in _sections(kind):
        literal = any(e and values[n] != _property(e, operands) for n, _, e in fields)
        flags |= flag * literal
        there = [(n, c) for n, c, equals in fields if literal or not equals]
        written.append([(c, values.get(n, 0)) for n, c in there])
    return flags, _piece(written[0]), _piece(written[1] + written[2])


def _seen(operands: Sequence[int], tensors: Sequence[TensorRecord]) -> tuple[Seen | None, ...]:
    """What fields may equal of these operands, those that are there."""
    count = len(tensors)
    found = (tensors[i] if i < count else None for i in operands)
    return tuple(None if t is None else (t.zero_point, t.dtype, t.shape) for t in found)


def _piece(fields: Sequence[tuple[str, Number]]) -> Piece:
    data, places = b"", []
    for letter, value in fields:
        if (expression := expression_of(value)) is not None:
            places.append((len(data), _folded(expression) if letter.islower() else expression))
        data += _number(letter, value)
    return data, tuple(places)


def _folded(expression: Expression) -> Expression:
    """As a signed number is stored that is not negative."""
    return expression.times(2)


def _number(letter: str, value: Number) -> bytes:
    if letter == "f":
        return struct.pack("<f", value)
    expression, value = expression_of(value), int(value)
    if letter.islower():
        value = value << 1 if value >= 0 else ~(value << 1)
    return varint(value, WIDEST if expression is not None and expression.may_grow else 1)


def _property(equals: str, operands: Operands) -> int:
    """A property of an operand; 0 of an operand or a dimension that is not there."""
    operand, what = equals.split(".")
    if operand == "nothing":
        return 0
    side, i = operands[operand.startswith("output")], int(operand[-1])
    seen = side[i] if i < len(side) else None
    if seen is None:
        return 0
    zero_point, dtype, shape = seen
    if what == "zero":
        return zero_point
    if what in ("lowest", "highest"):
        return _RANGE.get(dtype, _NARROW)[what == "highest"]
    d = int(what[-1])
    return shape[d] if d < len(shape) else 0


class _Reader:
    """Reads numbers; those at `varying` follow from the sizes."""

    def __init__(
        self, data: bytes, at: int, varying: Mapping[int, Expression] = _NOTHING_VARIES
    ) -> None:
        self.data, self.at, self.varying = data, at, varying

    def varint(self) -> int:
        value, self.at = read_varint(self.data, self.at)
        return value

    def number(self, letter: str) -> Number:
        if letter == "f":
            (found,) = struct.unpack_from("<f", self.data, self.at)
            self.at += 4
            return float(found)
        expression = self.varying.get(self.at)
        v = self.varint()
        value = v >> 1 ^ -(v & 1) if letter.islower() else v
        if expression is None:
            return value
        return Varying(value, _unfolded(expression) if letter.islower() else expression)


def _unfolded(expression: Expression) -> Expression:
    """What was `_folded`. ValueError if it was not."""
    plain = Expression(expression.terms[:-2])
    if _folded(plain) != expression:
        raise ValueError("a signed number varies that is not stored as one")
    return plain


def _decode_op(
    program: bytes,
    at: int,
    name: str,
    tensors: Sequence[TensorRecord],
    varying: Mapping[int, Expression],
) -> OpRecord:
    number, n_in, n_out, flags = _HEADER.unpack_from(program, at)
    kind = OpKind(number % VARIANT)
    operands = struct.unpack_from(f"<{n_in + n_out}H", program, at + _HEADER.size)
    inputs, outputs = operands[:n_in], operands[n_in:]
    r = _Reader(program, at + _HEADER.size + 2 * len(operands), varying)
    scratch, offset = (r.varint(), r.varint() * _SCRATCH_UNIT) if flags & _SCRATCH else (0, 0)

    seen = _seen(inputs, tensors), _seen(outputs, tensors)

    def values(reader: _Reader, fields: list[Field], literal: int) -> Iterator[tuple[str, Number]]:
        for field, letter, equals in fields:
            if equals and not literal:
                yield field, _property(equals, seen)
            else:
                yield field, reader.number(letter)

    found: dict[str, Number] = {}
    for flag, fields in _sections(kind):
        if fields:
            reader = _Reader(program, r.varint(), varying) if flag == _SHARED_LITERAL else r
            found |= values(reader, fields, flags & flag)
    found.pop("reserved", None)
    op = OpRecord(kind, name, inputs, outputs, found, offset, scratch)
    if op.number(tensors) != number:
        raise ValueError(
            f"{kind.name} '{name}' is of number {number}, and is not by its attributes"
        )
    return op
