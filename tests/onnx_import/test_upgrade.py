"""Old operator forms compute what onnxruntime computes for them."""

import numpy as np
import pytest
from onnx import helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(1, 4, 6, 6)).astype(np.float32)
PARAMETERS = {n: RNG.uniform(0.5, 1.5, 4).astype(np.float32) for n in ("s", "b", "m", "v")}
NORM = ["s", "b", "m", "v"]

OLD = [
    ("Clip", 7, {"min": -0.5, "max": 0.5}, {}),
    ("Clip", 7, {"max": 0.5}, {}),
    ("Pad", 7, {"pads": [0, 0, 1, 2, 0, 0, 0, 1], "value": 0.5}, {}),
    ("Pad", 7, {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "mode": "reflect"}, {}),
    ("Slice", 9, {"starts": [1, 0], "ends": [3, -1], "axes": [1, 3]}, {}),
    ("Slice", 9, {"starts": [0, 1], "ends": [1, 3]}, {}),
    ("Squeeze", 11, {"axes": [0]}, {}),
    ("Unsqueeze", 11, {"axes": [0, 3]}, {}),
    ("Split", 11, {"axis": 1, "split": [1, 3]}, {}),
    ("ReduceMean", 13, {"axes": [2, 3]}, {}),
    ("ReduceMax", 11, {"axes": [1], "keepdims": 0}, {}),
    ("ReduceSum", 11, {"axes": [-1]}, {}),
    ("Dropout", 7, {"ratio": 0.3}, {}),
    ("Softmax", 11, {"axis": 1}, {}),
    ("Softmax", 12, {"axis": -1}, {}),
    ("Softmax", 7, {}, {}),
    ("LogSoftmax", 11, {"axis": 2}, {}),
    ("Upsample", 7, {"scales": [1.0, 1.0, 2.0, 2.0]}, {}),
    ("Upsample", 9, {}, {"scales": np.array([1, 1, 2, 3], np.float32)}),
    ("Upsample", 9, {"mode": "linear"}, {"scales": np.array([1, 1, 2, 2], np.float32)}),
    ("Resize", 10, {}, {"scales": np.array([1, 1, 1.5, 2], np.float32)}),
    ("Resize", 10, {"mode": "linear"}, {"scales": np.array([1, 1, 2, 2], np.float32)}),
    ("BatchNormalization", 7, {}, PARAMETERS),
    ("BatchNormalization", 9, {"epsilon": 1e-3}, PARAMETERS),
    ("BatchNormalization", 14, {}, PARAMETERS),
    ("Flatten", 7, {"axis": 2}, {}),
    ("MaxPool", 7, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, {}),
    ("AveragePool", 7, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, {}),
    ("PRelu", 7, {}, {"slope": np.full((4, 1, 1), 0.2, np.float32)}),
]


@pytest.mark.parametrize("op, opset, attrs, constants", OLD, ids=lambda v: str(v)[:24])
def test_old_forms_mean_what_they_meant(make_model, agree, op, opset, attrs, constants):
    outputs = ["y", "z"] if op == "Split" else ["y"]
    node = helper.make_node(op, ["x", *constants], outputs, **attrs)
    model = make_model([node], {"x": IMAGE.shape}, outputs, constants, opset)
    agree(model, {"x": IMAGE})


def test_a_per_position_batch_normalization_is_refused(make_model):
    node = helper.make_node("BatchNormalization", ["x", *NORM], ["y"], spatial=0)
    model = make_model([node], {"x": IMAGE.shape}, ["y"], PARAMETERS, 7, infer=False)
    with pytest.raises(UnsupportedError, match="spatial=0"):
        load(model)


X3 = RNG.normal(size=(3, 3)).astype(np.float32)
X4 = RNG.normal(size=(1, 3, 1, 3)).astype(np.float32)
B3 = RNG.normal(size=3).astype(np.float32)
LEGACY = [
    ("Mul", X3, B3, {"broadcast": 1, "axis": 0}, X3 * B3[:, None]),
    ("Mul", X3, B3, {"broadcast": 1}, X3 * B3),
    ("Add", X4, B3, {"broadcast": 1, "axis": 1}, X4 + B3[:, None, None]),
    ("Sub", X4, X3[:, :1], {"broadcast": 1, "axis": 1}, X4 - X3[:, :1, None]),
    ("Div", X3, B3, {"broadcast": 1, "axis": -2}, X3 / B3[:, None]),
    ("Add", X3, X3, {}, X3 + X3),
    ("PRelu", X4, B3, {}, np.where(X4 < 0, X4 * B3[:, None, None], X4)),
    ("PRelu", X3, B3[:1], {}, np.where(X3 < 0, X3 * B3[0], X3)),
]
"""Before opset 7; what comes out is by the text of the standard: onnxruntime begins at 7."""


@pytest.mark.parametrize("op, x, other, attrs, want", LEGACY, ids=lambda v: str(v)[:24])
@pytest.mark.parametrize("known", [True, False])
def test_the_broadcast_of_before_opset_7(make_model, op, x, other, attrs, want, known):
    inputs = {"x": x.shape} if known else {"x": x.shape, "c": other.shape}
    node = helper.make_node(op, ["x", "c"], ["y"], **attrs)
    constants = {"c": other} if known else {}
    model = make_model([node], inputs, ["y"], constants, 6, infer=False)
    feed = {"x": x} if known else {"x": x, "c": other}
    (got,) = Session(build_file(load(model))).run(feed).values()
    np.testing.assert_allclose(got, want, 1e-6)


def test_a_broadcast_on_constants_is_not_left_to_the_evaluator(make_model):
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["c"], broadcast=1, axis=0),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    model = make_model(nodes, {"x": (3, 3)}, ["y"], {"a": X3, "b": B3}, 6, infer=False)
    (got,) = Session(build_file(load(model))).run({"x": X3}).values()
    np.testing.assert_allclose(got, X3 + X3 * B3[:, None], 1e-6)


def test_elementwise_operators_of_before_opset_7_do_not_broadcast_unasked(make_model):
    node = helper.make_node("Add", ["x", "c"], ["y"])
    model = make_model([node], {"x": (3, 3)}, ["y"], {"c": B3}, 6, infer=False)
    with pytest.raises(UnsupportedError, match="differ in shape"):
        load(model)


def test_element_types_in_words(make_model):
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to="INT32"),
        helper.make_node("Cast", ["i"], ["y"], to="FLOAT"),
    ]
    model = make_model(nodes, {"x": (3, 3)}, ["y"], {}, 5, infer=False)
    (got,) = Session(build_file(load(model))).run({"x": X3 * 9}).values()
    np.testing.assert_array_equal(got, np.trunc(X3 * 9))


@pytest.mark.parametrize(
    ("op", "opset", "attrs"), [("Pad", 1, {"paddings": [0, 0, 1, 1]}), ("Tile", 5, {})]
)
def test_other_operators_that_changed_before_opset_7_are_refused(make_model, op, opset, attrs):
    constants = {} if attrs else {"n": np.array([2]), "axis": np.array([1])}
    node = helper.make_node(op, ["x", *constants], ["y"], **attrs)
    model = make_model([node], {"x": (3, 3)}, ["y"], constants, opset, infer=False)
    with pytest.raises(UnsupportedError, match=r"version 1 .* not supported .*version_converter"):
        load(model)
