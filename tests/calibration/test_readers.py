"""Each kind of file, sound and broken."""

import io
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from edgekit.calibration import (
    CalibrationError,
    InputSpec,
    load_labels,
    load_others,
    open_samples,
)

from .sample_files import error_of, read

# Folders


def test_a_missing_path_is_an_error(tmp_path):
    assert "does not exist; give the path of a folder" in error_of(tmp_path / "no", (1, 3))


def test_an_empty_folder_is_an_error(tmp_path):
    assert "is empty; put samples in it (.npy, .npz" in error_of(tmp_path, (1, 3))


def test_a_folder_without_samples_lists_what_it_has(tmp_path):
    for name in ("a.txt", "b.txt", "c.pt", "README"):
        (tmp_path / name).touch()
    assert "contains no samples, only 1 .pt, 2 .txt, 1 no suffix" in error_of(tmp_path, (1, 3))


def test_a_mixed_folder_lists_its_kinds(tmp_path):
    for name in ("a.npy", "b.png", "c.jpg", "notes.txt"):
        (tmp_path / name).touch()
    message = error_of(tmp_path, (1, 3))
    assert "contains samples of several kinds: 2 image, 1 npy; keep one kind" in message


def test_another_file_is_an_error(tmp_path):
    (tmp_path / "x.pt").touch()
    assert "not a file of samples; supported: .npy" in error_of(tmp_path / "x.pt", (1, 3))


# npy and npz


@pytest.mark.parametrize("suffix", ["npy", "npz", "png", "jpg", "wav"])
@pytest.mark.parametrize("content", [b"", b"garbage that is no file of any kind at all"])
def test_a_corrupt_file_is_named(tmp_path, suffix, content):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(content)
    message = error_of(path, (1, 3, 4, 6) if suffix in ("png", "jpg") else (1, 3))
    assert str(path) in message and "write it again or remove it" in message


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_truncated_array_is_an_error(tmp_path, suffix, keep):
    path = tmp_path / f"x.{suffix}"
    array = np.random.default_rng(0).normal(size=(50, 3))
    np.save(path, array) if suffix == "npy" else np.savez_compressed(path, x=array)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    assert "truncated" in error_of(path, (1, 3))
    if suffix == "npy":  # known before any value is read
        with pytest.raises(CalibrationError, match="truncated"):
            len(open_samples(path, [InputSpec("x", (1, 3), np.float32)]))


def test_a_damaged_member_is_an_error(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32))
    content = bytearray(path.read_bytes())
    content[400] ^= 1
    path.write_bytes(content)
    assert "Bad CRC-32" in error_of(path, (1, 3))


def test_pickles_are_not_read(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    assert "pickled Python objects are not read" in error_of(tmp_path / "x.npy", (1, 3))
    np.savez(tmp_path / "x.npz", x=np.array([{}], object))
    assert "array 'x': wrong dtype object" in error_of(tmp_path / "x.npz", (1, 3))


def test_records_are_not_read(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3, [("a", "f4")]))
    assert "wrong dtype" in error_of(tmp_path / "x.npy", (1, 3))


def test_an_array_without_samples_is_an_error(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((0, 3), np.float32))
    assert "array 'x': 0 samples" in error_of(tmp_path / "x.npz", (1, 3))


def test_an_npz_of_unequal_arrays_is_an_error(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((5, 3)), y=np.zeros((6, 2)))
    specs = [InputSpec("x", (1, 3), np.float32), InputSpec("y", (1, 2), np.float32)]
    with pytest.raises(CalibrationError, match="different numbers of samples: 'x' 5, 'y' 6"):
        list(open_samples(tmp_path / "x.npz", specs))


def test_nan_in_a_file_names_file_and_sample(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.array([[1, 2], [3, np.nan]]))
    assert "x.npz, sample 1, input 'x': 1 NaN and 0" in error_of(tmp_path / "x.npz", (1, 2))


def test_scalars_come_from_a_vector(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    assert [x.tolist() for x in read(tmp_path / "x.npy", (1,))] == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("suffix", "module", "package"),
    [("png", "PIL.Image", "pillow"), ("wav", "scipy.io.wavfile", "scipy")],
)
def test_a_missing_package_is_named(tmp_path, monkeypatch, suffix, module, package):
    (tmp_path / f"x.{suffix}").touch()
    monkeypatch.setitem(sys.modules, module, None)
    assert f"pip install {package}" in error_of(tmp_path / f"x.{suffix}", (1, 3, 4, 6))


