"""Reads edge.fbs: its structs and enums, and how parameters lie in a file's program.

The schema uses a small part of the FlatBuffers language (scalars, fixed arrays, structs, tables,
enums, a few attributes), and so does this reader. A test checks the result against flatc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Element types as the schema and the names of C files say them -> DType.
TYPES = {
    "f32": "Float32",
    "f16": "Float16",
    "f64": "Float64",
    "s64": "Int64",
    "u64": "UInt64",
    "s8": "Int8",
    "s16": "Int16",
    "s32": "Int32",
}
# FlatBuffers scalar -> C type, struct.pack code, bytes
SCALARS = {
    "ubyte": ("uint8_t", "B", 1),
    "short": ("int16_t", "h", 2),
    "ushort": ("uint16_t", "H", 2),
    "int": ("int32_t", "i", 4),
    "uint": ("uint32_t", "I", 4),
    "float": ("float", "f", 4),
    "ulong": ("uint64_t", "Q", 8),
}

# How parameters lie in the program. A byte of a kind's code: what, log2 of a field's bytes << 3,
# number of such fields - 1 << 5. After EQUAL and EQUAL_SIGNED a byte per field says what the field
# equals: operand << 3 | property. A shared struct lies between OPEN and CLOSE, an optional one
# behind CLOSE with 1 instead of a size, and its words of 4 bytes - 1, to the end: its fields equal
# NOTHING, which is 0.
CODES = ("END", "OPEN", "CLOSE", "UNSIGNED", "SIGNED", "RAW", "EQUAL", "EQUAL_SIGNED")
OPERANDS = ("input0", "input1", "output0", "nothing")
NOTHING = "nothing.zero"
PROPERTIES = ("dim0", "dim1", "dim2", "dim3", "zero", "lowest", "highest")
MOST_FIELDS = 8
VARIANT = 128  # the number of a kind's variant is so much more


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    count: int  # 1, or the length of a fixed array
    is_vector: bool
    equals: str  # the property of an operand that it equals as a rule, or ""
    is_blob: bool  # an offset in the blob


@dataclass(frozen=True)
class Schema:
    enums: dict[str, tuple[str, dict[str, int]]]
    structs: dict[str, list[Field]]
    tables: dict[str, list[Field]]
    attributes: dict[str, dict[str, str]]  # struct -> attribute -> its value, "" for none

    @property
    def shared(self) -> set[str]:
        """The structs that operators share."""
        return {name for name, found in self.attributes.items() if "shared" in found}

    @property
    def optional(self) -> set[str]:
        """The structs that are left out where they are 0."""
        return {name for name, found in self.attributes.items() if "optional" in found}

    def forms(self, kind: str) -> list[tuple[bool, str, str]]:
        """(whether it is the variant, DType or "" for any, name of the C file) of each body."""
        types = self.attributes[kind].get("types", "").split()
        return [
            (variant, TYPES[t] if t else "", f"{snake(name)}_{t}" if t else snake(name))
            for variant, name in self.names(kind)
            for t in types or [""]
        ]

    def names(self, kind: str) -> list[tuple[bool, str]]:
        """(whether it is the variant, its name) of a kind and its variant."""
        variant = self.attributes[kind].get("variant")
        return [(False, kind), *([(True, variant)] if variant else [])]

    def may_be_coded(self, kind: str, dtype: str) -> bool:
        """Whether a body's weights may be behind a codec: those of integers."""
        floats = (TYPES["f32"], TYPES["f16"])
        return bool(self.field_in(kind, self.optional)) and dtype not in floats

    def scalar(self, name: str) -> str | None:
        if name in SCALARS:
            return name
        return self.enums[name][0] if name in self.enums else None

    def layout(self, struct: str) -> tuple[int, int]:
        """Size and alignment of a struct; refuses one that needs padding."""
        offset, align = 0, 1
        for f in self.structs[struct]:
            base = self.scalar(f.type)
            size, own = (SCALARS[base][2],) * 2 if base else self.layout(f.type)
            if offset % own:
                raise ValueError(f"{struct}.{f.name} would need padding before it")
            offset, align = offset + size * f.count, max(align, own)
        if offset % align:
            raise ValueError(f"{struct} would need padding at its end")
        return offset, align

    def equals(self, struct: str, f: Field) -> str:
        """What the field equals as a rule, or ""."""
        return NOTHING if struct in self.optional else f.equals

    def room(self, struct: str) -> int:
        """Bytes of a struct whose fields are written as 4 bytes each, the last too."""
        last = self.flat(struct)[-1][1]
        return -(-(self.layout(struct)[0] - SCALARS[last][2] + 4) // 4) * 4

    def flat(self, struct: str, prefix: str = "") -> list[tuple[str, str, str]]:
        """(name, scalar, equals) of each field, those of nested structs and arrays in place."""
        found = []
        for f in self.structs[struct]:
            base, name = self.scalar(f.type), prefix + f.name
            if base:
                names = [name] if f.count == 1 else [f"{name}.{i}" for i in range(f.count)]
                found += [(n, base, self.equals(struct, f)) for n in names]
            else:
                found += self.flat(f.type, f"{name}.")
        return found

    def field_in(self, struct: str, types: set[str]) -> str:
        """Name of the field that is one of these structs, or ""."""
        return next((f.name for f in self.structs[struct] if f.type in types), "")

    def blob_fields(self, struct: str, prefix: str = "") -> list[str]:
        """Flattened names of the fields that are offsets in the blob."""
        found = []
        for f in self.structs[struct]:
            if f.is_blob:
                found.append(prefix + f.name)
            elif f.type in self.structs:
                found += self.blob_fields(f.type, f"{prefix}{f.name}.")
        return found


def read(text: str) -> Schema:
    text = re.sub(r"//[^\n]*", "", text)
    enums: dict[str, tuple[str, dict[str, int]]] = {}
    fields: dict[str, dict[str, list[Field]]] = {"struct": {}, "table": {}}
    attributes: dict[str, dict[str, str]] = {}
    for kind, name, base, listed, body in re.findall(
        r"(enum|struct|table)\s+(\w+)\s*(?::\s*(\w+))?\s*(?:\(([^)]*)\)\s*)?\{(.*?)\}", text, re.S
    ):
        attributes[name] = dict(re.findall(r'(\w+)(?::"([^"]*)")?', listed))
        if kind == "enum":
            pairs = (item.split("=") for item in body.split(",") if item.strip())
            values = {k.strip(): int(v) for k, v in pairs}
            values.pop("Nothing", None)
            enums[name] = (base, values)
            continue
        fields[kind][name] = [
            Field(m[1], m[2] or m[3] or m[4], int(m[5] or 1), bool(m[3]), m[6] or "", bool(m[7]))
            for m in re.finditer(
                r"(\w+)\s*:\s*(?:(\w+)|\[(\w+)\]|\[(\w+):(\d+)\])\s*"
                r"(?:\((?:equals:\"([\w.]+)\"|(blob))\))?\s*;",
                body,
            )
        ]
    return Schema(enums, fields["struct"], fields["table"], attributes)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def property_code(equals: str) -> int:
    operand, what = equals.split(".")
    return OPERANDS.index(operand) << 3 | PROPERTIES.index(what)


def field_code(s: Schema, struct: str) -> bytes:
    """The code by which the runtime reads a struct from the program, without the END."""
    code, runs = b"", []  # of like fields: (what and size, what they equal)

    def close() -> bytes:
        done = b""
        for what, equals in runs:
            for i in range(0, len(equals), MOST_FIELDS):
                some = equals[i : i + MOST_FIELDS]
                done += bytes([what | (len(some) - 1) << 5])
                done += bytes(property_code(e) for e in some if e)
        runs.clear()
        return done

    for key, equals in _codes(s, struct):
        if key == CODES.index("OPEN") and (code or runs):
            raise ValueError(f"{struct}: what is shared has to come first")
        if equals is None:
            code += close() + bytes([key])
        elif runs and runs[-1][0] == key:
            runs[-1][1].extend(equals)
        else:
            runs.append((key, list(equals)))
    return code + close()


def _codes(s: Schema, struct: str) -> Iterator[tuple[int, list[str] | None]]:
    """Of each field what and size, and what its elements equal; OPEN and CLOSE equal None."""
    for f in s.structs[struct]:
        base = s.scalar(f.type)
        if base:
            equals = s.equals(struct, f)
            yield _field_key(f"{struct}.{f.name}", base, bool(equals)), [equals] * f.count
            continue
        if f.type in s.shared:
            yield CODES.index("OPEN"), None
        if f.type in s.optional:
            if f is not s.structs[struct][-1]:
                raise ValueError(f"{struct}.{f.name} is optional, so has to come last")
            words = s.layout(f.type)[0] // 4
            yield CODES.index("CLOSE") | 2 << 3 | (words - 1) << 5, None
        yield from _codes(s, f.type)
        if f.type in s.shared:
            yield CODES.index("CLOSE"), None


def _field_key(name: str, base: str, equals: bool) -> int:
    letter, size = SCALARS[base][1:]
    if size > 4:
        raise ValueError(f"{name}: a parameter has at most 32 bits")
    what = "RAW" if letter == "f" else "SIGNED" if letter in "hi" else "UNSIGNED"
    if equals:
        what = "EQUAL_SIGNED" if what == "SIGNED" else "EQUAL"
    return CODES.index(what) | (size.bit_length() - 1) << 3
