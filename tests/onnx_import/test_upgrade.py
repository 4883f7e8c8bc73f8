"""Old operator forms compute what onnxruntime computes for them."""

import numpy as np
import pytest
from onnx import helper

from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.onnx_import import load

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
