"""The class of each sample, where people keep it: folders, labels.csv, a column of a table."""

import numpy as np
import pytest
from PIL import Image

from edgekit.calibration import (
    CalibrationError,
    InputSpec,
    find_labels,
    load_labels,
    open_samples,
)

PICTURE = InputSpec("x", (1, 4, 4, 1), np.float32)
ROW = InputSpec("x", (1, 3), np.float32)


@pytest.fixture
def pictures(tmp_path):
    """Writes pictures by name, each of one gray; opens them as samples."""

    def write(*names, limit=None):
        for gray, name in enumerate(names):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((4, 4), gray, np.uint8)).save(path)
        return open_samples(tmp_path, [PICTURE], limit=limit)

    return write


def found(samples):
    key = find_labels(samples)
    labels = load_labels(samples, key)
    return key, labels.classes.tolist(), labels.names


def test_a_folder_is_a_class(pictures):
    samples = pictures("dog/a.png", "cat/b.png", "dog/deep/c.png")
    assert found(samples) == ("folders", [0, 1, 1], ("cat", "dog"))
    grays = [round(float(f["x"][0, 0, 0, 0] * 255)) for f in samples]
    assert grays == [1, 0, 2]  # in the order of the labels


def test_folders_that_are_numbers_are_the_models_classes(pictures):
    assert found(pictures("7/a.png", "10/b.png")) == ("folders", [10, 7], ())


def test_a_limit_takes_the_labels_of_what_is_read(pictures):
    samples = pictures("a/1.png", "a/2.png", "b/3.png", "b/4.png", limit=2)
    assert found(samples) == ("folders", [0, 1], ("a", "b"))


def test_one_folder_is_no_class(pictures):
    assert find_labels(pictures("all/a.png", "all/b.png")) is None


def test_a_sample_outside_every_folder_has_no_class(pictures):
    samples = pictures("a/a.png", "b/b.png", "c.png")
    assert find_labels(samples) is None
    with pytest.raises(CalibrationError, match="not every sample is in a class folder"):
        load_labels(samples, "folders")


def test_labels_csv_names_the_class_of_each_file(pictures, tmp_path):
    (tmp_path / "labels.csv").write_text("file,label\nb.png,dog\nsub/a.png,cat\nunused.png,cat\n")
    assert found(pictures("sub/a.png", "b.png")) == ("labels.csv", [1, 0], ("cat", "dog"))


def test_labels_csv_may_name_files_without_folder_or_suffix(pictures, tmp_path):
    pictures("sub/a.png", "b.png")
    (tmp_path / "truth.csv").write_text("b,3\na.png,2\n")
    samples = open_samples(tmp_path, [PICTURE], labels="truth.csv")
    assert load_labels(samples, "truth.csv").classes.tolist() == [3, 2]


def test_a_file_without_a_row_is_named(pictures, tmp_path):
    (tmp_path / "labels.csv").write_text("a.png,1\n")
    with pytest.raises(CalibrationError, match=r"labels\.csv: no row for 'b\.png'"):
        load_labels(pictures("a.png", "b.png"), "labels.csv")


@pytest.mark.parametrize(
    "text, key, classes, names",
    [
        ("a,b,c,species\n1,2,3,setosa\n4,5,6,iris\n", "species", [1, 0], ("iris", "setosa")),
        ("class;a;b;c\n2;1;2;3\n0;4;5;6\n", "class", [2, 0], ()),
        ("1,2,3,up\n4,5,6,down\n", "column 4", [1, 0], ("down", "up")),
    ],
)
def test_a_column_of_a_table_has_the_labels(tmp_path, text, key, classes, names):
    (tmp_path / "t.csv").write_text(text)
    samples = open_samples(tmp_path / "t.csv", [ROW])
    assert found(samples) == (key, classes, names)
    assert [f["x"].tolist() for f in samples] == [[[1, 2, 3]], [[4, 5, 6]]]
    assert samples.total == 2


def test_a_column_of_any_name_can_be_named(tmp_path):
    (tmp_path / "t.csv").write_text("kind,a,b,c\n1,1,2,3\n0,4,5,6\n")
    samples = open_samples(tmp_path / "t.csv", [ROW], labels="kind")
    assert load_labels(samples, "kind").classes.tolist() == [1, 0]
    assert [f["x"].tolist() for f in samples] == [[[1, 2, 3]], [[4, 5, 6]]]
    with pytest.raises(CalibrationError, match=r"is one column a label\? Name it"):
        list(open_samples(tmp_path / "t.csv", [ROW]))


def test_tables_of_a_folder_have_their_labels_together(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,c,label\n1,2,3,1\n")
    (tmp_path / "2.csv").write_text("a,b,c,label\n1,2,3,0\n1,2,3,2\n")
    assert found(open_samples(tmp_path, [ROW])) == ("label", [1, 0, 2], ())


def test_a_table_without_labels_has_none(tmp_path):
    (tmp_path / "t.csv").write_text("label,b,c\n1,2,3\n4,5,6\n")
    samples = open_samples(tmp_path / "t.csv", [ROW])
    assert find_labels(samples) is None
    assert [f["x"].tolist() for f in samples] == [[[1, 2, 3]], [[4, 5, 6]]]
    with pytest.raises(CalibrationError, match="labels 'kind': not found"):
        load_labels(samples, "kind")


def test_a_row_without_its_label_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,label\n1,2,3,x\n4,5,6\n")
    with pytest.raises(CalibrationError, match=r"t\.csv, line 3: the label column, 4, is missing"):
        load_labels(open_samples(tmp_path / "t.csv", [ROW]), "label")
    (tmp_path / "t.csv").write_text("a,b,c,label\n1,2,3,x\n4,5,6,\n")
    with pytest.raises(CalibrationError, match="column 'label': sample 1 has no label"):
        load_labels(open_samples(tmp_path / "t.csv", [ROW]), "label")


def test_labels_of_an_array_may_be_names():
    samples = open_samples({"x": np.zeros((2, 3)), "y": np.array(["b", "a"])}, [ROW])
    labels = load_labels(samples, "y")
    assert (labels.classes.tolist(), labels.names) == ([1, 0], ("a", "b"))
