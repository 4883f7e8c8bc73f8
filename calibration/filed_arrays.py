"""Arrays that are read once in a while, in a temporary file instead of memory."""

import math
import os
from collections.abc import Hashable, Iterator, Mapping, MutableMapping, Sequence
from mmap import ACCESS_READ, ALLOCATIONGRANULARITY, mmap
from tempfile import TemporaryFile
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from .errors import CalibrationError

LEAST_BYTES = 1 << 12
# Of all rows: few such arrays are held at a time, and they are read often.
LEAST_ROWS_BYTES = 1 << 18
# Mapping a part of a file into memory costs as much as copying so many bytes.
_MAPPED_BYTES = 1 << 17
# Files of former users, at most so many of so many bytes: to write over what is there takes half
# as long as to make a file longer.
_SPARE_FILES, _SPARE_BYTES = 4, 1 << 26
_spare: list[int] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_spare.clear)  # they are the parent's

K = TypeVar("K", bound=Hashable)
_Filed = tuple[int, np.dtype[Any], tuple[int, ...]]
"""An array in a file: where it lies, what of, and its shape."""


def _open() -> int:
    """A file without a name."""
    try:
        return _spare.pop()
    except IndexError:
        with TemporaryFile(prefix="edgekit-", buffering=0) as file:
            return os.dup(file.fileno())


def _close(file: int) -> None:
    if len(_spare) < _SPARE_FILES and os.fstat(file).st_size <= _SPARE_BYTES:
        _spare.append(file)
    else:
        os.close(file)


class _Mapped(mmap):
    """A part of a file, which no other may use as long as this is read."""

    user: "ArrayFile"


class ArrayFile:
    """A file without a name, made when the first array is written; it goes with its last user.
    Threads may write to it at the same time."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._end = 0
        self._placing = Lock()

    def write(self, array: NDArray[Any]) -> int:
        """Where the array lies now. Raises CalibrationError where there is no room."""
        unit = ALLOCATIONGRANULARITY if array.nbytes >= _MAPPED_BYTES else 1
        with self._placing:
            at = -(-self._end // unit) * unit
            self._end = at + array.nbytes
        self.write_at(at, array)
        return at

    def write_at(self, at: int, array: NDArray[Any]) -> None:
        """Write the array there. Raises CalibrationError as above."""
        rest = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        try:
            with self._placing:
                if self._file is None:
                    self._file = _open()
                    finalize(self, _close, self._file)
                self._end = max(self._end, at + array.nbytes)
            place = at
            while rest:
                written = os.pwrite(self._file, rest, place)
                rest, place = rest[written:], place + written
        except OSError as why:
            raise CalibrationError(
                f"cannot write samples to a temporary file: {why.strerror or why}; set TMPDIR to "
                "a folder with enough space"
            ) from why

    def read(self, at: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """What lies there, copied or mapped into memory until the caller lets go of it; read
        only."""
        assert self._file is not None
        size = math.prod(shape) * dtype.itemsize
        if size < _MAPPED_BYTES:
            return self.copy(at, dtype, shape)
        mapped = _Mapped(self._file, size, access=ACCESS_READ, offset=at)
        mapped.user = self
        return np.frombuffer(mapped, dtype).reshape(shape)

    def copy(self, at: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """The same, copied."""
        copied = np.empty(shape, dtype)
        self.copy_to(copied, at)
        copied.flags.writeable = False
        return copied

    def copy_to(self, copied: NDArray[Any], at: int) -> None:
        """Fill an array with what lies there."""
        assert self._file is not None
        rest = copied.reshape(-1).view(np.uint8).data
        while rest:
            count = os.preadv(self._file, [rest], at)
            if not count:
                raise CalibrationError("the temporary file of samples is truncated")
            rest, at = rest[count:], at + count


class FiledRows:
    """An array [count, ...] that is written and read some rows at a time; it lies in a file unless
    it is small. Nothing is there before the first rows, which say of what type all are."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._rows: NDArray[Any] | None = None
        self._file = ArrayFile()
        self._type: tuple[np.dtype[Any], tuple[int, ...]] = (np.dtype(np.uint8), ())

    def write(self, first: int, rows: NDArray[Any]) -> None:
        """Raises CalibrationError where there is no room."""
        self._type = dtype, shape = rows.dtype, rows.shape[1:]
        size = math.prod(shape) * dtype.itemsize
        if size * self._count >= LEAST_ROWS_BYTES:
            self._file.write_at(first * size, rows)
            return
        if self._rows is None:
            self._rows = np.empty((self._count, *shape), dtype)
        self._rows[first : first + len(rows)] = rows

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._type[0]

    def read(self, first: int, stop: int, step: int = 1) -> NDArray[Any]:
        """Every `step`-th row from `first` to `stop` - 1, which have been written."""
        dtype, shape = self._type
        if self._rows is not None:
            return self._rows[first:stop:step]
        size = math.prod(shape) * dtype.itemsize
        if step == 1:
            return self._file.copy(first * size, dtype, (stop - first, *shape))
        rows = range(first, stop, step)
        found = np.empty((len(rows), *shape), dtype)
        for place, i in enumerate(rows):
            self._file.copy_to(found[place : place + 1], i * size)
        return found


class FiledArrays(MutableMapping[K, NDArray[Any]], Generic[K]):
    """A dict of read-only arrays; those of LEAST_BYTES and more lie in `file`, which others may
    share. What is replaced or deleted leaves its place there empty."""

    def __init__(
        self, file: ArrayFile | None = None, arrays: Mapping[K, NDArray[Any]] | None = None
    ) -> None:
        self._file = file or ArrayFile()
        self._known: dict[K, NDArray[Any] | _Filed] = {}
        self.nbytes = 0
        self.update(arrays or {})

    def __setitem__(self, key: K, array: NDArray[Any]) -> None:
        self.pop(key, None)
        self.nbytes += array.nbytes
        if array.nbytes < LEAST_BYTES or array.dtype.hasobject:
            own = np.array(array)
            own.flags.writeable = False
            self._known[key] = own
        else:
            self._known[key] = self._file.write(array), array.dtype, array.shape

    def __getitem__(self, key: K) -> NDArray[Any]:
        known = self._known[key]
        return known if isinstance(known, np.ndarray) else self._file.read(*known)

    def __contains__(self, key: object) -> bool:
        return key in self._known  # the default would read the array

    def __delitem__(self, key: K) -> None:
        self.nbytes -= _size(self._known.pop(key))

    def __iter__(self) -> Iterator[K]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def shape(self, key: K) -> tuple[int, ...]:
        """Of an array, which is not read."""
        known = self._known[key]
        return known.shape if isinstance(known, np.ndarray) else known[2]

    def numbered(self, keys: Sequence[K]) -> "FiledArrays[int]":
        """The arrays of these keys, by their places there."""
        found = FiledArrays[int](self._file)
        found._known = {i: self._known[key] for i, key in enumerate(keys)}
        found.nbytes = sum(map(_size, found._known.values()))
        return found


def _size(known: NDArray[Any] | _Filed) -> int:
    """In bytes."""
    if isinstance(known, np.ndarray):
        return known.nbytes
    _, dtype, shape = known
    return math.prod(shape) * dtype.itemsize
