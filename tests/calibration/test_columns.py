"""Inputs by name: columns of a table, and strings that a model tells apart."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgekit import check, quantize
from edgekit.calibration import CalibrationError, InputSpec, load_labels, open_samples

CITIES = ("rome", "oslo", "lima")
SPECS = (
    InputSpec("age", (1, 1), np.float32, missing=True),
    InputSpec("city", (1, 1), np.int64, texts=CITIES),
    InputSpec("kids", (1, 1), np.int64),
)
TABLE = "city,age,y,kids\nlima,31.5,0,2\noslo,,1,0\nbern,70,0,1\n"
WANT = {"age": [31.5, np.nan, 70], "city": [2, 1, 3], "kids": [2, 0, 1]}


def stacked(samples):
    feeds = list(samples)
    return {n: np.concatenate([f[n] for f in feeds]).ravel() for n in feeds[0]}


def same(samples):
    found = stacked(samples)
    for name, want in WANT.items():
        np.testing.assert_array_equal(found[name], want)
    return samples


def test_a_row_is_a_sample_of_inputs_that_the_header_names(tmp_path):
    (tmp_path / "x.csv").write_text(TABLE)
    samples = same(open_samples(tmp_path / "x.csv", SPECS))
    assert samples.request.ignored == {"y"}
    assert load_labels(samples, "y").classes.tolist() == [0, 1, 0]


def test_files_in_a_folder_are_tables_too(tmp_path):
    head, *rows = TABLE.splitlines()
    for i, row in enumerate(rows):
        (tmp_path / f"{i}.csv").write_text(f"{head}\n{row}\n")
    same(open_samples(tmp_path, SPECS))


TEXTS = ["lima", "oslo", "bern"]


@pytest.mark.parametrize("city", [np.array(TEXTS), np.array(TEXTS, "S"), np.array(TEXTS, object),
                                  TEXTS, np.array([2, 1, 3])])  # fmt: skip
def test_strings_are_the_numbers_of_those_that_the_model_knows(tmp_path, city):
    arrays = {**{n: np.array(v) for n, v in WANT.items()}, "city": city}
    same(open_samples(arrays, SPECS))
    same(open_samples([{n: v[i : i + 1] for n, v in arrays.items()} for i in range(3)], SPECS))
    if np.asarray(city).dtype.kind != "O":
        np.savez(tmp_path / "x.npz", **arrays)
        same(open_samples(tmp_path / "x.npz", SPECS))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("city,age\nlima,1\n", "'kids' is missing; the model has 'age', 'city', 'kids', found"),
        ("1,2,3\n", "inputs 'age', 'city', 'kids' are missing"),
        ("city,age,kids\nlima,1,2\nlima,1\n", "line 3: 2 columns, and 3 in the first row"),
        ("city,age,kids\nlima,x,2\n", "line 2, input 'age': 'x' is not a number"),
        ("city,age,kids\nlima,1,2.5\n", "no whole numbers"),
    ],
)
def test_tables_that_do_not_fit_are_refused(tmp_path, text, told):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(CalibrationError, match=told):
        list(open_samples(tmp_path / "x.csv", SPECS))


def test_inputs_of_several_values_are_no_columns(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    specs = [InputSpec("a", (1, 3), np.float32), InputSpec("b", (1, 1), np.float32)]
    with pytest.raises(
        CalibrationError, match=r"'a' takes 3 values, but a table column .* \.npz files"
    ):
        list(open_samples(tmp_path / "x.csv", specs))


def test_objects_for_strings_are_to_be_saved_as_strings(tmp_path):
    np.savez(tmp_path / "x.npz", age=np.ones(3), kids=np.ones(3), city=np.array(TEXTS, object))
    with pytest.raises(CalibrationError, match=r"\.astype\(str\)"):
        list(open_samples(tmp_path / "x.npz", SPECS))


def test_a_model_of_strings_is_quantized_and_checked_by_strings(tmp_path):
    hot = helper.make_node(
        "OneHotEncoder", ["city"], ["hot"], domain="ai.onnx.ml", cats_strings=CITIES, zeros=1
    )
    nodes = [
        hot,
        helper.make_node("Reshape", ["hot", "flat"], ["cities"]),
        helper.make_node("Concat", ["cities", "age"], ["x"], axis=1),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("age", TensorProto.FLOAT, [None, 1]),
        helper.make_tensor_value_info("city", TensorProto.STRING, [None, 1]),
    ]
    weights = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    made = [
        helper.make_tensor("w", TensorProto.FLOAT, weights.shape, weights.ravel()),
        helper.make_tensor("flat", TensorProto.INT64, [2], [-1, 3]),
    ]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])
    graph = helper.make_graph(nodes, "g", inputs, [out], made)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    path = tmp_path / "m.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    )
    rng = np.random.default_rng(1)
    age, city = rng.normal(size=(40, 1)).astype(np.float32), rng.choice(CITIES, (40, 1))
    rows = "".join(f"{c},{a}\n" for c, a in zip(city[:, 0], age[:, 0].tolist(), strict=True))
    (tmp_path / "x.csv").write_text("city,age\n" + rows)
    numbers = np.vectorize(CITIES.index)(city)
    quantize(path, tmp_path / "x.csv", tmp_path / "a.edge")
    quantize(path, {"age": age, "city": numbers}, tmp_path / "b.edge")
    whole = onnxruntime.InferenceSession(str(path)).run(None, {"age": age, "city": city})[0]
    for name in "ab":
        report = check(tmp_path / f"{name}.edge", path, {"age": age, "city": city})
        assert report.outputs[0].sqnr_db > 30
        np.testing.assert_allclose(report.outputs[0].max_abs_error, 0, atol=np.ptp(whole) / 50)