# Sounds


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (np.int16, [0, 16384, -32768, 32767]),
        (np.uint8, [128, 192, 0, 255]),
        (np.int32, [0, 1 << 30, -(1 << 31), (1 << 31) - 1]),
    ],
)
@pytest.mark.parametrize("shape", [(1, 4), (1, 4, 1), (1, 1, 4)])
def test_sounds_are_from_minus_one_to_one(tmp_path, dtype, values, shape):
    wavfile.write(tmp_path / "x.wav", 8000, np.array(values, dtype))
    (x,) = read(tmp_path / "x.wav", shape)
    assert x.shape == shape
    assert x.ravel()[:3].tolist() == [0, 0.5, -1]
    assert 0.99 < x.ravel()[3] <= 1


def test_sounds_stay_integers_for_an_integer_input(tmp_path):
    wavfile.write(tmp_path / "x.wav", 8000, np.array([0, -5, 7], np.int16))
    assert read(tmp_path / "x.wav", (1, 3), np.int16)[0].tolist() == [[0, -5, 7]]


def test_sounds_that_do_not_fit_say_why(tmp_path):
    path = tmp_path / "x.wav"
    wavfile.write(path, 8000, np.zeros(5, np.int16))
    assert "has 5 values, input 'x' takes 4; cut the file" in error_of(path, (1, 4))
    assert "input 'x' takes 6; pad the file" in error_of(path, (1, 6))
    assert "compute the features" in error_of(path, (1, 49, 10))
    wavfile.write(path, 8000, np.zeros((5, 2), np.int16))
    assert "has 2 channels, input 'x' takes one; mix it down" in error_of(path, (1, 5))


def test_a_truncated_sound_is_an_error(tmp_path):
    path = tmp_path / "x.wav"
    wavfile.write(path, 8000, np.zeros(500, np.int16))
    path.write_bytes(path.read_bytes()[:300])
    assert "cannot be read as a .wav file" in error_of(path, (1, 500))


def test_unknown_chunks_of_a_sound_do_not_matter(tmp_path):
    path = tmp_path / "x.wav"
    wavfile.write(path, 8000, np.zeros(4, np.int16))
    content = path.read_bytes() + b"abcd" + struct.pack("<I", 2) + b"xy"
    path.write_bytes(content[:4] + struct.pack("<I", len(content) - 8) + content[8:])
    assert read(path, (1, 4))[0].tolist() == [[0, 0, 0, 0]]


# Tables


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3\n4,5,6\n",
        "a,b,c\n\n1,2,3\r\n4,5,6",
        "1;2;3\n4;5;6\n",
        "\ufeff1\t2\t3\n4\t5\t6\n",
        '"1","2","3"\n4, 5, 6\n',
    ],
)
def test_a_row_is_a_sample_of_its_length(tmp_path, text):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    samples = open_samples(tmp_path / "x.csv", [InputSpec("x", (1, 3), np.float32)])
    assert len(samples) == 2
    assert [f["x"].tolist() for f in samples] == [[[1, 2, 3]], [[4, 5, 6]]]


@pytest.mark.parametrize("shape", [(1, 2, 3), (1, 2, 3, 1), (1, 1, 2, 3)])
def test_else_a_file_is_a_sample(tmp_path, shape):
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text("1,2,3\n4,5,6\n")
    samples = open_samples(tmp_path, [InputSpec("x", shape, np.float32)])
    assert len(samples) == 2
    assert all(f["x"].ravel().tolist() == [1, 2, 3, 4, 5, 6] for f in samples)
    assert "wrong shape (2, 3); expected (1, 3, 2)" in error_of(tmp_path, (1, 3, 2))


