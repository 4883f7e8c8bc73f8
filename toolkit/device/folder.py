"""A build's folder: what builds wrote before is replaced, files of the user are not."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection
from pathlib import Path

from ..errors import UserError

MANIFEST = ".edgekit-build.json"
"""SHA-256 of each file that builds wrote into the folder, by its path."""

_SHOWN = 8


def check_folder(out: Path) -> None:
    """Raises UserError where `out` is a file."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file; give a folder")


def install(staged: Path, out: Path, *, force: bool, own: Collection[str] = ()) -> list[str]:
    """Copy the files of `staged` into `out`; return those of `own` that were kept as they were.

    Files that an earlier build wrote and nobody changed are replaced. Of changed ones, those in
    `own`, which are written for the user to edit, are kept. With `force` all are replaced. Raises
    UserError for other files that would be lost, and then writes nothing.
    """
    known = _manifest(out)
    new = {p.relative_to(staged).as_posix(): _hash(p) for p in staged.rglob("*") if p.is_file()}
    kept: list[str] = []
    refused: list[str] = []
    for name in sorted(new) if not force else ():
        if not _differs(out / name, {new[name], known.get(name)}):
            continue
        (kept if name in own and name in known else refused).append(name)
    if refused:
        more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        raise UserError(
            f"{out}: the build would overwrite files that were edited or that it did not write: "
            f"{', '.join(refused[:_SHOWN])}{more}; choose another folder, or use --force"
        )
    try:
        for name in sorted(new.keys() - set(kept)):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(staged / name, out / name)
        files = known | {name: digest for name, digest in new.items() if name not in kept}
        text = json.dumps({"files": dict(sorted(files.items()))}, indent=1)
        (out / MANIFEST).write_text(text + "\n")
    except OSError as why:
        raise UserError(f"{out}: cannot be written: {why}") from why
    return kept


def _differs(path: Path, known: set[str | None]) -> bool:
    """Whether something is at `path` that is not a file with one of these hashes."""
    if not path.is_file():
        return path.exists() or path.is_symlink()
    return _hash(path) not in known


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _manifest(out: Path) -> dict[str, str]:
    """What earlier builds wrote; nothing, if that cannot be read."""
    try:
        files = json.loads((out / MANIFEST).read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {str(k): str(v) for k, v in files.items()} if isinstance(files, dict) else {}
