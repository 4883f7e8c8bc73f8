"""Arithmetic on unsigned integers, and on tensors of 64 bits, as numpy has it at the extremes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value
from edgekit.toolkit.numerics import OF_NUMPY
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import definition
from edgekit.toolkit.runtime import Session

ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Min": np.minimum,
              "Max": np.maximum}  # fmt: skip
ORDER = {"Less": np.less, "LessOrEqual": np.less_equal, "Equal": np.equal, "Greater": np.greater,
         "GreaterOrEqual": np.greater_equal}  # fmt: skip


def extremes(dtype):
    """Every pair of values that are likely to go wrong."""
    if dtype.kind == "f":
        some = [0.0, -0.0, 1.0, -1.5, 16777217.0, 1e300, -1e-300, np.inf, -np.inf, np.nan]
    else:
        ends = np.iinfo(dtype)
        middle = ends.max // 2
        some = [0, 1, 2, 3, 7, middle, middle + 1, ends.max - 1, ends.max]
        some += [-1, -2, ends.min, ends.min + 1] if ends.min else []
    values = np.array(some, dtype)
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


def run(op, a, b, out=None):
    code = helper.np_dtype_to_tensor_dtype
    node = helper.make_node(op, ["a", "b"], ["y"])
    ports = [
        helper.make_tensor_value_info(n, code(v.dtype), v.shape) for n, v in (("a", a), ("b", b))
    ]
    y = helper.make_tensor_value_info("y", out or code(a.dtype), a.shape)
    graph = helper.make_graph([node], "g", ports, [y])
    opsets = [helper.make_opsetid("", 21)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return Session(build_file(load(model))).run({"a": a, "b": b})["y"]


def lowered(op, a, b):
    """The runtime's function of two tensors of 64 bits itself."""
    x, y = (Value(n, TensorType(v.dtype, v.shape)) for n, v in (("a", a), ("b", b)))
    node = Node(op, [x, y], [], {}, "y")
    node.outputs = [Value("y", definition(op).infer(node)[0])]
    code = OF_NUMPY[a.dtype].onnx
    ports = [Port(v.name, v, code, v.shape) for v in (x, y)]
    graph = Graph([node], ports, [Port("y", node.output, code, a.shape)])
    return Session(build_file(graph)).run_raw({"a": a, "b": b})["y"]


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int8", "int16", "uint16"])
@pytest.mark.parametrize("op", ARITHMETIC)
def test_integers_wrap_at_their_size(op, dtype):
    a, b = extremes(np.dtype(dtype))
    with np.errstate(all="ignore"):
        want = ARITHMETIC[op](a, b)
    got = run(op, a, b)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64"])
def test_division_of_unsigned_integers(dtype):
    a, b = extremes(np.dtype(dtype))
    a, b = a[b != 0], b[b != 0]
    np.testing.assert_array_equal(run("Div", a, b), a // b)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
@pytest.mark.parametrize("op", ORDER)
def test_unsigned_integers_are_ordered_as_such(op, dtype):
    a, b = extremes(np.dtype(dtype))
    np.testing.assert_array_equal(run(op, a, b, TensorProto.BOOL), ORDER[op](a, b))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
@pytest.mark.parametrize("op", [*ARITHMETIC, "Div", "Less", "LessOrEqual", "Equal"])
def test_64_bits_are_computed_in_64(op, dtype):
    a, b = extremes(np.dtype(dtype))
    if op == "Div" and a.dtype.kind != "f":
        a, b = a[b != 0], b[b != 0]
    with np.errstate(all="ignore"):
        if op == "Div":
            want = a / b if a.dtype.kind == "f" else divided(a, b)
        else:
            want = {**ARITHMETIC, **ORDER}[op](a, b)
    np.testing.assert_array_equal(lowered(op, a, b), want.astype(a.dtype))


def divided(a, b):
    """Towards zero, modulo 2^64, in Python's integers."""
    exact = [
        abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return np.array([v % 2**64 for v in exact], np.uint64).astype(a.dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "int16", "uint8"])
def test_powers_of_integers(dtype):
    base = np.array([0, 1, 2, 3, 5, 10], dtype)
    exponent = np.array([0, 5, 4, 2, 3, 1], dtype)
    np.testing.assert_array_equal(run("Pow", base, exponent), base**exponent)
    real = np.array([0.0, 0.5, 1.5, 2, 1, 0.5], np.float32)
    want = np.power(base.astype(np.float64), real).astype(dtype)
    np.testing.assert_array_equal(run("Pow", base, real), want)


def test_negative_powers_of_integers():
    base = np.array([1, -1, -1, 2, -3, 7], np.int64)
    got = lowered("Pow", base, np.array([-5, -2, -3, -1, -2, -(2**63)], np.int64))
    np.testing.assert_array_equal(got, [1, 1, -1, 0, 0, 0])


def test_what_has_no_form_of_64_bits_says_so():
    x = helper.make_tensor_value_info("x", TensorProto.UINT64, (2, 3))
    y = helper.make_tensor_value_info("y", TensorProto.UINT64, (3, 2))
    graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(UserError, match="Transpose of uint64 tensors is not supported"):
        load(model)


def test_bfloat16_is_rounded_where_it_is_computed():
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Sub", ["s", "a"], ["y"])]
    ports = [helper.make_tensor_value_info(n, TensorProto.BFLOAT16, (64,)) for n in "aby"]
    graph = helper.make_graph(nodes, "g", ports[:2], ports[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    to = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)
    a, b = np.random.default_rng(0).normal(size=(2, 64)).astype(to)
    got = Session(build_file(load(onnx.shape_inference.infer_shapes(model)))).run({"a": a, "b": b})[
        "y"
    ]
    assert got.dtype == to
    np.testing.assert_array_equal(got.astype("f"), ((a + b) - a).astype("f"))


@pytest.mark.parametrize("to", ["uint8", "uint32", "uint64", "int8", "int16", "uint16"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "uint32", "uint64", "int16"])
def test_integers_are_cast_by_their_bits(dtype, to):
    x, _ = extremes(np.dtype(dtype))
    code = helper.np_dtype_to_tensor_dtype
    node = helper.make_node("Cast", ["x"], ["y"], to=code(np.dtype(to)))
    ports = [
        helper.make_tensor_value_info(n, code(np.dtype(t)), x.shape)
        for n, t in (("x", dtype), ("y", to))
    ]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    got = Session(build_file(load(model))).run({"x": x})["y"]
    np.testing.assert_array_equal(got, x.astype(to))


def test_floats_become_unsigned_integers_in_range():
    x = np.array([-1.5, 0.0, 3e9, 5e9, np.nan], np.float32)
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.UINT32)
    ports = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
        helper.make_tensor_value_info("y", TensorProto.UINT32, x.shape),
    ]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    got = Session(build_file(load(model))).run({"x": x})["y"]
    np.testing.assert_array_equal(got, [0, 0, 3000000000, 2**32 - 1, 0])
