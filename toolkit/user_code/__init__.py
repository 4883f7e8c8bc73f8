"""Python files of the user's: run, and blamed for what they raise."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ..errors import UserError

OURS = str(Path(__file__).parents[1])
"""Where the code is that calls the user's."""


def module_of(path: Path, what: str) -> ModuleType:
    """The user's file, run as a script is: it may import what lies beside it.

    `what` it is to be, for errors. Raises UserError.
    """
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise UserError(f"'{path}' {found}; {what}, a Python file")
    name = f"edgekit_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with importing_beside(path):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as why:  # the user's code may raise anything
        raise UserError(f"{path}: {where(why, path)}{said(why)}") from why
    return module


@contextmanager
def importing_beside(file: Path | None) -> Iterator[None]:
    """What the user's file imports, at its top or in its function, is also looked for beside it.

    No byte code is left there: the folder is the user's.
    """
    if file is None:
        yield
        return
    folder = str(file.parent.resolve())
    sys.path.insert(0, folder)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        if folder in sys.path:
            sys.path.remove(folder)


def where(why: BaseException, file: Path | None) -> str:
    """ "line 12: " of the user's file, or of the file where it was raised; nothing of ours."""
    if isinstance(why, SyntaxError) and file is not None and why.filename == str(file.resolve()):
        return f"line {why.lineno}: "
    frames = [f for f in traceback.extract_tb(why.__traceback__) if not f.filename.startswith(OURS)]
    own = [f for f in frames if file is not None and Path(f.filename).resolve() == file.resolve()]
    if own:
        return f"line {own[-1].lineno}: "
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}: " if frames else ""


def said(why: BaseException) -> str:
    """An exception in words."""
    text = why.msg if isinstance(why, SyntaxError) else str(why)
    return f"{type(why).__name__}: {text}" if text else type(why).__name__
