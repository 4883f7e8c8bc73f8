"""Other programs: found, started, waited for with a limit, and their failure put in words."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError

TIME_LIMIT = 600.0
"""Seconds after which a program that was started is ended."""


class ProgramFailedError(RuntimeError):
    """A program ended with an error; `printed` is all it said."""

    def __init__(self, message: str, printed: str) -> None:
        super().__init__(message)
        self.printed = printed


def find(program: str) -> str | None:
    """The path of `program`, also of one that pip installed beside this Python."""
    return shutil.which(program) or shutil.which(program, path=str(Path(sys.executable).parent))


def require(program: str, package: str, purpose: str) -> str:
    """The path of `program`. Raises UserError that names the Debian package which has it."""
    found = find(program)
    if found is None:
        raise UserError(f"{purpose} needs {program}; install it: apt-get install {package}")
    return found


def generator(known: bool = False) -> list[str]:
    """What CMake is told of how to build: with Ninja where it is. With `known`, it does not try the
    compiler, because it has done so in this process."""
    ninja = ["-G", "Ninja" if find("ninja") else "Unix Makefiles"]
    return [*ninja, "-DCMAKE_C_ABI_COMPILED=ON"] if known else ninja


def run(
    command: Sequence[str | Path],
    what: str,
    *,
    cwd: Path | None = None,
    limit: float = TIME_LIMIT,
) -> str:
    """Run to the end and return what it printed.

    Raises ProgramFailedError with its last words, UserError when it takes longer than `limit`.
    """
    words = [str(w) for w in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as why:
        raise UserError(
            f"{what} took more than {limit:.0f} s and was stopped; try fewer samples"
        ) from why
    if done.returncode != 0:
        printed = done.stdout + done.stderr
        message = f"{what} failed ({done.returncode}): {' '.join(words)}\n{printed[-4000:]}"
        raise ProgramFailedError(message, printed)
    return done.stdout
