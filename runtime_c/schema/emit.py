"""Write what C and Python need to know of edge.fbs: `python emit.py` rewrites all three files."""

from __future__ import annotations

import sys
from pathlib import Path

from edge_schema import CODES, PROPERTIES, SCALARS, VARIANT, Schema, field_code, read, snake

NOTICE = "Written by runtime_c/schema/emit.py from edge.fbs: do not edit."
HERE = Path(__file__).parent
SCHEMA = HERE / "edge.fbs"
C_TYPES = HERE.parent / "include" / "edgekit" / "types.h"
C_HEADER = HERE.parent / "include" / "edgekit" / "format.h"
PYTHON = HERE.parent.parent / "toolkit" / "format" / "schema.py"

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
    out += [
        "",
        "/* What the number of a kind's variant is more. */",
        f"#define EK_VARIANT {VARIANT}u",
        "",
        "/* X(kind, whether the variant, dtype, name, may weights be coded) of every body. */",
        "#define EK_FORMS(X) \\",
    ]
    forms = [
        f"    X({snake(k).upper()}, {variant:d}, {dtype.upper() or 'ANY'}, {name}, "
        f"{s.may_be_coded(k, dtype):d})"
        for k in s.enums["OpKind"][1]
        for variant, dtype, name in s.forms(k)
    ]
    out += [
        " \\\n".join(forms),
        "",
        "/* X(name) of every codec of weights: a file of src/weights. */",
    ]
    codecs = [snake(k) for k, v in s.enums["WeightCodec"][1].items() if v]
    out += [f"#define EK_CODECS(X) {' '.join(f'X({c})' for c in codecs)}"]
    out += ["", "/* X(kind, whether the variant, name) of every kind and variant. */"]
    out += ["#define EK_KINDS(X) \\"]
    names = [
        f'    X({snake(k).upper()}, {variant:d}, "{name}")'
        for k in s.enums["OpKind"][1]
        for variant, name in s.names(k)
    ]
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
    out += [
        "}",
        "",
        "# (kind, whether the variant) -> name",
        "NAMES: dict[tuple[OpKind, bool], str] = {",
        *(f'    (OpKind.{k}, {v}): "{name}",' for k in kinds for v, name in s.names(k)),
        "}",
        "# What the number of a kind's variant is more.",
        f"VARIANT = {VARIANT}",
        "",
        "# (kind, whether the variant, DType or None for any) -> C file in runtime_c/src/ops",
    ]
    out += ["FORMS: dict[tuple[OpKind, bool, DType | None], str] = {"]
    for k in kinds:
        for variant, dtype, name in s.forms(k):
            of = f"DType.{dtype}" if dtype else "None"
            out += [f'    (OpKind.{k}, {variant}, {of}): "{name}",']
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
