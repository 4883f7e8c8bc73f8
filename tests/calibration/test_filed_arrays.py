import tempfile
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from edgekit.calibration import ArrayFile, CalibrationError, FiledArrays, FiledRows, filed_arrays
from edgekit.calibration.filed_arrays import LEAST_BYTES, LEAST_ROWS_BYTES

LARGE = np.arange(LEAST_BYTES, dtype=np.float32).reshape(16, -1)
SMALL = np.arange(6, dtype=np.int8).reshape(2, 3)


def test_arrays_are_what_they_were_and_read_only():
    arrays = FiledArrays(None, {"large": LARGE.T, "small": SMALL, "empty": LARGE[:0]})
    for name, array in (("large", LARGE.T), ("small", SMALL), ("empty", LARGE[:0])):
        found = arrays[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert type(found) is np.ndarray and not found.flags.writeable
        np.testing.assert_array_equal(found, array)
    assert arrays.nbytes == LARGE.nbytes + SMALL.nbytes


def test_dicts_that_share_a_file_hold_arrays_of_their_own():
    file = ArrayFile()
    first, second = FiledArrays(file, {0: LARGE}), FiledArrays(file, {0: LARGE + 1})
    first[0], first[1] = LARGE + 2, SMALL
    np.testing.assert_array_equal(first[0], LARGE + 2)
    np.testing.assert_array_equal(second[0], LARGE + 1)
    chosen = first.numbered([1, 0])
    np.testing.assert_array_equal(chosen[0], SMALL)
    np.testing.assert_array_equal(chosen[1], LARGE + 2)
    del first[0]
    assert list(first) == [1] and first.nbytes == SMALL.nbytes
    assert chosen.nbytes == SMALL.nbytes + LARGE.nbytes


def test_threads_may_share_a_file():
    file = ArrayFile()
    arrays = [FiledArrays(file) for _ in range(8)]

    def fill(i):
        for k in range(50):
            arrays[i][k] = LARGE + (50 * i + k)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fill, range(8)))
    for i, k in np.ndindex(8, 50):
        np.testing.assert_array_equal(arrays[i][k], LARGE + (50 * i + k))


def test_what_is_read_outlives_its_file():
    arrays = FiledArrays(None, {"large": LARGE})
    found = arrays["large"]
    del arrays
    np.testing.assert_array_equal(found, LARGE)


@pytest.mark.parametrize("size", [LEAST_BYTES, 1 << 20])
def test_what_is_read_stays_when_its_file_serves_again(size):
    array = np.arange(size)
    arrays = FiledArrays(None, {"first": array})
    found = arrays["first"]
    del arrays
    others = [FiledArrays(None, {"other": array + i}) for i in range(1, 6)]
    np.testing.assert_array_equal(found, array)
    for i, other in enumerate(others, 1):
        np.testing.assert_array_equal(other["other"], array + i)
    del found, other, others
    assert 0 < len(filed_arrays._spare) <= 4
    arrays = FiledArrays(None, {"second": array - 1})
    np.testing.assert_array_equal(arrays["second"], array - 1)


def test_a_lookup_reads_nothing(monkeypatch):
    arrays = FiledArrays(None, {"large": LARGE})
    monkeypatch.setattr(ArrayFile, "read", None)
    assert "large" in arrays and "small" not in arrays


def test_large_arrays_are_not_held_in_memory():
    tracemalloc.start()
    try:
        arrays = FiledArrays()
        for i in range(64):
            arrays[i] = LARGE + i
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 2 * LARGE.nbytes


def test_small_arrays_need_no_file_and_large_ones_name_the_remedy(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    monkeypatch.setattr(filed_arrays, "_spare", [])
    arrays = FiledArrays(None, {"small": SMALL})
    with pytest.raises(CalibrationError, match="TMPDIR"):
        arrays["large"] = LARGE


@pytest.mark.parametrize("width", [3, LEAST_ROWS_BYTES])
def test_rows_are_read_in_other_parts_than_they_were_written(width):
    whole = np.random.default_rng(0).integers(-128, 128, (11, width)).astype(np.int8)
    rows = FiledRows(len(whole))
    for first, stop in ((0, 4), (4, 5), (5, 11)):
        rows.write(first, whole[first:stop])
    for first, stop in ((0, 11), (3, 7), (10, 11)):
        found = rows.read(first, stop)
        assert found.dtype == whole.dtype
        np.testing.assert_array_equal(found, whole[first:stop])
    np.testing.assert_array_equal(rows.read(1, 9, 3), whole[1:9:3])


def test_rows_name_the_remedy_where_no_file_can_be_made(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    monkeypatch.setattr(filed_arrays, "_spare", [])
    with pytest.raises(CalibrationError, match="TMPDIR"):
        FiledRows(LEAST_ROWS_BYTES).write(0, LARGE)
