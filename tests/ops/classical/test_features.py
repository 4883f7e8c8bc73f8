"""Encoders and other feature operators of ai.onnx.ml against onnxruntime; strings are labels."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

ML = {"domain": "ai.onnx.ml"}
TEXTS = np.array([["red", "green"], ["blue", "red"], ["nothing", "blue"]], object)
CODE = {"O": 8, "f": 1, "i": 7}


def model_of(nodes, feed, outputs, version=3):
    ports = []
    for name, code in outputs.items():
        ports.append(onnx.ValueInfoProto(name=name))
        if isinstance(code, onnx.TypeProto):
            ports[-1].type.CopyFrom(code)
        else:
            ports[-1].type.tensor_type.elem_type = code
    inputs = [
        helper.make_tensor_value_info(n, CODE[a.dtype.kind], a.shape) for n, a in feed.items()
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)]
    graph = helper.make_graph(nodes, "g", inputs, ports)
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def run(nodes, feed, outputs, version=3):
    """Both answers by output name."""
    model = model_of(nodes, feed, outputs, version)
    theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
    ours = Session(build_file(load(model))).run(feed)
    return ours, dict(zip(outputs, theirs, strict=True))


def agree(op, feed, code, version=3, **attrs):
    node = helper.make_node(op, list(feed), ["y"], **ML, **attrs)
    ours, theirs = run([node], feed, {"y": code}, version)
    assert ours["y"].shape == theirs["y"].shape
    if code == 8:
        assert ours["y"].dtype.kind == "U"
        np.testing.assert_array_equal(ours["y"].astype(object), theirs["y"])
    else:
        assert ours["y"].dtype == theirs["y"].dtype
        np.testing.assert_allclose(ours["y"], theirs["y"], rtol=1e-6)


INTS = np.array([[3, -7], [5, 100], [4, 3]], np.int64)
FLOATS = np.array([[0.5, np.nan], [-2.0, 7.0], [-0.0, 0.0]], np.float32)
KEYS = [
    (TEXTS, {"keys_strings": ["red", "blue", "green"]}),
    (INTS, {"keys_int64s": [3, 5, -7]}),
    (INTS, {"keys_int64s": [3, 100000, -7]}),
    (FLOATS, {"keys_floats": [0.5, 7.0, 0.0]}),
    (FLOATS, {"keys_floats": [0.5, float("nan"), -2.0]}),
]
VALUES = [
    (8, {"values_strings": ["one", "two", "one"], "default_string": "none"}),
    (7, {"values_int64s": [10, -20, 30], "default_int64": 5}),
    (1, {"values_floats": [0.5, 1.5, -1.0], "default_float": 9.0}),
]


@pytest.mark.parametrize(("x", "keys"), KEYS)
@pytest.mark.parametrize(("code", "values"), VALUES)
def test_labels_are_encoded(x, keys, code, values):
    agree("LabelEncoder", {"x": x}, code, 2, **keys, **values)


def test_labels_are_encoded_by_tensors():
    keys = helper.make_tensor("keys", 8, [3], [b"red", b"blue", b"x"])
    values = helper.make_tensor("values", 7, [3], [4, 5, 6])
    default = helper.make_tensor("default", 7, [1], [-9])
    node = helper.make_node("LabelEncoder", ["x"], ["y"], **ML, keys_tensor=keys,
                            values_tensor=values, default_tensor=default)  # fmt: skip
    model = model_of([node], {"x": TEXTS}, {"y": 7}, 4)
    got = Session(build_file(load(model))).run({"x": TEXTS})["y"]
    np.testing.assert_array_equal(got, [[4, -9], [5, 4], [-9, 5]])


def test_nan_is_a_key_from_version_4_on():
    node = helper.make_node("LabelEncoder", ["x"], ["y"], **ML, keys_floats=[0.5, np.nan],
                            values_floats=[1.0, 2.0], default_float=3.0)  # fmt: skip
    model = model_of([node], {"x": FLOATS}, {"y": 1}, 4)
    got = Session(build_file(load(model))).run({"x": FLOATS})["y"]
    np.testing.assert_array_equal(got, [[1, 2], [3, 3], [3, 3]])


def test_the_first_label_encoder_goes_both_ways():
    classes = ["red", "green", "blue"]
    agree("LabelEncoder", {"x": TEXTS}, 7, 1, classes_strings=classes, default_int64=-3)
    x = np.array([[0, 2], [7, 1]], np.int64)
    agree("LabelEncoder", {"x": x}, 8, 1, classes_strings=classes, default_string="?")


def test_categories_are_mapped_both_ways():
    attrs = {"cats_strings": ["red", "blue"], "cats_int64s": [5, 3]}
    agree("CategoryMapper", {"x": TEXTS}, 7, **attrs, default_int64=-2)
    agree("CategoryMapper", {"x": INTS}, 8, **attrs, default_string="none")


def test_categories_become_columns():
    agree("OneHotEncoder", {"x": TEXTS}, 1, cats_strings=["blue", "red", "grey"])
    agree("OneHotEncoder", {"x": INTS}, 1, cats_int64s=[3, 5, 9])


def test_missing_values_are_filled_in():
    values = [1.0, 2.0]
    agree("Imputer", {"x": FLOATS}, 1, imputed_value_floats=values, replaced_value_float=np.nan)
    agree("Imputer", {"x": FLOATS}, 1, imputed_value_floats=[8.0], replaced_value_float=7.0)
    agree("Imputer", {"x": INTS}, 7, imputed_value_int64s=[8, 9], replaced_value_int64=3)


def test_values_are_compared_with_a_threshold():
    agree("Binarizer", {"x": FLOATS[1:]}, 1, threshold=0.25)


def test_columns_are_put_together():
    feed = {"a": INTS[:, :1], "b": INTS}
    agree("FeatureVectorizer", feed, 1, inputdimensions=[1, 2])


@pytest.mark.parametrize(
    "labels", [{"classlabels_strings": ["no", "yes"]}, {"classlabels_int64s": [7, 3]}]
)
def test_a_zip_map_names_the_columns_of_its_input(labels):
    (names,) = labels.values()
    kind = helper.make_tensor_type_proto(1, [])
    key = onnx.TensorProto.STRING if isinstance(names[0], str) else onnx.TensorProto.INT64
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(key, kind))
    node = helper.make_node("ZipMap", ["x"], ["y"], **ML, **labels)
    x = np.array([[0.25, 0.75], [1.0, 0.0]], np.float32)
    model = model_of([node], {"x": x}, {"y": maps})
    (theirs,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    data = build_file(load(model))
    session = Session(data)
    assert session.outputs[0].labels == tuple(str(n) for n in names)
    assert read(data).outputs[0].labels == session.outputs[0].labels
    np.testing.assert_array_equal(
        session.run({"x": x})["y"], [[row[n] for n in names] for row in theirs]
    )


def test_a_classifier_answers_with_strings():
    labels = {"classlabels_strings": ["no", "maybe", "yes"]}
    attrs = {"coefficients": [1.0, 0.0, 0.0, 1.0, -1.0, -1.0], "intercepts": [0.0, 0.1, 0.2]}
    node = helper.make_node("LinearClassifier", ["x"], ["l", "p"], **ML, **labels, **attrs)
    feed = {"x": np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)}
    ours, theirs = run([node], feed, {"l": 8, "p": 1})
    np.testing.assert_array_equal(ours["l"].astype(object), theirs["l"])
    np.testing.assert_allclose(ours["p"], theirs["p"], rtol=1e-6)


def test_a_string_input_needs_strings_that_the_model_names():
    node = helper.make_node("Identity", ["x"], ["y"])
    with pytest.raises(UnsupportedError, match="names no strings"):
        load(model_of([node], {"x": TEXTS}, {"y": 8}))


def test_numbers_of_labels_serve_as_input():
    node = helper.make_node("OneHotEncoder", ["x"], ["y"], **ML, cats_strings=["blue", "red"])
    session = Session(build_file(load(model_of([node], {"x": TEXTS}, {"y": 1}))))
    assert session.inputs[0].labels == ("blue", "red") and session.inputs[0].is_text
    numbers = np.array([[1, 2], [0, 1], [2, 0]])
    both = [session.run({"x": x})["y"] for x in (TEXTS, numbers)]
    np.testing.assert_array_equal(*both)
