""".csv: numbers separated by commas, semicolons or tabs; a first row without numbers is skipped.

A file is many samples, one a row, if a sample is one-dimensional and a row has its length. Else
it is one sample, whose values stand in row-major order: a sample [49, 10, 1] as 49 rows of 10.
"""

import csv
import math
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ..conform import shape_message
from ..errors import CalibrationError
from ..specs import InputSpec
from .reader import Kind, Raw, Request, check_file, readable


def _read(path: Path, request: Request) -> Iterator[Raw]:
    spec = request.only
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        raise CalibrationError(f"{path}: holds 0 samples, no row has numbers; write it again")
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


def _misfit(shape: tuple[int, int], spec: InputSpec) -> str:
    """What is wrong with a table of that shape: often its rows are samples with their label."""
    takes = math.prod(spec.sample)
    if shape[1] != takes + 1 or sum(n > 1 for n in spec.sample) > 1:
        return shape_message(shape, spec)
    return (
        f"wrong shape {shape}: rows have {shape[1]} values, the input takes {takes}; "
        "is one column a label?"
    )


def _row_is_sample(row: list[float], spec: InputSpec) -> bool:
    return len(row) == math.prod(spec.sample) and sum(n > 1 for n in spec.sample) <= 1


def _ragged(path: Path, line: int, row: list[float], first: list[float]) -> CalibrationError:
    return CalibrationError(
        f"{path}, line {line}: {len(row)} columns, and {len(first)} in the first row; "
        "give all rows as many"
    )


def _rows(path: Path) -> Iterator[tuple[int, list[float]]]:
    """The line number and the numbers of each row that is neither blank nor the header."""
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
                return
            if not any(cell.strip() for cell in cells):
                continue
            if not (header_possible and not any(map(_is_number, cells))):
                yield reader.line_num, _numbers(cells, path, reader.line_num)
            header_possible = False


def _numbers(cells: list[str], path: Path, line: int) -> list[float]:
    for column, cell in enumerate(cells, 1):
        if not _is_number(cell):
            raise CalibrationError(
                f"{path}, line {line}, column {column}: '{cell[:40]}' is not a number; "
                "leave only the input's values in the file"
            )
    return [float(cell) for cell in cells]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _count(path: Path, request: Request) -> int:
    rows = _rows(path)
    first = next(rows, None)
    if first is None or not _row_is_sample(first[1], request.only):
        return 1
    return 1 + sum(1 for _ in rows)


CSV = Kind("csv", (".csv",), _read, _count)
