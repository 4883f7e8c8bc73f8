"""What lies beside the samples: arrays for a metric, and the class of each sample."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import Samples
from .errors import CalibrationError
from .readers.arrays import array_names, load_arrays
from .readers.reader import check_file, readable
from .readers.tables import label_cells
from .sources import LABELS
from .specs import InputSpec

FOLDERS = "folders"
"""The key of labels that are the names of the folders that samples lie in."""


@dataclass(frozen=True)
class Labels:
    """The class int64 [samples] of each sample; `names` of all classes, where they are text."""

    classes: NDArray[np.int64]
    names: tuple[str, ...] = ()


def load_others(source: Any, specs: Sequence[InputSpec]) -> dict[str, NDArray[Any]]:
    """The arrays beside the inputs, whole, of an .npz or a dict of arrays; else none.

    Raises CalibrationError for an array that cannot be read, one of Python objects among them.
    """
    inputs = {spec.name for spec in specs}
    if isinstance(source, Mapping):
        return {name: np.asarray(a) for name, a in source.items() if name not in inputs}
    if not isinstance(source, str | os.PathLike) or Path(source).suffix.lower() != ".npz":
        return {}
    check_file(Path(source), "an .npz file", None)
    with readable(str(source), "an .npz file"), open(source, "rb") as file:
        return load_arrays(file, str(source), lambda name: name not in inputs)


def find_labels(samples: Samples) -> str | None:
    """The key of labels that lie where everybody puts them; None where there are none.

    A labels.csv in a folder of samples, a folder a class, a .csv's column of labels.
    """
    folder = _folder(samples)
    if folder is not None:
        if (folder / LABELS).is_file():
            return LABELS
        names = _folder_names(folder, samples)
        if len(set(names)) > 1:
            return FOLDERS
    found = _columns(samples)
    return found[0] if found else None


def load_labels(samples: Samples, key: str) -> Labels:
    """The classes of the samples that `key` means.

    Of an .npz or a dict of arrays it is the name of an array; of a .csv that of a column; of a
    folder "folders", where samples lie in one folder a class, or the name of a .csv in it with a
    file and its class a row. Classes that are text are numbered in the order of their names.
    Raises CalibrationError where there are no such labels, or not one a sample.
    """
    folder, source = _folder(samples), samples.origin
    if folder is not None:
        return _labels_in(folder, samples, key)
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() != ".npz":
        found = _columns(samples)
        if found is None or found[0] != key:
            raise CalibrationError(
                f"{source}, labels '{key}': not found; labels are an array of an .npz, a named "
                "column of a .csv, or the folders of the samples"
            )
        return _of_text(found[1], f"{source}, column '{key}'")
    if isinstance(source, str | os.PathLike):
        return _of_array(_array_of_file(source, key), f"{source}, labels '{key}'")
    if not isinstance(source, Mapping):
        raise CalibrationError(
            f"labels '{key}' require samples from a file, a folder or a dict of arrays, not a "
            f"{type(source).__name__}"
        )
    if key not in source:
        listed = ", ".join(f"'{name}'" for name in source) or "none"
        raise CalibrationError(f"labels '{key}': no such array; found: {listed}")
    return _of_array(np.asarray(source[key]), f"labels '{key}'")


def _folder(samples: Samples) -> Path | None:
    source = samples.origin
    return Path(source) if isinstance(source, str | os.PathLike) and Path(source).is_dir() else None


def _columns(samples: Samples) -> tuple[str, list[str]] | None:
    """The one column of labels of all files, tables each: its name and cells."""
    found = dict[str, list[str]]()
    for file in samples.files:
        if file.suffix.lower() != ".csv":
            return None
        column = label_cells(file, samples.request)
        if column is None:
            return None
        found.setdefault(column[0], []).extend(column[1])
    return next(iter(found.items())) if len(found) == 1 else None


def _labels_in(folder: Path, samples: Samples, key: str) -> Labels:
    if key == FOLDERS:
        names = _folder_names(folder, samples)
        if not names:
            raise CalibrationError(
                f"{folder}, labels '{FOLDERS}': not every sample is in a class folder"
            )
        return _of_text(names, f"{folder}, the names of its folders")
    if Path(key).suffix.lower() == ".csv" and (folder / key).is_file():
        return _of_text(_listed(folder, folder / key, samples), str(folder / key))
    found = _columns(samples)
    if found is not None and found[0] == key:
        return _of_text(found[1], f"{folder}, column '{key}'")
    raise CalibrationError(
        f"{folder}, labels '{key}': for a folder, labels are '{FOLDERS}' (one folder per class), "
        f"or the name of a .csv in it, such as {LABELS}, with a file and its class per row"
    )


def _folder_names(folder: Path, samples: Samples) -> list[str]:
    """The class folder of each sample, one below `folder`; [] if a file is in none."""
    names = list[str]()
    for file in samples.files:
        parts = file.relative_to(folder).parts
        if len(parts) < 2:
            return []
        names += [parts[0]] * samples.samples_of(file)
    return names


def _listed(folder: Path, table: Path, samples: Samples) -> list[str]:
    """The class of each sample by a table of file and class; a header is passed over."""
    check_file(table, "a .csv file")
    with readable(str(table), "a .csv file"), table.open(encoding="utf-8-sig", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if len(row) > 1]
    classes = {row[0].replace("\\", "/"): row[1] for row in rows}
    names = list[str]()
    for path in samples.files:
        inside = path.relative_to(folder).as_posix()
        name = next((classes[n] for n in (inside, path.name, path.stem) if n in classes), None)
        if name is None:
            raise CalibrationError(
                f"{table}: no row for '{inside}'; list the file and class of every sample"
            )
        names += [name] * samples.samples_of(path)
    return names


def _of_text(names: Sequence[str], where: str) -> Labels:
    """Whole numbers are the classes; other names are numbered in their order."""
    try:
        return Labels(np.array([int(name) for name in names], np.int64))
    except (ValueError, OverflowError):
        if "" in names:
            sample = list(names).index("")
            raise CalibrationError(f"{where}: sample {sample} has no label") from None
    known, classes = np.unique(np.array(names), return_inverse=True)
    return Labels(classes.astype(np.int64), tuple(map(str, known)))


def _of_array(labels: NDArray[Any], where: str) -> Labels:
    if labels.ndim == 1 and labels.dtype.kind == "U":
        return _of_text(labels.tolist(), where)
    return Labels(_class_numbers(labels, where))


def _array_of_file(path: str | os.PathLike[str], key: str) -> NDArray[Any]:
    if not Path(path).is_file():
        what = "is not a file" if Path(path).exists() else "does not exist"
        raise CalibrationError(f"'{path}' {what}; labels are read from an .npz file")
    with readable(str(path), "an .npz file of labels"), open(path, "rb") as file:
        if file.read(2) != b"PK":
            raise CalibrationError(f"'{path}' is not an .npz file; save labels with np.savez(...)")
        names = array_names(file, str(path))
        if key not in names:
            found = ", ".join(f"'{name}'" for name in names) or "none"
            raise CalibrationError(f"{path}, labels '{key}': no such array; found: {found}")
        return load_arrays(file, str(path), lambda name: name == key)[key]


def _class_numbers(labels: NDArray[Any], where: str) -> NDArray[np.int64]:
    if labels.ndim and not len(labels):
        raise CalibrationError(f"{where}: 0 labels; at least 1 is needed")
    if labels.ndim == 0 or labels.size != len(labels):
        raise CalibrationError(
            f"{where}: shape {labels.shape}; expected one class number per sample, (samples,); "
            "for one-hot labels or scores, save the argmax"
        )
    labels = labels.reshape(-1)
    expected = "expected one class number per sample: save class numbers .astype(np.int64)"
    if labels.dtype.kind not in "biuf":
        raise CalibrationError(f"{where}: wrong dtype {labels.dtype}; {expected}")
    with np.errstate(invalid="ignore"):
        numbers = labels.astype(np.int64)
    wrong = numbers != labels
    if wrong.any():
        raise CalibrationError(
            f"{where}: {int(wrong.sum())} of {labels.size} are not 64-bit integers, first "
            f"{labels[wrong][0]}; {expected}"
        )
    return numbers
