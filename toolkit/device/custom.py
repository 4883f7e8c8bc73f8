"""Operators of the user's in C: compiled for this machine, and what builds for others take."""

from __future__ import annotations

import atexit
import hashlib
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ... import runtime_c
from ..errors import CustomOperatorError
from ..format.model import EdgeModel
from ..format.schema import OpKind
from ..runtime.operators import Registered, load_library
from .process import ProgramFailedError, require, run


@dataclass(frozen=True)
class CFile:
    """A C file of the user's, as it was when it was given."""

    path: Path
    digest: str


_files: dict[str, CFile] = {}  # by operator


def compile_here(path: Path) -> list[Registered]:
    """The operators of a C file, compiled for this machine and loaded. Raises UserError."""
    try:
        text = path.read_text()
    except (OSError, ValueError) as why:
        raise CustomOperatorError(f"{path}: {why}") from why
    symbols = re.findall(r"^EK_CUSTOM_OPERATOR\((\w+)\)", text, re.M)
    if not symbols:
        raise CustomOperatorError(
            f"{path}: no line begins with EK_CUSTOM_OPERATOR(name), which defines an operator "
            "(edgekit/custom.h)"
        )
    compiler = require("cc", "gcc", f"compiling {path} for this machine")
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    library = Path(folder.name) / "operators.so"
    command: list[str | Path] = [compiler, "-std=c11", "-O2", "-ffp-contract=off", "-fPIC"]
    command += ["-shared", f"-I{runtime_c.SOURCE / 'include'}", path, "-lm", "-o", library]
    try:
        run(command, f"compiling {path}")
    except ProgramFailedError as why:
        raise CustomOperatorError(f"{path}: it does not compile:\n{why.printed.strip()}") from why
    return load_library(library, symbols, str(path))


def keep_file(name: str, path: Path) -> None:
    """Have builds find the operator `name` in the C file at `path`. Raises CustomOperatorError."""
    known = _files.get(name)
    if known is not None and known.path != path:
        raise CustomOperatorError(f"{path}: {name} is already defined in {known.path}; rename one")
    _files[name] = CFile(path, hashlib.sha256(path.read_bytes()).hexdigest())


def files_for(models: Iterable[EdgeModel]) -> tuple[CFile, ...]:
    """The C files of the operators of the user's that these models have. Raises UserError."""
    found = {}
    for model in models:
        for op in model.ops:
            if op.kind != OpKind.Custom:
                continue
            name = model.custom_name(op)
            if name not in _files:
                raise CustomOperatorError(
                    f"{name} is a custom operator; a device needs its C code: --op FILE.c"
                )
            found[_files[name].path] = _files[name]
    return tuple(found[path] for path in sorted(found))


def compiles_not(files: Iterable[CFile], printed: str) -> CustomOperatorError | None:
    """What to say of a build whose compiler complained of one of these files; None if of none."""
    for file in files:
        lines = [line for line in printed.splitlines() if line.startswith(f"{file.path}:")]
        if any("error:" in line for line in lines):
            return CustomOperatorError(f"{file.path}: it does not compile:\n" + "\n".join(lines))
    return None
