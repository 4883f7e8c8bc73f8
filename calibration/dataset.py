"""Samples for calibration and evaluation, read one at a time.

What may be given, and which rule applies:
  - a folder, searched with its subfolders (classes, say) in sorted order; all files of samples
    must be of one kind, others (.txt, .json, ...) are passed over. A model of several inputs takes
    one folder an input, named like it with '/' and ':' as '_', or .npz files of all inputs.
  - one file: .npz (arrays by input name), .npy, .csv, .wav or a picture;
  - in Python, a dict of arrays by input name, or an iterable of dicts, each a sample.
An array is one sample if it has the input's shape, with or without a batch axis of 1; else its
first axis is samples.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .conform import check_names, conform
from .errors import CalibrationError
from .readers.reader import Request
from .sources import Files, Parallel, Source, open_source
from .specs import ImageOptions, InputSpec, Sound

Feed = dict[str, NDArray[Any]]

SampleSource = str | os.PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]


class Samples:
    """Feeds for a model: dicts of arrays by input name, each of its spec's shape and dtype.

    Only one sample is in memory at a time. Iterating raises CalibrationError where a sample
    cannot be used, and at the end if there was none.

    Attributes:
        description: where the samples come from, in words.
        reiterable: False over a generator, which can be read only once.
        origin: what `open_samples` was given.
        notes: what the user should know of what was read so far.
    """

    def __init__(
        self, source: Source, request: Request, limit: int | None = None, origin: Any = None
    ) -> None:
        self.description = source.description
        self.reiterable = source.reiterable
        self.origin = origin
        self.notes: list[str] = []
        self._source = source
        self._request = request
        self._limit = limit
        self._started = False
        self._fingerprint: str | None = None
        self._length: int | None = None

    def __iter__(self) -> Iterator[Feed]:
        if self._started and not self.reiterable:
            raise CalibrationError(
                f"{self.description} can be read only once, and were read already; pass a list, "
                "or an object whose __iter__ restarts"
            )
        self._started = True
        return self._feeds()

    @property
    def length(self) -> int | None:
        """The number of feeds, or None if only reading them tells; raises CalibrationError."""
        if self._length is None:
            count = self._source.count()
            if count is not None and max(spec.batch for spec in self._request.specs) > 1:
                count = self._feeds_of(count)
            if count is not None and self._limit is not None:
                count = min(count, self._limit)
            self._length = count
        return self._length

    @property
    def ignored(self) -> list[str]:
        """The names, sorted, of the arrays read so far that are no inputs."""
        return sorted(self._request.ignored)

    @property
    def pictures(self) -> list[InputSpec]:
        """The inputs whose samples are read from pictures."""
        return self._source.pictures if isinstance(self._source, Files | Parallel) else []

    @property
    def request(self) -> Request:
        """What is read from the source, and how."""
        return self._request

    @property
    def files(self) -> list[Path]:
        """The files of samples of a folder or path, in order.

        Empty for other sources, and where each input has files of its own.
        """
        return list(self._source.files) if isinstance(self._source, Files) else []

    @property
    def places(self) -> list[str]:
        """The files of samples, if each holds one; else nothing."""
        files = self.files
        return [str(f) for f in files] if all(self.samples_of(f) == 1 for f in files) else []

    def samples_of(self, file: Path) -> int:
        """How many samples one of `files` holds. Raises CalibrationError."""
        assert isinstance(self._source, Files)
        return self._source.kind.count(file, self._request)

    @property
    def total(self) -> int | None:
        """The number of samples in the source, whatever the limit; None if only reading tells."""
        return self._source.count()

    def __len__(self) -> int:
        if self.length is None:
            raise TypeError(f"{self.description} have no length before they are read")
        return self.length

    def names(self, wanted: Collection[int]) -> dict[int, str]:
        """Where the feeds at these places come from; of a batch, its first part. Costs a pass.

        Nothing of a generator.
        """
        if not self.reiterable or not wanted:
            return {}
        parts, found = 1, dict[int, str]()
        for i, (where, raw) in enumerate(self._source.raws()):
            if i == 0:
                parts = self._parts(self._conform(where, raw), where, 0)
            if i % parts == 0 and i // parts in wanted:
                found[i // parts] = where
        return found

    def fingerprint(self) -> str:
        """The SHA-256, in hex, of all feeds: names, types, shapes and values, in order.

        Costs one pass unless the samples have been read to the end. Raises CalibrationError over
        a generator that has not been.
        """
        if self._fingerprint is None:
            if not self.reiterable:
                raise CalibrationError(
                    f"{self.description}: the fingerprint is known after reading them to the end"
                )
            for _ in self:
                pass
        assert self._fingerprint is not None
        return self._fingerprint

    def _feeds(self) -> Iterator[Feed]:
        digest = hashlib.sha256()
        feeds = 0
        for feed in self._batches():
            for name in sorted(feed):
                array = feed[name]
                digest.update(f"{name}\0{array.dtype.str}{array.shape}\0".encode())
                digest.update(array.data if array.size else b"")
            feeds += 1
            if feeds == self._limit:
                self._fingerprint = digest.hexdigest()
                yield feed
                return
            yield feed
        if feeds == 0:
            raise CalibrationError(f"{self.description}: 0 samples; at least 1 is needed")
        self._fingerprint = digest.hexdigest()

    def _batches(self) -> Iterator[Feed]:
        """Every feed; parts of a larger batch are put together."""
        filled, batch, feed = 0, 1, dict[str, NDArray[Any]]()
        for where, raw in self._source.raws():
            arrays = self._conform(where, raw)
            batch = self._parts(arrays, where, filled)
            if batch == 1:
                yield arrays
                continue
            if filled == 0:
                feed = {s.name: np.empty(s.shape, s.dtype) for s in self._request.specs}
            for name, array in arrays.items():
                feed[name][filled] = array
            filled += 1
            if filled == batch:
                yield feed
                filled = 0
        if filled:
            text = (
                f"{filled} samples at the end are ignored: the batch size of the model is {batch}"
            )
            self._note(f"{self.description}: {text}")

    def _conform(self, where: str, raw: Mapping[str, Any]) -> Feed:
        specs = self._request.specs
        self._request.ignored.update(check_names(list(raw), specs, where))
        for spec in specs:
            dtype = getattr(raw[spec.name], "dtype", None)
            if dtype == np.uint8 and spec.dtype.kind == "f":
                self._note(
                    f"input '{spec.name}': uint8 values are used unscaled (0 to 255); if the "
                    "model expects 0 to 1, divide them by 255"
                )
        return {spec.name: conform(raw[spec.name], spec, where) for spec in specs}

    def _parts(self, arrays: Feed, where: str, filled: int) -> int:
        """How many such samples make one feed; 1 if the arrays already are one."""
        specs = self._request.specs
        parts = {spec.batch for spec in specs if not spec.takes(arrays[spec.name].shape)}
        whole = [spec.name for spec in specs if spec.takes(arrays[spec.name].shape)]
        if not parts and not filled:
            return 1
        if len(parts) != 1 or whole:
            shapes = ", ".join(f"'{s.name}' {arrays[s.name].shape} of {s.shape}" for s in specs)
            raise CalibrationError(
                f"{where}: the batch sizes of the inputs differ: {shapes}; give every input in "
                "the model's shape"
            )
        return parts.pop()

    def _feeds_of(self, count: int) -> int | None:
        """How many feeds `count` raw samples make, as the first one tells."""
        if not self.reiterable:
            return None
        where, raw = next(self._source.raws(), (self.description, None))
        if raw is None:
            return 0
        return count // self._parts(self._conform(where, raw), where, 0)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def open_samples(
    source: SampleSource,
    specs: Sequence[InputSpec],
    how: ImageOptions | Sound | None = None,
    limit: int | None = None,
    labels: str | None = None,
) -> Samples:
    """The samples of a source, for these inputs; the top of this module lists the sources.

    `how` is how pictures or sounds become inputs; without, sounds are waveforms of its size.
    limit is the most feeds to give: from a folder, files spread evenly over it; from anything
    else, the first. Arrays that are no inputs, such as labels, are ignored; `labels` names the
    column of a .csv that has them (`load_labels`).
    Raises CalibrationError if the source holds no samples for these inputs; a fault within a
    sample is raised when the iteration comes to it.
    """
    if not specs:
        raise CalibrationError("the model has no inputs, so it takes no samples")
    if limit is not None and limit < 1:
        raise CalibrationError(f"limit is {limit}; it must be 1 or more, or None for all samples")
    image = how if isinstance(how, ImageOptions) else ImageOptions()
    sound = None if isinstance(how, ImageOptions) else how
    request = Request(tuple(specs), image, labels, sound=sound)
    return Samples(open_source(source, request, limit), request, limit, source)
