"""Where samples come from: files, folders, arrays in memory, or any iterable."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .conform import as_array, check_dtype, check_names
from .errors import CalibrationError
from .readers import CSV, NPZ, SUFFIXES, Kind, Raw, Request, kind_of
from .readers.arrays import check_counts, rows_of
from .readers.images import IMAGE
from .specs import InputSpec

LABELS = "labels.csv"
"""The file beside samples of another kind that names the class of each."""

FORMS = f"a folder of samples ({SUFFIXES}) or an .npz of arrays by input name"


class Source(Protocol):
    """Raw samples in a fixed order; `conform` has not seen them yet."""

    description: str
    reiterable: bool

    def count(self) -> int | None:
        """How many raw samples there are; None if only reading them tells."""
        ...

    def raws(self) -> Iterator[Raw]:
        """The samples, from the first."""
        ...


class Files:
    """Files of one kind, one after the other."""

    reiterable = True

    def __init__(self, files: list[Path], kind: Kind, request: Request, description: str) -> None:
        self.files = files
        self.kind = kind
        self.request = request
        self.description = description

    @property
    def pictures(self) -> list[InputSpec]:
        """The inputs that are read from pictures."""
        return list(self.request.specs) if self.kind is IMAGE else []

    def count(self) -> int:
        return sum(self.kind.count(file, self.request) for file in self.files)

    def raws(self) -> Iterator[Raw]:
        for file in self.files:
            yield from self.kind.read(file, self.request)


class Parallel:
    """One source an input, read in step."""

    reiterable = True

    def __init__(self, sources: dict[str, Files], description: str) -> None:
        self.sources = sources
        self.description = description

    @property
    def pictures(self) -> list[InputSpec]:
        """The inputs that are read from pictures."""
        return [spec for source in self.sources.values() for spec in source.pictures]

    def count(self) -> int:
        counts = {name: source.count() for name, source in self.sources.items()}
        check_counts(counts, self.description)
        return next(iter(counts.values()))

    def raws(self) -> Iterator[Raw]:
        self.count()
        for raws in zip(*(source.raws() for source in self.sources.values()), strict=True):
            where = " with ".join(where for where, _ in raws)
            yield where, {name: a for _, arrays in raws for name, a in arrays.items()}


class Memory:
    """Arrays by input name, samples along their first axis."""

    reiterable = True
    description = "arrays in memory"

    def __init__(self, arrays: Mapping[str, Any], request: Request) -> None:
        request.ignored.update(check_names(list(arrays), request.specs, self.description))
        self.arrays = {
            spec.name: as_array(arrays[spec.name], spec, f"array '{spec.name}'")
            for spec in request.specs
        }
        self.rows = {}
        for spec in request.specs:
            where = f"array '{spec.name}'"
            check_dtype(self.arrays[spec.name].dtype, spec, where)
            self.rows[spec.name] = rows_of(self.arrays[spec.name].shape, spec, where)
        check_counts({name: n for name, (n, _) in self.rows.items()}, self.description)

    def count(self) -> int:
        return next(iter(self.rows.values()))[0]

    def raws(self) -> Iterator[Raw]:
        arrays = {name: self.arrays[name].reshape(n, *row) for name, (n, row) in self.rows.items()}
        for i in range(self.count()):
            yield f"sample {i}", {name: array[i] for name, array in arrays.items()}


class Items:
    """Dicts from any iterable."""

    def __init__(self, items: Iterable[Mapping[str, Any]]) -> None:
        self.items = items
        self.reiterable = iter(items) is not items
        self.description = f"samples from a {type(items).__name__}"

    def count(self) -> int | None:
        try:
            return len(self.items)  # type: ignore[arg-type]
        except TypeError:
            return None

    def raws(self) -> Iterator[Raw]:
        for i, item in enumerate(self.items):
            if not isinstance(item, Mapping):
                raise CalibrationError(
                    f"sample {i}: is a {type(item).__name__}; "
                    "every sample must be a dict of arrays by input name"
                )
            yield f"sample {i}", item


def open_source(source: Any, request: Request, limit: int | None) -> Source:
    """The source that an argument of `open_samples` means; limit only thins out folders.

    Raises CalibrationError if it means none.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.is_dir():
            return _open_folder(path, request, limit)
        return _open_file(path, request)
    if isinstance(source, Mapping):
        return Memory(source, request)
    if isinstance(source, np.ndarray) or not isinstance(source, Iterable):
        name = request.specs[0].name
        raise CalibrationError(
            f"samples cannot be taken from a {type(source).__name__}; give {FORMS}, an iterable "
            f"of dicts, or a dict of arrays such as {{'{name}': array}}"
        )
    return Items(source)


