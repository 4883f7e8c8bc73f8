"""Write what C and Python need to know of edge.fbs: `python emit.py` rewrites both files.

The schema uses a small part of the FlatBuffers language (scalars, fixed arrays, structs, tables,
enums), and so does this reader. A test checks the result against flatc.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

NOTICE = "Written by runtime_c/schema/emit.py from edge.fbs: do not edit."
HERE = Path(__file__).parent
SCHEMA = HERE / "edge.fbs"
C_HEADER = HERE.parent / "include" / "edgekit" / "format.h"
PYTHON = HERE.parent.parent / "toolkit" / "format" / "schema.py"

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


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    count: int  # 1, or the length of a fixed array
    is_vector: bool


@dataclass(frozen=True)
class Schema:
    enums: dict[str, tuple[str, dict[str, int]]]
    structs: dict[str, list[Field]]
    tables: dict[str, list[Field]]

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


def read(text: str) -> Schema:
    text = re.sub(r"//[^\n]*", "", text)
    enums: dict[str, tuple[str, dict[str, int]]] = {}
    fields: dict[str, dict[str, list[Field]]] = {"struct": {}, "table": {}}
    for kind, name, base, body in re.findall(
        r"(enum|struct|table)\s+(\w+)\s*(?::\s*(\w+))?\s*\{(.*?)\}", text, re.S
    ):
        if kind == "enum":
            pairs = (item.split("=") for item in body.split(",") if item.strip())
            values = {k.strip(): int(v) for k, v in pairs}
            values.pop("Nothing", None)
            enums[name] = (base, values)
            continue
        fields[kind][name] = [
            Field(f, t or array, int(count or 1), bool(vector))
            for f, t, vector, array, count in (
                (m[1], m[2] or m[3], m[3], m[4], m[5])
                for m in re.finditer(r"(\w+)\s*:\s*(?:(\w+)|\[(\w+)\]|\[(\w+):(\d+)\])\s*;", body)
            )
        ]
    return Schema(enums, fields["struct"], fields["table"])


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("re_lu", "relu")


def c_header(s: Schema) -> str:
    out = [
        f"/* The .edge file as C sees it. {NOTICE} */",
        "#ifndef EDGEKIT_FORMAT_H",
        "#define EDGEKIT_FORMAT_H",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        "#define EK_STATIC_ASSERT static_assert",
        "#else",
        "#define EK_STATIC_ASSERT _Static_assert",
        "#endif",
        "",
    ]
    for name, (_, values) in s.enums.items():
        prefix = "EK_OP" if name == "OpKind" else f"EK_{snake(name).upper()}"
        out += [
            "enum {",
            *(f"    {prefix}_{snake(k).upper()} = {v}," for k, v in values.items()),
            "};",
            "",
        ]
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
    out.append(
        "/* EK_KINDS(X): X(kind, lower-case name, bytes of its parameters) for every kind. */"
    )
    out.append("#define EK_KINDS(X) \\")
    kinds = [
        f"    X({snake(k).upper()}, {snake(k)}, {s.layout(k)[0]})" for k in s.enums["OpKind"][1]
    ]
    out += [" \\\n".join(kinds), "", "#endif", ""]
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

    def flat(struct: str) -> tuple[str, list[str]]:
        code, names = "", []
        for f in s.structs[struct]:
            base = s.scalar(f.type)
            if base:
                code += SCALARS[base][1] * f.count
                names += [f.name] if f.count == 1 else [f"{f.name}.{i}" for i in range(f.count)]
            else:
                inner, inner_names = flat(f.type)
                code += inner
                names += [f"{f.name}.{n}" for n in inner_names]
        return code, names

    out += [
        "",
        "# struct name -> (struct.pack format, flattened field names, bytes, alignment)",
        "STRUCTS: dict[str, tuple[str, tuple[str, ...], int, int]] = {",
    ]
    for name in s.structs:
        code, names = flat(name)
        size, align = s.layout(name)
        out += [
            f'    "{name}": (',
            f'        "<{code}",',
            "        (",
            *(f'            "{n}",' for n in names),
            "        ),",
            f"        {size},",
            f"        {align},",
            "    ),",
        ]
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
    """Write both files; with --check, only say whether they are up to date."""
    schema = read(SCHEMA.read_text())
    stale = 0
    for path, text in ((C_HEADER, c_header(schema)), (PYTHON, python_module(schema))):
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
