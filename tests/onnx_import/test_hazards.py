"""Models that onnx itself does not survive being asked about."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

SCALE = {"s": np.ones(4, np.float32)}
FAR = [3, -4, 100, -100, 2**31, 2**32 - 1, 2**32 - 6, 2**63 - 1, -(2**63)]


def layer_norm(x, y, axis, **more):
    """One that also gives its mean and deviation."""
    outputs = [y, f"{y}_mean", f"{y}_deviation"]
    return helper.make_node("LayerNormalization", [x, "s"], outputs, axis=axis, **more)


@pytest.mark.parametrize("axis", FAR)
def test_an_axis_outside_the_rank_is_refused(make_model, axis):
    nodes = [layer_norm("x", "y", axis)]
    model = make_model(nodes, {"x": (2, 3, 4)}, ["y"], SCALE, infer=False)
    with pytest.raises(UserError, match=rf"LayerNormalization 'y': axis {axis} is outside"):
        load(model)


@pytest.mark.parametrize("axis", [2**32 - 1, -100])
def test_a_rank_that_has_to_be_inferred_first(make_model, axis):
    nodes = [
        layer_norm("x", "a", -1),
        helper.make_node("Add", ["a_mean", "x"], ["b"]),
        layer_norm("b", "y", axis),
    ]
    model = make_model(nodes, {"x": (2, 3, 4)}, ["y"], SCALE, infer=False)
    with pytest.raises(UserError, match=rf"'y': axis {axis} is outside its input of rank 3"):
        load(model)


def test_one_inside_a_branch(make_model):
    inner = helper.make_graph(
        [layer_norm("x", "z", 2**32 - 1)],
        "branch",
        [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3, 4])],
    )
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)]
    ports = {"x": (2, 3, 4), "c": ()}
    model = make_model(nodes, ports, ["y"], SCALE, types={"c": TensorProto.BOOL}, infer=False)
    with pytest.raises(UserError, match="'z': axis 4294967295 is outside its input of rank 3"):
        load(model)


@pytest.mark.parametrize("axis", [2, -1])
def test_a_good_axis_is_imported(make_model, agree, axis):
    model = make_model([layer_norm("x", "y", axis)], {"x": (2, 3, 4)}, ["y"], SCALE)
    agree(model, {"x": np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)})


@pytest.mark.parametrize("code", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_a_cast_that_rounds_does(make_model, code):
    nodes = [
        helper.make_node("Cast", ["x"], ["half"], to=code),
        helper.make_node("Cast", ["half"], ["y"], to=1),
    ]
    x = np.random.default_rng(0).normal(0, 1e3, (64,)).astype(np.float32)
    model = make_model(nodes, {"x": (64,)}, ["y"])
    got = Session(build_file(load(model))).run({"x": x})["y"]
    to = helper.tensor_dtype_to_np_dtype(code)
    np.testing.assert_array_equal(got, x.astype(to).astype(np.float32))


def test_a_clip_whose_least_is_above_its_most_gives_the_most(make_model, agree):
    limits = {"low": np.float32(3), "high": np.float32(1)}
    nodes = [helper.make_node("Clip", ["x", "low", "high"], ["y"])]
    model = make_model(nodes, {"x": (2, 9)}, ["y"], limits)
    agree(model, {"x": np.linspace(-9, 9, 18, dtype=np.float32).reshape(2, 9)})


@pytest.mark.parametrize("kind", ["float32", "int32"])
@pytest.mark.parametrize("first", [True, False])
def test_a_clip_of_a_clip_whose_least_is_above_its_most(make_model, agree, kind, first):
    limits = {"low": 5, "high": -3, "least": -6, "most": 6}
    limits = {name: np.array(v, kind) for name, v in limits.items()}
    order = [("low", "high"), ("least", "most")][:: 1 if first else -1]
    nodes = [
        helper.make_node("Clip", ["x", *order[0]], ["c"]),
        helper.make_node("Clip", ["c", *order[1]], ["y"]),
    ]
    code = TensorProto.FLOAT if kind == "float32" else TensorProto.INT32
    model = make_model(nodes, {"x": (19,)}, ["y"], limits, types={"x": code, "y": code})
    agree(model, {"x": np.arange(-9, 10).astype(kind)})


@pytest.mark.parametrize("limits", [["low"], ["low", "high"], ["", "high"]])
def test_a_clip_between_limits_that_are_computed(make_model, agree, limits):
    """Spectrograms are cut so many decibels below their own maximum."""
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
        helper.make_node("Sub", ["top", "range"], ["low"]),
        helper.make_node("Sub", ["top", "one"], ["high"]),
        helper.make_node("Clip", ["x", *limits], ["y"]),
    ]
    constants = {"range": np.float32(4), "one": np.float32(1)}
    model = make_model(nodes, {"x": (1, 3, 4, 6)}, ["y"], constants)
    agree(model, {"x": np.linspace(-9, 9, 72, dtype=np.float32).reshape(1, 3, 4, 6)})
