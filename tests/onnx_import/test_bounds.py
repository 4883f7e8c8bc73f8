"""Sizes of tensors whose values say how long they are."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.model_files import load
from edgekit.toolkit.runtime import Session

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
CONSTANTS = {"one": np.array(1), "two": np.array(2), "threes": np.full(3, 3, np.int64)}
CONSTANTS |= {"axes": np.array([0]), "ones": np.array([1]), "ends": np.array([0, 2])}
node = helper.make_node


def both(nodes, element):
    """What onnxruntime has, and what the file has; the notes."""
    nodes = [node("NonZero", ["x"], ["n"]), *nodes]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", element, None)],
        [numpy_helper.from_array(v, k) for k, v in CONSTANTS.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18)]
    content = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    feed = {"x": np.array([[1, 0, 2], [0, 0, 3]], np.float32)}
    (want,) = onnxruntime.InferenceSession(content).run(None, feed)
    ours = load(content)
    return want, next(iter(Session(build_file(ours)).run(feed).values())), ours.notes


NUMBERS = {
    "size": ([node("Size", ["n"], ["y"])], INT64),
    "shape": ([node("Shape", ["n"], ["y"])], INT64),
    "part": ([node("Shape", ["n"], ["y"], start=-1)], INT64),
    "picked": ([node("Shape", ["n"], ["s"]), node("Gather", ["s", "one"], ["k"]),
                node("Max", ["k", "two"], ["y"])], INT64),
    "share": ([node("Size", ["n"], ["s"]), node("Cast", ["s"], ["f"], to=FLOAT),
               node("Reciprocal", ["f"], ["y"])], FLOAT),
    "question": ([node("Size", ["n"], ["s"]), node("Greater", ["s", "two"], ["y"])], BOOL),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_a_size_that_is_computed_with_is_the_one_in_use(name):
    want, found, notes = both(*NUMBERS[name])
    np.testing.assert_array_equal(found, want)
    assert found.shape == want.shape and notes == []


LENGTHS = {
    "joined": ([node("Concat", ["n", "n"], ["y"], axis=0)], INT64),
    "largest": ([node("ReduceMax", ["n", "axes"], ["y"], keepdims=0)], INT64),
    "largest, its axis kept": ([node("ReduceMax", ["n", "axes"], ["y"])], INT64),
    "place of it": ([node("ArgMax", ["n"], ["y"], axis=0, keepdims=0)], INT64),
    "shares": ([node("Cast", ["n"], ["f"], to=FLOAT), node("Softmax", ["f"], ["y"], axis=0)],
               FLOAT),
    "best": ([node("TopK", ["n", "ones"], ["y", "z"], axis=0)], INT64),
    "part": ([node("Split", ["n"], ["y", "z"], axis=0, num_outputs=2)], INT64),
    "turned, largest": ([node("Transpose", ["n"], ["t"]), node("Unsqueeze", ["t", "axes"], ["u"]),
                           node("ReduceMax", ["u", "ends"], ["y"], keepdims=0)], INT64),
}  # fmt: skip


@pytest.mark.parametrize("name", LENGTHS)
def test_what_is_made_along_other_axes_is_as_long(name):
    want, found, notes = both(*LENGTHS[name])
    np.testing.assert_allclose(found, want, rtol=1e-6)
    assert found.shape == want.shape and notes == []


@pytest.mark.parametrize(
    "made",
    [
        node("ReduceMax", ["n"], ["y"], keepdims=0),
        node("Softmax", ["f"], ["y"], axis=1),
        node("Concat", ["n", "n"], ["y"], axis=1),
    ],
)
def test_what_is_made_along_the_axis_in_use_is_noted(made):
    element = FLOAT if made.input[0] == "f" else INT64
    *_, notes = both([node("Cast", ["n"], ["f"], to=FLOAT), made], element)
    assert len(notes) == 1 and "computes on the maximum length" in notes[0]


def test_a_size_of_tensors_is_that_of_the_longest_and_noted():
    want, found, notes = both(
        [node("Shape", ["n"], ["s"]), node("ConstantOfShape", ["s"], ["y"])], FLOAT
    )
    assert want.shape == (2, 3) and found.shape == (2, 6)
    assert len(notes) == 1 and "computes on the maximum length" in notes[0]
