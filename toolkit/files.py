"""Outputs are written under a temporary name and renamed: a failure leaves what was there.

A link is followed, and what is no ordinary file (/dev/stdout, a pipe) is written into.
"""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import IO
from zipfile import ZipFile, ZipInfo

import numpy as np

from .errors import UserError
from .ir import Array


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write `data` to `path`, all or nothing. Raises UserError (disk full, no such folder, ...)."""
    path = Path(path)
    temporary = None
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        real = path.resolve()
        handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # mkstemp made it private
        os.replace(temporary, real)
    except OSError as why:
        raise UserError(f"{path}: cannot be written: {why.strerror or why}") from why
    finally:
        if temporary is not None:  # gone already unless something went wrong, Ctrl-C included
            Path(temporary).unlink(missing_ok=True)


def check_writable(path: str | Path, others: Iterable[str | Path] = ()) -> None:
    """Raise UserError now, before long work, if `path` cannot become a file.

    Nor may it be one of the `others`, which are read, or written too.
    """
    path = Path(path)
    if path.is_dir():
        raise UserError(f"{path}: is a folder; give a file name")
    for other in map(Path, others):
        if path.resolve() == other.resolve():
            raise UserError(
                f"{path}: used for two files of this command, and would be overwritten; choose "
                "another name"
            )
    if path.exists() and not path.is_file():
        return  # a device or pipe
    if not path.parent.is_dir():
        raise UserError(f"{path}: the folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path}: the folder {path.parent} is not writable")


def npz(arrays: dict[str, Array]) -> bytes:
    """What np.savez writes, for any names: its own are arguments, so "file" is none of them."""
    whole = BytesIO()
    with ZipFile(whole, "w") as archive:
        for name, array in arrays.items():
            part = BytesIO()
            np.save(part, array, allow_pickle=False)
            archive.writestr(ZipInfo(f"{name}.npy"), part.getvalue())  # of no date
    return whole.getvalue()


MAX_FILE = 1 << 31
"""Bytes of a file that is read whole: what an ONNX model or an .edge file can have."""


def read_edge(path: str | Path) -> bytes:
    """The bytes of the .edge file at `path`. Raises UserError, for an ONNX model too."""
    if Path(path).suffix == ".onnx" and Path(path).is_file():
        how = f"quantize it first: edgekit quantize {shlex.quote(str(path))} --calib SAMPLES"
        raise UserError(f"{path} is an ONNX model; {how}")
    return read_file(path, "an .edge file")


def read_file(path: str | Path, what: str, most: int = MAX_FILE) -> bytes:
    """The bytes at `path`; `what` says in the error what was wanted.

    Raises UserError, for a device and for more than `most` bytes too.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
                raise UserError(f"{path}: is a device, not a file; give {what}")
            # A pipe has no size, and may never end.
            data = b"" if status.st_size > most else _up_to(file, most + 1)
    except FileNotFoundError as why:
        raise UserError(f"{path}: no such file; give {what}") from why
    except OSError as why:
        raise UserError(f"{path}: cannot be read: {why.strerror}; give {what}") from why
    if max(len(data), status.st_size) > most:
        raise UserError(f"{path}: is larger than {most:,} bytes; give {what}")
    return data


def _up_to(file: IO[bytes], most: int) -> bytes:
    """The first `most` bytes; only what is there is allocated."""
    parts = []
    while most and (part := file.read(min(most, 1 << 26))):
        parts.append(part)
        most -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
