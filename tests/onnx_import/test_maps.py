"""Maps as inputs: rows that a dict or an array fills."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import edgekit
from edgekit.toolkit.errors import UserError

WORDS = ["hot", "cold", "wet"]


def model_of(op, key, value, shape=(None, None), output=TensorProto.FLOAT, **attrs):
    row = helper.make_node(op, ["x"], ["row"], domain="ai.onnx.ml", **attrs)
    twice = helper.make_node("Add", ["row", "row"], ["y"])
    x = helper.make_value_info(
        "x", helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, ()))
    )
    y = helper.make_tensor_value_info("y", output, (None, None))
    made = helper.make_tensor_value_info("row", output, shape)
    graph = helper.make_graph([row, twice], "g", [x], [y], value_info=[made])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def opened(model, tmp_path):
    onnx.save(model, tmp_path / "m.onnx")
    edgekit.convert(tmp_path / "m.onnx", tmp_path / "m.edge")
    return edgekit.Session(tmp_path / "m.edge")


def truth(model, x):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]


@pytest.mark.parametrize(
    ("attrs", "key", "value", "given"),
    [
        ({"string_vocabulary": WORDS}, TensorProto.STRING, TensorProto.FLOAT, {"wet": 2.5}),
        ({"string_vocabulary": WORDS}, TensorProto.STRING, TensorProto.FLOAT,
         {"cold": -1.0, "unknown": 7.0, "hot": 3.0}),
        ({"int64_vocabulary": [7, -2]}, TensorProto.INT64, TensorProto.FLOAT, {-2: 4.0, 7: 0.5}),
        ({"string_vocabulary": WORDS}, TensorProto.STRING, TensorProto.INT64, {"cold": 9}),
    ],
)  # fmt: skip
def test_a_vocabulary_is_a_row(tmp_path, attrs, key, value, given):
    model = model_of("DictVectorizer", key, value, output=value, **attrs)
    session = opened(model, tmp_path)
    # The binding of onnxruntime takes no integers as values.
    whole = value == TensorProto.INT64
    want = np.array([[0, 18, 0]]) if whole else truth(model, given)
    assert session.inputs[0].labels == tuple(map(str, next(iter(attrs.values()))))
    np.testing.assert_array_equal(session.run({"x": given})["y"], want)
    np.testing.assert_array_equal(session.run({"x": want // 2 if whole else want / 2})["y"], want)


@pytest.mark.parametrize("to", ["TO_FLOAT", "TO_INT64"])
def test_keys_are_columns_of_a_sparse_map(tmp_path, to):
    output = TensorProto.FLOAT if to == "TO_FLOAT" else TensorProto.INT64
    model = model_of("CastMap", TensorProto.INT64, TensorProto.FLOAT, output=output,
                     map_form="SPARSE", max_map=4, cast_to=to)  # fmt: skip
    given = {1: 3.0, 3: -2.0}
    session = opened(model, tmp_path)
    np.testing.assert_array_equal(session.run({"x": given})["y"], truth(model, given))


def test_values_of_a_dense_map_are_a_row_of_the_declared_length(tmp_path):
    model = model_of("CastMap", TensorProto.INT64, TensorProto.FLOAT, shape=(1, 3))
    session = opened(model, tmp_path)
    want = truth(model, {5: 1.0, 2: 7.0, 9: 3.0})
    values = np.array([[7, 1, 3]], np.float32)  # in the order of the keys
    np.testing.assert_array_equal(session.run({"x": values})["y"], want)
    with pytest.raises(UserError, match="columns have no names; give an array"):
        session.run({"x": {5: 1.0}})


def test_a_map_is_checked_against_onnxruntime(tmp_path):
    model = model_of("DictVectorizer", TensorProto.STRING, TensorProto.FLOAT,
                     string_vocabulary=WORDS)  # fmt: skip
    opened(model, tmp_path)
    samples = {"x": np.random.default_rng(0).normal(size=(4, 1, 3)).astype(np.float32)}
    np.savez(tmp_path / "x.npz", **samples)
    report = edgekit.check(tmp_path / "m.edge", tmp_path / "m.onnx", tmp_path / "x.npz")
    assert report.outputs[0].max_abs_error == 0


@pytest.mark.parametrize(
    ("op", "value", "attrs", "why"),
    [
        ("CastMap", TensorProto.FLOAT, {}, "does not say how many values"),
        ("CastMap", TensorProto.FLOAT, {"map_form": "SPARSE", "max_map": 2, "cast_to": "TO_STRING"},
         "makes strings"),
        ("CastMap", TensorProto.STRING, {"map_form": "SPARSE", "max_map": 2}, "of type string"),
        ("DictVectorizer", TensorProto.FLOAT, {"int64_vocabulary": [1, 1]}, "different keys"),
    ],
)  # fmt: skip
def test_maps_of_other_shapes_are_refused_in_words(tmp_path, op, value, attrs, why):
    with pytest.raises(UserError, match=f"x.*{why}"):
        opened(model_of(op, TensorProto.INT64, value, **attrs), tmp_path)


def test_a_map_that_two_read_is_refused(tmp_path):
    model = model_of("DictVectorizer", TensorProto.STRING, TensorProto.FLOAT,
                     string_vocabulary=WORDS)  # fmt: skip
    model.graph.node.add().CopyFrom(model.graph.node[0])
    model.graph.node[2].output[0] = "other"
    with pytest.raises(UserError, match="only one DictVectorizer or CastMap may read a map"):
        opened(model, tmp_path)
