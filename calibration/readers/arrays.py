""".npy and .npz: one sample a file, or many along a first axis, read row by row.

Nothing is allocated for what a header claims before it is held against a limit.
"""

import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ..conform import check_dtype, check_names, shape_message
from ..errors import CalibrationError
from ..specs import InputSpec
from .reader import Kind, Raw, Request, check_file, readable


def rows_of(shape: tuple[int, ...], spec: InputSpec, where: str) -> tuple[int, tuple[int, ...]]:
    """How many samples an array holds, and the shape of each.

    One, if the array has the input's shape or that of a sample; else as many as its first axis is
    long, also of single values without the axis of length 1. Raises CalibrationError if it is
    neither, or holds none.
    """
    if spec.takes(shape) or spec.takes_sample(shape):
        return 1, shape
    if len(shape) == 1 and shape[0] and spec.shape and spec.takes_sample((1,) * len(spec.sample)):
        return shape[0], (1,) * len(spec.sample)
    if not shape or not (spec.takes(shape[1:]) or spec.takes_sample(shape[1:])):
        if len(shape) < max(len(spec.shape), 1):
            raise CalibrationError(f"{where}: {shape_message(shape, spec)}")
        raise CalibrationError(
            f"{where}: an array of shape {shape} is {shape[0]} samples along the first axis, "
            f"each of {shape_message(shape[1:], spec)}"
        )
    if shape[0] < 1:
        raise CalibrationError(f"{where}: 0 samples (shape {shape}); at least 1 is needed")
    return shape[0], shape[1:]


MOST_WHOLE = 1 << 30
"""Bytes of the arrays of a file that are read whole; deflate makes them of a thousandth."""

MOST_FORTRAN = 1 << 28
"""Bytes of a column-major array of samples, each of which is scattered over all of it."""


class _Stream:
    """An array in an open .npy stream of `size` bytes."""

    def __init__(self, file: IO[bytes], size: int, where: str) -> None:
        self.file = file
        self.where = where
        with readable(where, "an array"):
            self.shape, self.fortran, self.dtype = _header(file)
            if min(self.shape, default=0) < 0:
                raise ValueError(f"shape {self.shape}")
        self.present = size - file.tell()
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize

    def check_length(self) -> None:
        if self.present < self.nbytes:
            raise CalibrationError(
                f"{self.where}: truncated: {self.present} bytes of values, {self.nbytes} expected "
                f"for shape {self.shape} of {self.dtype}; write it again"
            )

    def whole(self, most: int) -> NDArray[Any]:
        """The array; raises CalibrationError if it has more than `most` bytes."""
        if self.dtype.hasobject:
            raise CalibrationError(
                f"{self.where}: pickled Python objects cannot be read safely; save plain arrays"
            )
        if self.nbytes > most:
            raise CalibrationError(
                f"{self.where}: shape {self.shape} of {self.dtype} are {self.nbytes:,} bytes, and "
                f"at most {most:,} are read at once; split the file"
            )
        self.check_length()
        return self.read(self.shape[::-1]).T if self.fortran else self.read(self.shape)

    def read(self, shape: tuple[int, ...]) -> NDArray[Any]:
        """The next values, in row-major order."""
        with readable(self.where, "an array"):
            result = np.empty(shape, self.dtype)
            rest = result.reshape(-1).view(np.uint8).data
            while rest:
                got = self.file.readinto(rest)  # type: ignore[attr-defined]
                if not got:
                    raise EOFError(f"{len(rest)} bytes are missing")
                rest = rest[got:]
        return result


class _StreamedArray(_Stream):
    """Samples in an open .npy stream, read from its begin to its end."""

    def __init__(self, file: IO[bytes], size: int, spec: InputSpec, where: str) -> None:
        super().__init__(file, size, where)
        check_dtype(self.dtype, spec, where)
        self.count, self.row = rows_of(self.shape, spec, where)
        if self.fortran and self.nbytes > MOST_FORTRAN:
            raise CalibrationError(
                f"{where}: {self.nbytes:,} bytes in Fortran order, which has to be read whole, at "
                f"most {MOST_FORTRAN:,}; save it with np.ascontiguousarray"
            )
        self.check_length()

    def __iter__(self) -> Iterator[NDArray[Any]]:
        if self.fortran:
            yield from self.whole(MOST_FORTRAN).reshape(self.count, *self.row)
            return
        for _ in range(self.count):
            yield self.read(self.row)