def test_a_column_is_one_sample(tmp_path):
    (tmp_path / "x.csv").write_text("value\n1\n2\n3\n")
    assert read(tmp_path / "x.csv", (1, 3))[0].tolist() == [[1, 2, 3]]
    assert len(read(tmp_path / "x.csv", (1, 1))) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n4,x,6\n", "line 2, column 2: 'x' is not a number"),
        ("1,2,3\n4,,6\n", "line 2, column 2: '' is not a number"),
        ("a,2,3\n4,5,6\n", "line 1, column 1: 'a' is not a number"),
        ("1,2,3\n4,5\n", "line 2: 2 columns, and 3 in the first row"),
        ("1,2,3\n4,nan,6\n", "line 2, input 'x': 1 NaN"),
        ("1,2\n3,4\n", "wrong shape (2, 2); expected (1, 3)"),
        ("a,b,c\n", "0 samples"),
        ("", "0 samples"),
    ],
)
def test_a_faulty_table_names_the_place(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    assert message in error_of(tmp_path / "x.csv", (1, 3))


def test_a_table_in_another_encoding_is_an_error(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"1,2,3\n\xff\xfe,2,3\n")
    assert "cannot be read as a .csv file" in error_of(tmp_path / "x.csv", (1, 3))


def test_a_label_column_is_asked_for_and_every_row_counted(tmp_path):
    np.savetxt(tmp_path / "x.csv", np.ones((128, 65)), delimiter=",")
    says = r"wrong shape \(128, 65\): rows have 65 values, the input takes 64; is one column"
    with pytest.raises(CalibrationError, match=says):
        list(open_samples(tmp_path / "x.csv", [InputSpec("x", (1, 64), np.float32)]))


def test_an_array_in_fortran_order_is_held_against_a_limit_before_it_is_read(tmp_path):
    """Only its head is there: of the rest nothing is looked at, and nothing allocated."""
    spec = InputSpec("x", (1, 1 << 10), np.float32)
    for stem, wrap in (("y", None), ("z", zipfile.ZipFile)):
        head = {"descr": "<f4", "fortran_order": True, "shape": (1 << 20, 1 << 10)}
        content = io.BytesIO()
        np.lib.format.write_array_header_1_0(content, head)
        path = tmp_path / f"x.np{stem}"
        if wrap is None:
            path.write_bytes(content.getvalue())
        else:
            with wrap(path, "w") as archive:
                archive.writestr("x.npy", content.getvalue())
        with pytest.raises(CalibrationError, match=r"4,294,967,296 bytes in Fortran order"):
            list(open_samples(path, [spec]))


def test_a_shape_below_zero_is_a_fault_of_the_file(tmp_path):
    with (tmp_path / "x.npy").open("wb") as file:
        head = {"descr": "<f4", "fortran_order": False, "shape": (-1, 3)}
        np.lib.format.write_array_header_1_0(file, head)
    with pytest.raises(CalibrationError, match="cannot be read as an array"):
        list(open_samples(tmp_path / "x.npy", [InputSpec("x", (1, 3), np.float32)]))


def test_arrays_beside_the_inputs_are_held_against_a_limit(tmp_path):
    content = io.BytesIO()
    head = {"descr": "|u1", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(content, head)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("label.npy", content.getvalue())
    spec = InputSpec("x", (1, 3), np.float32)
    for load in (
        lambda: load_others(tmp_path / "x.npz", [spec]),
        lambda: load_labels(open_samples(tmp_path / "x.npz", [spec]), "label"),
    ):
        with pytest.raises(CalibrationError, match=r"array 'label'.*at most 1,073,741,824"):
            load()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize("name", ["x.csv", "x.wav", "x.png", "x.npy", "x.npz"])
def test_a_device_is_no_file_of_samples(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/zero")
    spec = InputSpec("x", (1, 1, 8, 8) if name == "x.png" else (1, 64), np.float32)
    with pytest.raises(CalibrationError, match=rf"{name}: is not a regular file"):
        list(open_samples(tmp_path / name, [spec]))


@pytest.mark.parametrize("name", ["x.csv", "x.wav", "x.png"])
def test_a_file_larger_than_any_sample_is_not_read(tmp_path, name):
    with (tmp_path / name).open("wb") as sparse:
        sparse.truncate(1 << 40)
    spec = InputSpec("x", (1, 1, 8, 8) if name == "x.png" else (1, 64), np.float32)
    with pytest.raises(CalibrationError, match=r"has 1,099,511,627,776 bytes, and a.* at most"):
        list(open_samples(tmp_path / name, [spec]))
