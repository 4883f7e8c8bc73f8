"""The shapes of arrays of samples are read from their headers alone."""

import numpy as np

from edgekit.calibration import array_shapes


def test_of_files_folders_and_memory(tmp_path):
    x, y = np.zeros((5, 3, 4), np.float32), np.zeros(5, np.int64)
    np.savez(tmp_path / "a.npz", x=x, y=y)
    known = {"x": (5, 3, 4), "y": (5,)}
    assert array_shapes(tmp_path / "a.npz") == array_shapes({"x": x, "y": y}) == known
    folder = tmp_path / "folder"
    folder.mkdir()
    assert array_shapes(folder) == {}
    (folder / "notes.txt").write_text("none")
    np.save(folder / "0.npy", x)
    assert array_shapes(folder) == {"": (5, 3, 4)}


def test_of_what_holds_none(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK no archive")
    assert array_shapes(tmp_path / "bad.npz") == array_shapes(tmp_path / "none.npz") == {}
    assert array_shapes(x for x in ()) == {}
