""".npy and .npz: one sample a file, or many along a first axis, read row by row."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from ..conform import check_dtype, check_names, shape_message
from ..errors import CalibrationError
from ..specs import InputSpec
from .reader import Kind, Raw, Request, readable


def rows_of(shape: tuple[int, ...], spec: InputSpec, where: str) -> tuple[int, tuple[int, ...]]:
    """How many samples an array holds, and the shape of each.

    One, if the array has the input's shape or that of a sample; else as many as its first axis is
    long. Raises CalibrationError if it is neither, or holds none.
    """
    if shape in (spec.shape, spec.sample):
        return 1, shape
    if not shape or shape[1:] not in (spec.shape, spec.sample):
        if len(shape) < max(len(spec.shape), 1):
            raise CalibrationError(f"{where}: {shape_message(shape, spec)}")
        raise CalibrationError(
            f"{where}: an array of shape {shape} is {shape[0]} samples along the first axis, "
            f"each of {shape_message(shape[1:], spec)}"
        )
    if shape[0] < 1:
        raise CalibrationError(f"{where}: holds 0 samples (shape {shape}); at least 1 is needed")
    return shape[0], shape[1:]


class _StreamedArray:
    """An array in an open .npy stream of `size` bytes, read from its begin to its end."""

    def __init__(self, file: IO[bytes], size: int, spec: InputSpec, where: str) -> None:
        self.file = file
        self.where = where
        with readable(where, "an array"):
            self.shape, self.fortran, self.dtype = _header(file)
        check_dtype(self.dtype, spec, where)
        self.count, self.row = rows_of(self.shape, spec, where)
        present = size - file.tell()
        expected = math.prod(self.shape) * self.dtype.itemsize
        if present < expected:
            raise CalibrationError(
                f"{where}: truncated: {present} bytes of values, {expected} expected for shape "
                f"{self.shape} of {self.dtype}; write it again"
            )

    def __iter__(self) -> Iterator[NDArray[Any]]:
        if self.fortran:
            # Column-major: a row is scattered over the whole array, so this one is read whole.
            whole = self._read(self.shape[::-1]).T
            yield from whole.reshape(self.count, *self.row)
            return
        for _ in range(self.count):
            yield self._read(self.row)

    def _read(self, shape: tuple[int, ...]) -> NDArray[Any]:
        result = np.empty(shape, self.dtype)
        rest = result.reshape(-1).view(np.uint8).data
        with readable(self.where, "an array"):
            while rest:
                got = self.file.readinto(rest)  # type: ignore[attr-defined]
                if not got:
                    raise EOFError(f"{len(rest)} bytes are missing")
                rest = rest[got:]
        return result


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy_format.read_magic(file)
    if version == (1, 0):
        return npy_format.read_array_header_1_0(file)
    if version == (2, 0):
        return npy_format.read_array_header_2_0(file)
    # 3.0 exists for field names in other scripts, and records are no samples.
    raise ValueError(f"npy format {version[0]}.{version[1]}")


def _open_npy(path: Path, request: Request, stack: ExitStack) -> _StreamedArray:
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
    with readable(str(path), "an .npz file"):
        archive = stack.enter_context(zipfile.ZipFile(path))
    members = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}
    check_names(members, request.specs, request.allow_extra, str(path))
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
