"""What every reader is: one kind of file, read sample by sample."""

import importlib
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CalibrationError
from ..specs import ImageOptions, InputSpec, Sound

# Where a sample comes from, for messages, and its arrays by input name, as they are stored.
Raw = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Request:
    """What is wanted from a file: these inputs, in this way. `ignored`: arrays that were none.

    Without `sound`, a waveform is taken as it is. `labels` names the column of a table that is no
    part of a sample.
    """

    specs: tuple[InputSpec, ...]
    image: ImageOptions = field(default_factory=ImageOptions)
    labels: str | None = None
    ignored: set[str] = field(default_factory=set)
    sound: Sound | None = None

    @property
    def only(self) -> InputSpec:
        """The one input, for kinds of file that hold no names."""
        (spec,) = self.specs
        return spec


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        read: the samples of a file, one at a time. Raises CalibrationError.
        count: how many `read` gives, without reading their values where the format allows.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, Request], Iterator[Raw]]
    count: Callable[[Path, Request], int]


@contextmanager
def readable(where: str, kind: str) -> Iterator[None]:
    """Turn what a broken or unreadable file raises into a CalibrationError that says so."""
    try:
        yield
    except CalibrationError:
        raise
    except PermissionError as error:
        raise CalibrationError(f"{where}: permission denied; change its permissions") from error
    except Exception as error:  # parsers meet hostile bytes with every kind of exception
        # The first line alone: numpy goes on to recommend pickles.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise CalibrationError(
            f"{where}: cannot be read as {kind} ({reason}); it is corrupt, truncated or of "
            "another kind: write it again or remove it"
        ) from error


MOST_FILE = 1 << 30
"""Bytes of a file that is one sample, or a table of them."""


def check_file(path: Path, kind: str, most: int | None = MOST_FILE) -> None:
    """Raise CalibrationError unless it is a file, no device or pipe, of at most so many bytes."""
    with readable(str(path), kind):
        status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise CalibrationError(f"{path}: is not a regular file; give {kind}")
    if most is not None and status.st_size > most:
        raise CalibrationError(
            f"{path}: has {status.st_size:,} bytes, and {kind} at most {most:,}; "
            "split it into samples"
        )


def optional_module(name: str, package: str, where: str) -> Any:
    """The module, imported when first needed; CalibrationError names the package to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise CalibrationError(
            f"{where}: reading this needs the package {package}; run: pip install {package}"
        ) from error
