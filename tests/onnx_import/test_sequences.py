"""Sequences and optional values: what a model does with them when it is read."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
X = np.arange(24, dtype=np.float32).reshape(4, 6)
Y = -X


def model(nodes, shape, element=FLOAT, **constants):
    inputs = [helper.make_tensor_value_info(n, FLOAT, X.shape) for n in "xy"]
    known = [numpy_helper.from_array(np.array(a), n) for n, a in constants.items()]
    output = helper.make_tensor_value_info("z", element, shape)
    graph = helper.make_graph(nodes, "g", inputs, [output], known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def agree(made):
    feed = {"x": X, "y": Y}
    session = onnxruntime.InferenceSession(made.SerializeToString())
    (want,) = session.run(None, {i.name: feed[i.name] for i in session.get_inputs()})
    got = Session(build_file(load(made))).run(feed)["z"]
    assert got.dtype == np.asarray(want).dtype
    np.testing.assert_array_equal(got, want)


def node(op, inputs, output, **attrs):
    return helper.make_node(op, inputs.split(), [output], **attrs)


@pytest.mark.parametrize("new_axis", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_sequence_goes_back_into_a_tensor(new_axis, axis):
    nodes = [
        node("SequenceConstruct", "x y x", "s"),
        node("ConcatFromSequence", "s", "z", axis=axis, new_axis=new_axis),
    ]
    agree(model(nodes, [None] * (2 + new_axis)))


@pytest.mark.parametrize("at", [-2, -1, 0, 1, 2])
def test_a_sequence_is_changed(at):
    nodes = [
        node("SequenceEmpty", "", "none"),
        node("SequenceInsert", "none x", "one"),
        node("SequenceInsert", "one y", "two"),
        node("Add", "x x", "twice"),
        node("SequenceInsert", "two twice at", "three"),
        node("SequenceErase", "three zero", "less"),
        node("SequenceAt", "less last", "z"),
    ]
    agree(model(nodes, X.shape, at=at, zero=0, last=-1))


@pytest.mark.parametrize(
    ("split", "at", "keepdims"),
    [(2, 1, 1), (4, 1, 1), ([1, 2, 3], 2, 1), (None, 3, 1), (None, 3, 0)],
    ids=str,
)
def test_a_tensor_is_split(split, at, keepdims):
    known = {"at": at} if split is None else {"at": at, "split": split}
    parts = node(
        "SplitToSequence", "x" if split is None else "x split", "s", axis=1, keepdims=keepdims
    )
    agree(model([parts, node("SequenceAt", "s at", "z")], None, **known))


def test_the_length_is_known():
    nodes = [node("SplitToSequence", "x", "s"), node("SequenceLength", "s", "z")]
    agree(model(nodes, [], INT64))


@pytest.mark.parametrize("given", ["x", ""])
def test_an_optional_value_is_there_or_is_not(given):
    kind = {} if given else {"type": helper.make_tensor_type_proto(FLOAT, X.shape)}
    nodes = [
        node("Optional", given, "o", **kind),
        node("OptionalHasElement", "o", "has"),
        node("Identity", "has", "z"),
    ]
    found = Session(build_file(load(model(nodes, [], BOOL)))).run({"x": X, "y": Y})
    assert found["z"] == bool(given)


def test_a_loop_collects_a_sequence():
    body = helper.make_graph(
        [node("Identity", "go", "again"), node("Gather", "x i", "row"),
         node("SequenceInsert", "before row", "behind")],
        "body",
        [helper.make_tensor_value_info("i", INT64, []),
         helper.make_tensor_value_info("go", BOOL, []),
         helper.make_tensor_sequence_value_info("before", FLOAT, None)],
        [helper.make_tensor_value_info("again", BOOL, []),
         helper.make_tensor_sequence_value_info("behind", FLOAT, None)],
    )  # fmt: skip
    nodes = [
        node("SequenceEmpty", "", "none"),
        node("Loop", "trips true none", "rows", body=body),
        node("ConcatFromSequence", "rows", "z", axis=0, new_axis=1),
    ]
    agree(model(nodes, [3, 6], trips=3, true=True))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("SequenceConstruct", "x y", "z")], "it is a sequence"),
        ([node("SequenceConstruct", "x y", "s"), node("Relu", "s", "z")], "not supported here"),
        ([node("SequenceConstruct", "x y", "s"), node("SequenceAt", "s far", "z")], "outside of"),
        ([node("SequenceConstruct", "x y", "s"), node("SequenceAt", "s some", "z")], "computed"),
        ([node("SequenceEmpty", "", "s"), node("ConcatFromSequence", "s", "z", axis=0)], "empty"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_what_is_refused_says_why(nodes, message):
    total = [node("ReduceSum", "x", "sum", keepdims=0), node("Cast", "sum", "some", to=INT64)]
    made = model([*total, *nodes], None, far=5)
    with pytest.raises(UnsupportedError, match=message):
        load(made)