def _open_file(path: Path, request: Request) -> Source:
    if not path.exists():
        raise CalibrationError(f"'{path}' does not exist; give the path of {FORMS}")
    kind = kind_of(path)
    if kind is None:
        raise CalibrationError(f"'{path}' is not a file of samples; supported: {SUFFIXES}")
    _need_names(kind, request, path)
    return Files([path], kind, request, str(path))


def _open_folder(path: Path, request: Request, limit: int | None) -> Source:
    if len(request.specs) > 1:
        entries = sorted(p.name for p in path.iterdir() if p.is_dir() and not _hidden(p.name))
        inputs = {_folder_name(spec.name): spec for spec in request.specs}
        if len(inputs) < len(request.specs):
            raise CalibrationError(
                f"{path}: two inputs have the same folder name, of {', '.join(inputs)}; use .npz "
                "files with all inputs by name"
            )
        if any(name in inputs for name in entries):
            names = [inputs[name].name if name in inputs else name for name in entries]
            request.ignored.update(check_names(names, request.specs, str(path)))
            sources = {
                spec.name: _files_in(path / name, replace(request, specs=(spec,)), limit)
                for name, spec in inputs.items()
            }
            return Parallel(sources, str(path))
    return _files_in(path, request, limit)


def _files_in(folder: Path, request: Request, limit: int | None) -> Files:
    """The files of samples in a folder and below; Files of at most limit * batch of them."""
    files = list(_walk(folder))
    if not files:
        raise CalibrationError(f"folder '{folder}' is empty; put samples in it ({SUFFIXES})")
    kinds = {file: kind for file in files if (kind := kind_of(file)) is not None}
    if len({kind.name for kind in kinds.values()}) > 1:
        kinds.pop(folder / LABELS, None)
        kinds.pop(folder / (request.labels or LABELS), None)
    if not kinds:
        found = Counter(file.suffix.lower() or "no suffix" for file in files)
        raise CalibrationError(
            f"folder '{folder}' contains no samples, only {_listed(found)}; supported: {SUFFIXES}"
        )
    found = Counter(kind.name for kind in kinds.values())
    if len(found) > 1:
        raise CalibrationError(
            f"folder '{folder}' contains samples of several kinds: {_listed(found)}; keep one kind"
        )
    kind = next(iter(kinds.values()))
    _need_names(kind, request, folder)
    chosen = list(kinds)
    description = f"{folder} ({len(chosen)} {kind.name} files)"
    wanted = len(chosen) if limit is None else limit * max(s.batch for s in request.specs)
    if wanted < len(chosen):
        # Evenly spread, so that folders of classes are all represented.
        chosen = [chosen[i * len(chosen) // wanted] for i in range(wanted)]
    return Files(chosen, kind, request, description)


def _walk(folder: Path) -> Iterator[Path]:
    """Every file below a folder but hidden ones, in an order that no system changes."""
    seen = set()
    found = []
    for root, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        folders[:] = [name for name in folders if not _hidden(name)] if real not in seen else []
        if real not in seen:
            found += [Path(root, name) for name in names if not _hidden(name)]
        seen.add(real)
    return iter(sorted(found, key=lambda path: path.parts))


def _need_names(kind: Kind, request: Request, path: Path) -> None:
    if len(request.specs) > 1 and kind not in (NPZ, CSV):
        names = [spec.name for spec in request.specs]
        raise CalibrationError(
            f"'{path}': the model has the inputs {', '.join(map(repr, names))}, but files of kind "
            f"{kind.name} do not name their input; use .npz files with all inputs by name, a .csv "
            "with a header of input names, or one folder per input "
            f"({', '.join(map(_folder_name, names))})"
        )


def _folder_name(name: str) -> str:
    return name.replace("/", "_").replace(":", "_")


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def _listed(found: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
