"""Outputs as long as their values say: NonZero, Compress, Unique and NonMaxSuppression."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

BACKEND_OPS = {"NonZero", "Compress", "NonMaxSuppression"}
RNG = np.random.default_rng(0)


def test_backend(backend_case):
    backend_case.check()


def run(nodes, feed, outputs):
    """What we and onnxruntime make of nodes whose outputs have shapes that nobody declares."""
    code = helper.np_dtype_to_tensor_dtype
    ports = [helper.make_tensor_value_info(n, code(a.dtype), a.shape) for n, a in feed.items()]
    graph = helper.make_graph(nodes, "g", ports, [onnx.ValueInfoProto(name=n) for n in outputs])
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
    for port, a in zip(model.graph.output, theirs, strict=True):
        port.type.tensor_type.elem_type = code(a.dtype)
    graph = load(model)
    session = Session(build_file(graph))
    return session.run(feed), dict(zip(outputs, theirs, strict=True)), session, graph


def agree(nodes, feed, outputs):
    ours, theirs, _, graph = run(nodes, feed, outputs)
    assert ours.keys() == theirs.keys()
    for name, want in theirs.items():
        np.testing.assert_array_equal(ours[name], want)
        assert ours[name].dtype == want.dtype
    return graph


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("kind", [np.float32, np.bool_, np.int64])
def test_places_that_are_not_zero(shape, kind):
    x = (RNG.random(shape) < 0.4).astype(kind)
    agree([helper.make_node("NonZero", ["x"], ["y"])], {"x": x}, ["y"])


def test_none_is_found():
    agree([helper.make_node("NonZero", ["x"], ["y"])], {"x": np.zeros((3, 4), np.float32)}, ["y"])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_slices_that_hold(axis):
    x = RNG.normal(size=(4, 6, 4)).astype(np.float32)
    attrs = {} if axis is None else {"axis": axis}
    node = helper.make_node("Compress", ["x", "c"], ["y"], **attrs)
    agree([node], {"x": x, "c": np.array([True, False, True, True])}, ["y"])


@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_each_once(in_order, axis, kind):
    x = RNG.integers(0, 2, (5, 4, 2)).astype(kind)
    attrs = {} if axis is None else {"axis": axis}
    outputs = ["y", "first", "inverse", "many"]
    agree([helper.make_node("Unique", ["x"], outputs, sorted=in_order, **attrs)], {"x": x}, outputs)


def boxes(n):
    corner = RNG.random((2, n, 2)) * 4
    return np.concatenate([corner, corner + RNG.random((2, n, 2)) * 3], -1).astype(np.float32)


@pytest.mark.parametrize("limits", [(5, 0.5, 0.0), (3, 0.2, 0.4), (100, 0.9, 0.7), (2, 0.0, -1.0)])
@pytest.mark.parametrize("constant", [False, True])
def test_boxes(limits, constant):
    kinds = (np.int64, np.float32, np.float32)
    given = {n: np.array([v], k) for n, v, k in zip("mos", limits, kinds, strict=True)}
    feed = {"b": boxes(30), "c": RNG.random((2, 3, 30)).astype(np.float32)}
    nodes = [helper.make_node("NonMaxSuppression", ["b", "c", "m", "o", "s"], ["y"])]
    if constant:
        made = [helper.make_node("Constant", [], [n], value=onnx.numpy_helper.from_array(a))
                for n, a in given.items()]  # fmt: skip
        agree(made + nodes, feed, ["y"])
    else:
        agree(nodes, feed | given, ["y"])


def detector():
    """Boxes and scores of those that are left, as detectors gather them."""
    one = {"n": np.array([2]), "axis": np.array([1]), "m": np.array([4]), "zero": np.array([0])}
    one |= {"o": np.array([0.4], np.float32)}
    nodes = [helper.make_node("Constant", [], [n], value=onnx.numpy_helper.from_array(a))
             for n, a in one.items()]  # fmt: skip
    nodes += [
        helper.make_node("NonMaxSuppression", ["b", "c", "m", "o"], ["kept"]),
        helper.make_node("Gather", ["kept", "n"], ["column"], axis=1),
        helper.make_node("Squeeze", ["column", "axis"], ["which"]),
        helper.make_node("Gather", ["b", "which"], ["found"], axis=1),
    ]
    return nodes


def test_what_is_gathered_by_them_is_as_long():
    feed = {"b": boxes(20)[:1], "c": RNG.random((1, 1, 20)).astype(np.float32)}
    graph = agree(detector(), feed, ["found", "kept"])
    assert not graph.notes


def test_the_file_says_how_many_are_in_use_and_has_zeros_behind():
    feed = {"b": boxes(20)[:1], "c": RNG.random((1, 1, 20)).astype(np.float32)}
    ours, _, session, _ = run(detector(), feed, ["kept"])
    raw = session.run_raw(feed)
    assert [io.name for io in session.outputs] == ["kept", "kept.count"]
    many = int(raw["kept.count"][0])
    assert many == len(ours["kept"]) and raw["kept"].shape == (4, 3)
    assert not raw["kept"][many:].any()


def test_more_than_the_model_declares_stop_the_run():
    node = helper.make_node("NonZero", ["x"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (6,))
    y = helper.make_tensor_value_info("y", TensorProto.INT64, (1, 3))
    graph = helper.make_graph([node], "g", [x], [y])
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = Session(build_file(load(model)))
    few = np.array([0, 1, 0, 2, 0, 0], np.float32)
    np.testing.assert_array_equal(session.run(few)["y"], [[1, 3]])
    with pytest.raises(UserError, match="index"):
        session.run(np.ones(6, np.float32))


def test_what_cannot_follow_a_length_is_noted():
    nodes = [
        helper.make_node("NonZero", ["x"], ["p"]),
        helper.make_node("Cast", ["p"], ["f"], to=1),
        helper.make_node("Softmax", ["f"], ["y"]),
    ]
    port = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (6,))]
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 6))]
    model = helper.make_model(helper.make_graph(nodes, "g", port, out), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21)])  # fmt: skip
    assert any("of data-dependent length" in note for note in load(model).notes)
