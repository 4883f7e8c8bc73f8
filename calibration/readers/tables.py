""".csv: numbers separated by commas, semicolons or tabs; a first row without numbers is a header.

One column may hold labels: the one that is named, else the only one of text, else one that the
header calls label, class, target or y where a row has one value more than a sample.
A file is many samples, one a row, if a sample is one-dimensional and a row has its length. Else
it is one sample, whose values stand in row-major order: a sample [49, 10, 1] as 49 rows of 10.

Of a model with several inputs, each of one value or text, a row is a sample and the header names
the inputs; other columns are passed over.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ..conform import check_names, shape_message
from ..errors import CalibrationError
from ..specs import InputSpec
from .reader import Kind, Raw, Request, check_file, readable

_USUAL_NAMES = ("label", "labels", "class", "target", "y")


def _read(path: Path, request: Request) -> Iterator[Raw]:
    if len(request.specs) > 1:
        yield from _read_columns(path, request)
        return
    spec = request.only
    rows = _rows(path, request)
    first = next(rows, None)
    if first is None:
        raise CalibrationError(f"{path}: 0 samples, no row has numbers; write it again")
    rows = chain([first], rows)
    if _row_is_sample(first[1], spec):
        for line, row in rows:
            if len(row) != len(first[1]):
                raise _ragged(path, line, row, first[1])
            yield f"{path}, line {line}", {spec.name: np.array(row).reshape(spec.sample)}
        return
    table = []
    for line, row in islice(rows, math.prod(spec.sample) + 1):
        if len(row) != len(first[1]):
            raise _ragged(path, line, row, first[1])
        table.append(row)
    shape = (len(table) + sum(1 for _ in rows), len(first[1]))
    if not any(
        (math.prod(spec.sample[:k]), math.prod(spec.sample[k:])) == shape
        for k in range(len(spec.sample) + 1)
    ):
        raise CalibrationError(f"{path}, input '{spec.name}': {_misfit(shape, spec)}")
    yield str(path), {spec.name: np.array(table).reshape(spec.sample)}


def _read_columns(path: Path, request: Request) -> Iterator[Raw]:
    """Rows of a table whose columns are the inputs."""
    for spec in request.specs:
        if math.prod(spec.sample) != 1:
            raise CalibrationError(
                f"{path}: input '{spec.name}' takes {math.prod(spec.sample)} values, but a table "
                "column has one; use .npz files with all inputs by name"
            )
    rows = _cells(path)
    _, header = next(rows)
    names = [cell.strip() for cell in header]
    request.ignored.update(check_names(names, request.specs, f"{path}, first row"))
    for line, cells in rows:
        if len(cells) != len(names):
            raise _ragged(path, line, cells, names)
        found = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        yield (
            f"{path}, line {line}",
            {
                spec.name: np.array(_value(found[spec.name], spec, path, line)).reshape(spec.sample)
                for spec in request.specs
            },
        )


def _value(cell: str, spec: InputSpec, path: Path, line: int) -> float | str:
    if spec.texts:
        return cell
    if spec.missing and not cell:
        return math.nan
    if not _is_number(cell):
        raise CalibrationError(f"{path}, line {line}, input '{spec.name}': '{cell[:40]}' is not a "
                               "number; give the values that the model takes")  # fmt: skip
    return float(cell)


def _misfit(shape: tuple[int, int], spec: InputSpec) -> str:
    """What is wrong with a table of that shape: often its rows are samples with their label."""
    takes = math.prod(spec.sample)
    if shape[1] != takes + 1 or sum(n > 1 for n in spec.sample) > 1:
        return shape_message(shape, spec)
    return (
        f"wrong shape {shape}: rows have {shape[1]} values, the input takes {takes}; "
        "is one column a label? Name it in a first row: label, class, target or y"
    )


def _row_is_sample(row: list[float], spec: InputSpec) -> bool:
    return len(row) == math.prod(spec.sample) and sum(n > 1 for n in spec.sample) <= 1


def _ragged(path: Path, line: int, row: Sequence[Any], first: Sequence[Any]) -> CalibrationError:
    return CalibrationError(
        f"{path}, line {line}: {len(row)} columns, and {len(first)} in the first row; all rows "
        "must have the same number"
    )


def _rows(path: Path, request: Request) -> Iterator[tuple[int, list[float]]]:
    """The line number and the numbers of each row, without the column of labels."""
    column = None
    for at, (line, cells) in enumerate(_cells(path)):
        if at == 0:
            header, cells = cells, []
        elif at == 1:
            column = _label_column(header, cells, request)
        if cells:
            if column is not None:
                cells = cells[:column] + cells[column + 1 :]
            yield line, _numbers(cells, path, line)


def label_cells(path: Path, request: Request) -> tuple[str, list[str]] | None:
    """The name of the column of labels and its cells, a sample each; None if there is none."""
    rows = _cells(path)
    _, header = next(rows)
    _, first = next(rows, (0, list[str]()))
    column = _label_column(header, first, request)
    if column is None:
        return None
    cells = [first[column].strip()]
    for line, row in rows:
        if len(row) <= column:
            raise CalibrationError(
                f"{path}, line {line}: the label column, {column + 1}, is missing"
            )
        cells.append(row[column].strip())
    return header[column].strip() if header else f"column {column + 1}", cells


def _label_column(header: list[str], first: list[str], request: Request) -> int | None:
    """Which column is no part of the samples, by the header ([] for none) and a first row."""
    names = [cell.strip() for cell in header]
    if request.labels in names[: len(first)]:
        return names.index(request.labels)
    if len(request.specs) > 1:
        others = set(_USUAL_NAMES) - {spec.name for spec in request.specs}
        usual = [i for i, name in enumerate(names) if name.lower() in others]
        return usual[0] if len(usual) == 1 else None
    text = [i for i, cell in enumerate(first) if not _is_number(cell)]
    takes = math.prod(request.only.sample)
    if len(first) != takes + 1 or len(text) > 1:
        return None
    usual = [i for i, name in enumerate(names) if name.lower() in _USUAL_NAMES]
    return text[0] if text else usual[0] if len(usual) == 1 else None


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells: of the header, [] where there is none, then of each row not blank."""
    check_file(path, "a .csv file")
    with readable(str(path), "a .csv file"):
        file = path.open(encoding="utf-8-sig", newline="")
    with file:
        with readable(str(path), "a .csv file"):
            head = file.readline()
            file.seek(0)
        delimiter = next((d for d in ",;\t" if d in head), ",")
        reader = csv.reader(file, delimiter=delimiter)
        header_possible = True
        while True:
            with readable(str(path), "a .csv file"):
                cells = next(reader, None)
            if cells is None:
                if header_possible:
                    yield 0, []
                return
            if not any(cell.strip() for cell in cells):
                continue
            if header_possible and any(map(_is_number, cells)):
                yield 0, []
            header_possible = False
            yield reader.line_num, cells


def _numbers(cells: list[str], path: Path, line: int) -> list[float]:
    for column, cell in enumerate(cells, 1):
        if not _is_number(cell):
            raise CalibrationError(
                f"{path}, line {line}, column {column}: '{cell[:40]}' is not a number; "
                "leave only the input's values in the file, and at most one column of labels"
            )
    return [float(cell) for cell in cells]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _count(path: Path, request: Request) -> int:
    if len(request.specs) > 1:
        return sum(1 for _ in _read_columns(path, request))
    rows = _rows(path, request)
    first = next(rows, None)
    if first is None or not _row_is_sample(first[1], request.only):
        return 1
    return 1 + sum(1 for _ in rows)


CSV = Kind("csv", (".csv",), _read, _count)
