"""Write what C and Python need to know of edge.fbs: `python emit.py` rewrites all three files.

The schema uses a small part of the FlatBuffers language (scalars, fixed arrays, structs, tables,
enums, a few attributes), and so does this reader. A test checks the result against flatc.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

NOTICE = "Written by runtime_c/schema/emit.py from edge.fbs: do not edit."
HERE = Path(__file__).parent
SCHEMA = HERE / "edge.fbs"
C_TYPES = HERE.parent / "include" / "edgekit" / "types.h"
C_HEADER = HERE.parent / "include" / "edgekit" / "format.h"
PYTHON = HERE.parent.parent / "toolkit" / "format" / "schema.py"

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

    def forms(self, kind: str) -> list[tuple[str, str]]:
        """(DType or "" for any, name of the C file) of each body."""
        found, base = self.attributes[kind], snake(kind)
        if "types" not in found:
            return [("", base)]
        return [(TYPES[t], f"{base}_{t}") for t in found["types"].split()]

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

    for f in s.structs[struct]:
        base = s.scalar(f.type)
        if not base:
            inner = field_code(s, f.type)
            code += close()
            if f.type in s.shared:
                if code:
                    raise ValueError(f"{struct}.{f.name} is shared, so has to come first")
                inner = bytes([CODES.index("OPEN")]) + inner + bytes([CODES.index("CLOSE")])
            if f.type in s.optional:
                if f is not s.structs[struct][-1]:
                    raise ValueError(f"{struct}.{f.name} is optional, so has to come last")
                words = s.layout(f.type)[0] // 4
                inner = bytes([CODES.index("CLOSE") | 1 << 3 | (words - 1) << 5]) + inner
            code += inner
            continue
        letter, size = SCALARS[base][1:]
        if size > 4:
            raise ValueError(f"{struct}.{f.name}: a parameter has at most 32 bits")
        what = "RAW" if letter == "f" else "SIGNED" if letter in "hi" else "UNSIGNED"
        equals = s.equals(struct, f)
        if equals:
            what = "EQUAL_SIGNED" if what == "SIGNED" else "EQUAL"
        key = CODES.index(what) | (size.bit_length() - 1) << 3
        if not runs or runs[-1][0] != key:
            runs.append((key, []))
        runs[-1][1].extend([equals] * f.count)
    return code + close()


# What edgekit.h speaks of: in types.h. All others are in format.h.
PUBLIC_ENUMS = {
    "DType": "EK_DTYPE_*: the element type of a tensor.",
    "OpKind": "EK_OP_*: the kind of an operator.",
}


def c_enum(s: Schema, name: str) -> list[str]:
    prefix = "EK_OP" if name == "OpKind" else f"EK_{snake(name).upper()}"
    values = (f"    {prefix}_{snake(k).upper()} = {v}," for k, v in s.enums[name][1].items())
    return ["enum {", *values, "};", ""]


def c_types(s: Schema) -> str:
    out = [
        "/* Numbers of the .edge file that the public interface names.",
        f" * {NOTICE} */",
        "#ifndef EDGEKIT_TYPES_H",
        "#define EDGEKIT_TYPES_H",
        "",
    ]
    for name, what in PUBLIC_ENUMS.items():
        out += [f"/* {what} */", *c_enum(s, name)]
    return "\n".join([*out, "#endif", ""])


def c_header(s: Schema) -> str:
    out = [
        f"/* The .edge file as C sees it. {NOTICE} */",
        "#ifndef EDGEKIT_FORMAT_H",
        "#define EDGEKIT_FORMAT_H",
        "",
        "#include <stdint.h>",
        "",
        '#include "edgekit/types.h"',
        "",
        "#if defined __cplusplus",
        "#define EK_STATIC_ASSERT static_assert",
        "#elif __STDC_VERSION__ >= 201112L",
        "#define EK_STATIC_ASSERT _Static_assert",
        "#else /* C99: an array of -1 elements does not compile */",
        "#define EK_STATIC_ASSERT(is, text) extern const char ek_static_assert[(is) ? 1 : -1]",
        "#endif",
        "",
    ]
    for name in s.enums:
        if name not in PUBLIC_ENUMS:
            out += c_enum(s, name)
    for name, members in s.structs.items():
        size, _ = s.layout(name)
        out.append(f"typedef struct ek_fmt_{snake(name)} {{")
        for f in members:
            base = s.scalar(f.type)
            c = SCALARS[base][0] if base else f"ek_fmt_{snake(f.type)}"
            out.append(f"    {c} {f.name}{f'[{f.count}]' if f.count > 1 else ''};")
        out += [
            f"}} ek_fmt_{snake(name)};",
            f'EK_STATIC_ASSERT(sizeof(ek_fmt_{snake(name)}) == {size}, "{name}");',
            "",
        ]
    for name, members in s.tables.items():
        out += [
            "enum {",
            *(
                f"    EK_SLOT_{snake(name).upper()}_{f.name.upper()} = {4 + 2 * i},"
                for i, f in enumerate(members)
            ),
            "};",
            "",
        ]
    for prefix, listed in (("EK_CODE", CODES), ("EK_PROPERTY", PROPERTIES)):
        values = (f"    {prefix}_{name.upper()} = {i}," for i, name in enumerate(listed))
        out += ["enum {", *values, "};", ""]
    most = max(s.room(k) for k in s.enums["OpKind"][1])
    out += [
        "/* Bytes that parameters take while they are read, and how each kind reads its own. */"
    ]
    out += [f"#define EK_PARAMS_BYTES {most}"]
    for k in s.enums["OpKind"][1]:
        text = "".join(f"\\{b:03o}" for b in field_code(s, k))
        out.append(f'#define EK_CODE_OF_{snake(k).upper()} "{text}"')
    typed = [k for k in s.enums["OpKind"][1] if "typed_by" in s.attributes[k]]
    by_output = " || ".join(f"(kind) == EK_OP_{snake(k).upper()}" for k in typed)
    out += [
        "/* Whether the element type is that of output 0, not of input 0. */",
        f"#define EK_TYPED_BY_OUTPUT(kind) ({by_output})",
        "",
        "/* X(kind, dtype, name, whether weights may be behind a codec) of every body. */",
        "#define EK_FORMS(X) \\",
    ]
    forms = [
        f"    X({snake(k).upper()}, {dtype.upper() or 'ANY'}, {name}, {s.may_be_coded(k, dtype):d})"
        for k in s.enums["OpKind"][1]
        for dtype, name in s.forms(k)
    ]
    out += [
        " \\\n".join(forms),
        "",
        "/* X(name) of every codec of weights: a file of src/weights. */",
    ]
    codecs = [snake(k) for k, v in s.enums["WeightCodec"][1].items() if v]
    out += [f"#define EK_CODECS(X) {' '.join(f'X({c})' for c in codecs)}"]
    out += ["", "/* X(kind, name in the schema) of every kind. */", "#define EK_KINDS(X) \\"]
    names = [f'    X({snake(k).upper()}, "{k}")' for k in s.enums["OpKind"][1]]
    out += [" \\\n".join(names), "", "#endif", ""]
    return "\n".join(out)


def python_module(s: Schema) -> str:
    out = [
        f'"""The .edge file as Python sees it. {NOTICE}"""',
        "",
        "from __future__ import annotations",
        "",
        "from enum import IntEnum",
        "",
    ]
    for name, (_, values) in s.enums.items():
        out += ["", f"class {name}(IntEnum):", *(f"    {k} = {v}" for k, v in values.items()), ""]

    out += [
        "",
        "# struct name -> (struct.pack format, flattened field names, bytes, alignment)",
        "STRUCTS: dict[str, tuple[str, tuple[str, ...], int, int]] = {",
    ]
    for name in s.structs:
        fields = s.flat(name)
        code = "".join(SCALARS[base][1] for _, base, _ in fields)
        size, align = s.layout(name)
        out += [
            f'    "{name}": (',
            f'        "<{code}",',
            "        (",
            *(f'            "{n}",' for n, _, _ in fields),
            "        ),",
            f"        {size},",
            f"        {align},",
            "    ),",
        ]
    kinds = s.enums["OpKind"][1]
    out += ["}", "", "# operator kind -> field -> the property of an operand that it equals"]
    out += ["EQUALS: dict[str, dict[str, str]] = {"]
    for k in s.enums["OpKind"][1]:
        pairs = [f'        "{n}": "{equals}",' for n, _, equals in s.flat(k) if equals]
        if pairs:
            out += [f'    "{k}": {{', *pairs, "    },"]
    out += ["}", "", "# operator kind -> the field that is a struct which operators share"]
    out += ["SHARED: dict[str, str] = {"]
    out += [f'    "{k}": "{f}",' for k in kinds if (f := s.field_in(k, s.shared))]
    out += [
        "}",
        "",
        "# operator kind -> the struct that is left out where it is 0",
    ]
    out += ["OPTIONAL: dict[str, str] = {"]
    out += [f'    "{k}": "{f}",' for k in kinds if (f := s.field_in(k, s.optional))]
    out += ["}", "", "# operator kind -> the fields that are offsets in the blob"]
    out += ["BLOB_FIELDS: dict[str, tuple[str, ...]] = {"]
    for k in kinds:
        if found := s.blob_fields(k):
            out += [f'    "{k}": (', *(f'        "{n}",' for n in found), "    ),"]
    out += ["}", "", "# kinds whose element type is that of output 0, not of input 0"]
    by_output = ", ".join(f'"{k}"' for k in kinds if "typed_by" in s.attributes[k])
    out += [f"TYPED_BY_OUTPUT = frozenset({{{by_output}}})"]
    out += [
        "",
        "# (kind, DType or None for any) -> C file in runtime_c/src/ops",
    ]
    out += ["FORMS: dict[tuple[OpKind, DType | None], str] = {"]
    for k in kinds:
        for dtype, name in s.forms(k):
            of = f"DType.{dtype}" if dtype else "None"
            out += [f'    (OpKind.{k}, {of}): "{name}",']
    out += ["}", "", "# table name -> field -> slot number", "SLOTS: dict[str, dict[str, int]] = {"]
    for name, members in s.tables.items():
        out += [
            f'    "{name}": {{',
            *(f'        "{f.name}": {i},' for i, f in enumerate(members)),
            "    },",
        ]
    out += ["}", ""]
    return "\n".join(out)


def main() -> int:
    """Write the files; with --check, only say whether they are up to date."""
    schema = read(SCHEMA.read_text())
    stale = 0
    written = {
        C_TYPES: c_types(schema),
        C_HEADER: c_header(schema),
        PYTHON: python_module(schema),
    }
    for path, text in written.items():
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                print(
                    f"{path.name} is not what edge.fbs says: run {Path(__file__).name}",
                    file=sys.stderr,
                )
                stale = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return stale


if __name__ == "__main__":
    sys.exit(main())
