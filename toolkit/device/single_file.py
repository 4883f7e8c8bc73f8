"""A build as one .c and one .h file."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .amalgamation import amalgamated
from .naming import Names
from .process import require, run

if TYPE_CHECKING:
    from .build import Archive

_INCLUDE = re.compile(r"^ *# *include +(?:<(.*?)>|\"(.*?)\").*\n", re.M)
_PUBLIC = ("edgekit/types.h", "edgekit/edgekit.h", "edgekit/link.h")


def single_file(
    folder: Path, compiled: list[str], archive: Archive, names: Names
) -> dict[str, Any]:
    """What the templates of the layout are filled with, from the library in `folder`/src."""
    root = folder / "src"
    headers = [*_PUBLIC, f"{names.header}.h"]
    headers += sorted({f"{p.name}" for p in root.glob("*_model.h")} - set(headers))
    texts = [(root / name).read_text() for name in headers]
    data = [name for name in compiled if _is_data(root, name)]
    with tempfile.TemporaryDirectory() as temporary:
        stubs = Path(temporary) / "stubs"
        found = {m[1] for p in root.rglob("*.*") for m in _INCLUDE.finditer(p.read_text()) if m[1]}
        for name in found:
            (stubs / name).parent.mkdir(parents=True, exist_ok=True)
            (stubs / name).touch()
        whole = Path(temporary) / "public.c"
        whole.write_text("".join(f'#include "{name}"\n' for name in headers))
        parts = [
            _preprocessed(path, root, stubs, archive)
            for path in [whole, *(folder / name for name in compiled if name not in data)]
        ]
        used = {name for name in found for text in parts if f'"{stubs / name}"' in text}
    return {
        "system": sorted(used),
        "public": sorted({m[1] for text in texts for m in _INCLUDE.finditer(text) if m[1]}),
        "declared": "\n".join(_INCLUDE.sub("", text).strip("\n") + "\n" for text in texts),
        "code": amalgamated(parts[0], parts[1:]),
        "arrays": [_INCLUDE.sub("", (folder / name).read_text()).strip() for name in data],
    }


def _is_data(root: Path, name: str) -> bool:
    path = Path(name)
    return path.name.endswith("_model.c") and (root / path.name).with_suffix(".h").exists()


def _preprocessed(path: Path, root: Path, stubs: Path, archive: Archive) -> str:
    """The file without comments and macros of ours; those of the C library's headers stay."""
    target = archive.target
    compiler = require(target.compiler, target.packages, f"building for {target.name}")
    # Nothing of the compiler stays in portable code; elsewhere what clang takes, GCC takes too.
    known = [] if target.tables else ["-undef"]
    command: list[str | Path] = [compiler, *target.linker, *archive.flags, *known, "-D__clang__"]
    below = [f"-I{stubs}", f"-I{root}"]
    return run([*command, "-E", "-std=c99", "-nostdinc", *below, path], "preprocessing")
