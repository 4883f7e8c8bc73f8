"""One module a kind of file; this is the list of them."""

from pathlib import Path

from .arrays import NPY, NPZ
from .images import IMAGE
from .reader import Kind, Raw, Request
from .sounds import WAV
from .tables import CSV

KINDS: tuple[Kind, ...] = (NPY, NPZ, IMAGE, WAV, CSV)

SUFFIXES = ", ".join(suffix for kind in KINDS for suffix in kind.suffixes)


def kind_of(path: Path) -> Kind | None:
    """The kind of a file by its suffix, in any case, or None if it is not one of samples."""
    return next((kind for kind in KINDS if path.suffix.lower() in kind.suffixes), None)


__all__ = ["CSV", "KINDS", "NPZ", "SUFFIXES", "Kind", "Raw", "Request", "kind_of"]
