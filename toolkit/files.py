"""Outputs are written under a temporary name and renamed: a failure leaves what was there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import UserError


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write `data` to `path`, all or nothing. Raises UserError (disk full, no such folder, ...)."""
    path = Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp made it private
        os.replace(temporary, path)
    except OSError as why:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise UserError(f"{path}: cannot be written: {why.strerror or why}") from why


def check_writable(path: str | Path) -> None:
    """Raise UserError now, before long work, if `path` cannot become a file."""
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give a file name")
    if not path.parent.is_dir():
        raise UserError(f"{path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path}: the folder {path.parent} is not writable")


def read_file(path: str | Path, what: str) -> bytes:
    """The bytes at `path`; `what` says in the error what was wanted. Raises UserError."""
    path = Path(path)
    try:
        return path.read_bytes()
    except FileNotFoundError as why:
        raise UserError(f"{path}: no such file; give {what}") from why
    except OSError as why:
        raise UserError(f"{path}: cannot be read: {why.strerror}; give {what}") from why
