"""Names that a model's files and symbols have, so that several models link into one program.

The runtime is the same for every model of a target, but for its list of operators and the kernel
tables with what those need: the symbols of these objects take the name of the model.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ...targets import Target
from .process import run

OWN_SOURCES = ("registry.c", "table.c")
"""Sources whose objects depend on the operators built in; a target's table is in a table.c."""

PLAIN = "ek"
"""The prefix of symbols that were not renamed."""


@dataclass(frozen=True)
class Names:
    """`prefix` begins the C symbols, `header` is that of the model's declarations without .h."""

    prefix: str
    header: str
    edge: str
    library: str

    @classmethod
    def of(cls, target: Target, name: str) -> Names:
        """For a model called `name`. A target with a project of its own links one model."""
        if target.project:
            return PLAIN_NAMES
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        word = word if re.match(r"[A-Za-z]", word) else f"m{word}"
        word = f"{word}_" if word == PLAIN else word
        return cls(word, f"{word}_model", f"{word}.edge", f"lib{word}.a")

    def renamed(self, symbol: str) -> str:
        """`symbol` of the runtime as it is called for this model."""
        return self.prefix + symbol.removeprefix(PLAIN)


PLAIN_NAMES = Names(PLAIN, "model", "model.edge", "libedgekit.a")


def is_own(source: Path) -> bool:
    """Whether what `source` compiles to depends on the operators built in."""
    return source.name in OWN_SOURCES


def own_symbols(target: Target, library: Path) -> list[str]:
    """The symbols of an archive that depend on the operators built in."""
    members = tuple(f"{source}.o" for source in OWN_SOURCES)  # or .obj
    printed = run([target.tool("nm"), "-g", "--defined-only", "-A", library], "listing symbols")
    found = [(line.split(":")[-2], line.split()[-1]) for line in printed.splitlines() if line]
    return sorted({symbol for member, symbol in found if member.startswith(members)})


def rename_archive(
    target: Target, library: Path, symbols: list[str], names: Names, to: Path
) -> None:
    """Copy an archive, with these symbols named after the model."""
    if names.prefix == PLAIN:
        shutil.copy(library, to)
        return
    renamed = [f"--redefine-sym={s}={names.renamed(s)}" for s in symbols]
    run([target.tool("objcopy"), *renamed, library, to], "naming the symbols of the runtime")
