"""Names that a model's files and symbols have, so that several models link into one program.

The runtime is the same for every model of a target, but for its list of operators and the kernel
tables with what those need: the symbols of these objects take the name of the library, which is
that of the model where it holds one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...targets import Target
from ..errors import UserError
from .process import run

OWN_SOURCES = ("registry.c", "table.c")
"""Sources whose objects depend on the operators built in; a target's table is in a table.c."""

PLAIN = "ek"
"""The prefix of symbols that were not renamed."""

SEVERAL = "models"
"""The name of a library of several models, unless it is given another."""


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


def names_of(target: Target, models: Sequence[Path], name: str | None) -> tuple[list[Names], Names]:
    """Those of each model, and those of the library that holds them: of one model, the same.

    `name` is that of the library. Raises UserError for files whose names make the same symbols.
    """
    if len(models) == 1:
        names = Names.of(target, name or models[0].stem)
        return [names], names
    if target.project:
        raise UserError(
            f"{target.name}: the project runs one model; build each into its own folder"
        )
    library = Names.of(target, name or SEVERAL)
    found = [Names.of(target, model.stem) for model in models]
    words = [library.prefix.upper(), *(n.prefix.upper() for n in found)]
    for i, word in enumerate(words):
        if word in words[:i]:
            raise UserError(
                f"{models[i - 1]}: '{found[i - 1].prefix}' is also the name of "
                f"{'the library' if word == words[0] else 'another model'}; rename the file"
                + (" or give --name" if word == words[0] else "")
            )
    return found, replace(library, header=library.prefix)


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
