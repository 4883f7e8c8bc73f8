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


def test_a_size_of_tensors_is_that_of_the_longest_and_noted():
    want, found, notes = both(
        [node("Shape", ["n"], ["s"]), node("ConstantOfShape", ["s"], ["y"])], FLOAT
    )
    assert want.shape == (2, 3) and found.shape == (2, 6)
    assert len(notes) == 1 and "computes on the maximum length" in notes[0]
