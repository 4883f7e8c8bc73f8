"""Types that the runtime has not: values are right, or the model is refused, or it is noted."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError, UserError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

node = helper.make_node
CODE = {"int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "float64": 11}


def computed(make_model, nodes, feed, constants=None):
    """What the imported model makes of `feed`, as float32."""
    types = {n: CODE[a.dtype.name] for n, a in feed.items() if a.dtype != np.float32}
    nodes = [*nodes, node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)]
    ports = {n: a.shape for n, a in feed.items()}
    model = make_model(nodes, ports, ["y"], constants or {}, 18, types)
    return Session(build_file(load(model))).run(feed)["y"]


PAIRS = {
    "int8": (np.array([100, -128, 127, -3, 50]), np.array([100, -1, 127, 7, 2])),
    "int16": (np.array([300, -32768, 32767, -3, 181]), np.array([300, -1, 32767, 7, 182])),
    "uint16": (np.array([300, 65535, 40000, 3, 256]), np.array([300, 1, 40000, 7, 257])),
}


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
def test_small_integers_wrap_at_their_own_size(make_model, kind, op):
    a, b = (v.astype(kind) for v in PAIRS[kind])
    exact = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}.get(
        op, lambda x, y: np.trunc(x / y).astype(np.int64)
    )(a.astype(np.int64), b.astype(np.int64))
    got = computed(make_model, [node(op, ["a", "b"], ["r"])], {"a": a, "b": b})
    np.testing.assert_array_equal(got, exact.astype(kind).astype(np.float32))


@pytest.mark.parametrize("op", ["Neg", "Abs"])
def test_the_least_small_integer_has_no_opposite(make_model, op):
    x = np.array([-128, 127, 0], np.int8)
    try:
        got = computed(make_model, [node(op, ["x"], ["r"])], {"x": x})
    except UnsupportedError:
        return
    want = {"Neg": np.negative, "Abs": np.abs}[op](x)
    np.testing.assert_array_equal(got, want.astype(np.float32))


@pytest.mark.parametrize("big", [1 << 40, -(1 << 31) - 1, (1 << 63) - 1])
@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_constants_that_do_not_fit_int32_are_refused(make_model, op, big):
    feed = {"x": np.array([1, 2])}
    with pytest.raises(UnsupportedError, match=f"{op} 'r': a constant holds {big}, which does not"):
        computed(make_model, [node(op, ["x", "c"], ["r"])], feed, {"c": np.array([big])})


def test_an_output_that_is_a_constant_beyond_int32_is_refused(make_model):
    nodes = [node("Identity", ["c"], ["y"]), node("Relu", ["x"], ["z"])]
    model = make_model(
        nodes, {"x": (1,)}, ["y", "z"], {"c": np.array([1 << 40])}, types={"y": TensorProto.INT64}
    )
    with pytest.raises(UnsupportedError, match="holds 1099511627776"):
        load(model)


def test_limits_that_no_int32_passes_are_served(make_model):
    nodes = [node("Min", ["x", "most"], ["m"]), node("Max", ["m", "least"], ["r"])]
    ends = {"most": np.array([(1 << 63) - 1]), "least": np.array([-(1 << 63)])}
    x = np.array([-5, 5, (1 << 31) - 1])
    np.testing.assert_array_equal(computed(make_model, nodes, {"x": x}, ends), x.astype(np.float32))
    with pytest.raises(UnsupportedError, match="does not fit int32"):
        computed(make_model, [node("Max", ["x", "most"], ["r"])], {"x": x}, ends)


def test_arithmetic_of_64_bits_is_noted(make_model):
    nodes = [node("Mul", ["x", "x"], ["r"], name="square"), node("Relu", ["r"], ["p"])]
    nodes.append(node("Cast", ["p"], ["y"], to=1))
    ports = [nodes, {"x": (2,)}, ["y"]]
    (note,) = load(make_model(*ports, types={"x": TensorProto.INT64})).notes
    assert "'square'" in note and "int64 in int32" in note
    assert not load(make_model(*ports, types={"x": TensorProto.INT32})).notes


def test_a_cast_from_float_to_64_bits_is_noted(make_model):
    nodes = [node("Cast", ["x"], ["i"], to=7, name="c"), node("Cast", ["i"], ["y"], to=1)]
    (note,) = load(make_model(nodes, {"x": (2,)}, ["y"])).notes
    assert "'c'" in note


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_a_division_of_integers_by_a_constant_0_is_refused(make_model, kind):
    feed = {"x": np.array([1, 2], kind)}
    with pytest.raises(UnsupportedError, match="Div 'r': it divides integers by a constant 0"):
        constants = {"c": np.array([1, 0], kind)}
        computed(make_model, [node("Div", ["x", "c"], ["r"])], feed, constants)


def double(make_model, value):
    types = {"x": TensorProto.DOUBLE, "y": TensorProto.DOUBLE}
    constants = {"c": np.array([value])}
    nodes = [node("Mul", ["x", "c"], ["p"]), node("Abs", ["p"], ["y"])]
    return make_model(nodes, {"x": (2,)}, ["y"], constants, types=types)


def test_double_is_noted_and_what_leaves_single_is_refused(make_model):
    graph = load(double(make_model, 3.0))
    assert any("float64" in note and "'x'" in note for note in graph.notes)
    with pytest.raises(UnsupportedError, match=r"holds 1e\+100, which does not fit float32"):
        load(double(make_model, 1e100))
    session = Session(build_file(graph))
    assert np.isinf(session.run({"x": np.array([np.inf, 1.0])})["y"][0])
    with pytest.raises(UserError, match=r"input 'x': 2.4e\+198 does not fit float32"):
        session.run({"x": np.array([1.0, 2.4e198])})


@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_models_of_arithmetic_alone_compute_in_64_bits(make_model, kind):
    types = {n: CODE[kind] for n in ("x", "y")}
    nodes = [node("Mul", ["x", "x"], ["p"]), node("Add", ["p", "c"], ["y"])]
    constants = {"c": np.array([3], kind)}
    graph = load(make_model(nodes, {"x": (2,)}, ["y"], constants, types=types))
    assert not graph.notes
    x = np.array([3_000_000_000, -5], kind)
    found = Session(build_file(graph)).run({"x": x})["y"]
    np.testing.assert_array_equal(found, x * x + 3)
    assert found.dtype == x.dtype
