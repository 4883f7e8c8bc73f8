"""The shapes of arrays of samples, from their headers: a model may leave its own open."""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .errors import CalibrationError
from .readers.arrays import shapes_of

Shapes = dict[str, tuple[int, ...]]


def array_shapes(source: Any) -> Shapes:
    """The whole shape of each array, by name, "" of an .npy file; of a folder, those of its first
    file. Nothing of what holds no arrays, or cannot be read: `open_samples` says why."""
    if isinstance(source, Mapping):
        return {str(name): np.shape(a) for name, a in source.items()}
    if not isinstance(source, str | os.PathLike):
        return {}
    path = Path(source)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in (".npz", ".npy"))
        if not files:
            return {}
        path = files[0]
    try:
        return shapes_of(path)
    except (CalibrationError, OSError, ValueError, zipfile.BadZipFile):
        return {}