def array_names(file: IO[bytes], where: str) -> list[str]:
    """The names of the arrays of an open .npz. Raises CalibrationError."""
    with readable(where, "an .npz file"), zipfile.ZipFile(file) as archive:
        return list(_members(archive))


def load_arrays(
    file: IO[bytes], where: str, want: Callable[[str], bool] = lambda name: True
) -> dict[str, NDArray[Any]]:
    """The arrays of an open .npz, whole, whose names are wanted. Raises CalibrationError.

    Together they may have MOST_WHOLE bytes.
    """
    found, left = dict[str, NDArray[Any]](), MOST_WHOLE
    with ExitStack() as stack:
        with readable(where, "an .npz file"):
            archive = stack.enter_context(zipfile.ZipFile(file))
            members = _members(archive)
        for name in filter(want, members):
            here = f"{where}, array '{name}'"
            with readable(here, "an array"):
                stream = stack.enter_context(archive.open(members[name]))
            found[name] = _Stream(stream, members[name].file_size, here).whole(left)
            left -= found[name].nbytes
    return found


def shapes_of(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of an .npz by name, of an .npy under ""; nothing of other files.

    Raises OSError, ValueError or zipfile.BadZipFile for what is damaged.
    """
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            return {"": _header(file)[0]}
    if path.suffix.lower() != ".npz":
        return {}
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name, member in _members(archive).items():
            with archive.open(member) as stream:
                found[name] = _header(stream)[0]
    return found


def load_array(file: IO[bytes], size: int, where: str) -> NDArray[Any]:
    """The array of an open .npy of `size` bytes, MOST_WHOLE at most. Raises CalibrationError."""
    return _Stream(file, size, where).whole(MOST_WHOLE)


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    return {m.filename.removesuffix(".npy"): m for m in archive.infolist()}


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy_format.read_magic(file)
    if version == (1, 0):
        return npy_format.read_array_header_1_0(file)
    if version == (2, 0):
        return npy_format.read_array_header_2_0(file)
    # 3.0 exists for field names in other scripts, and records are no samples.
    raise ValueError(f"npy format {version[0]}.{version[1]}")


def _open_npy(path: Path, request: Request, stack: ExitStack) -> _StreamedArray:
    check_file(path, "an .npy file", None)
    with readable(str(path), "an .npy file"):
        file = stack.enter_context(path.open("rb"))
        size = path.stat().st_size
    return _StreamedArray(file, size, request.only, str(path))


def _read_npy(path: Path, request: Request) -> Iterator[Raw]:
    with ExitStack() as stack:
        array = _open_npy(path, request, stack)
        for i, row in enumerate(array):
            where = f"{path}, sample {i}" if array.count > 1 else str(path)
            yield where, {request.only.name: row}


def _count_npy(path: Path, request: Request) -> int:
    with ExitStack() as stack:
        return _open_npy(path, request, stack).count


def _open_npz(path: Path, request: Request, stack: ExitStack) -> dict[str, _StreamedArray]:
    check_file(path, "an .npz file", None)
    with readable(str(path), "an .npz file"):
        archive = stack.enter_context(zipfile.ZipFile(path))
    members = _members(archive)
    request.ignored.update(check_names(members, request.specs, str(path)))
    arrays = {}
    for spec in request.specs:
        where = f"{path}, array '{spec.name}'"
        with readable(where, "an array"):
            file = stack.enter_context(archive.open(members[spec.name]))
        arrays[spec.name] = _StreamedArray(file, members[spec.name].file_size, spec, where)
    check_counts({name: array.count for name, array in arrays.items()}, str(path))
    return arrays


def check_counts(counts: dict[str, int], where: str) -> None:
    """Raise CalibrationError unless all inputs have as many samples."""
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise CalibrationError(
            f"{where}: the inputs have different numbers of samples: {listed}; "
            "every sample needs all of them"
        )


def _read_npz(path: Path, request: Request) -> Iterator[Raw]:
    with ExitStack() as stack:
        arrays = _open_npz(path, request, stack)
        rows = [iter(array) for array in arrays.values()]
        for i, row in enumerate(zip(*rows, strict=True)):
            yield f"{path}, sample {i}", dict(zip(arrays, row, strict=True))


def _count_npz(path: Path, request: Request) -> int:
    with ExitStack() as stack:
        return next(iter(_open_npz(path, request, stack).values())).count


NPY = Kind("npy", (".npy",), _read_npy, _count_npy)
NPZ = Kind("npz", (".npz",), _read_npz, _count_npz)
