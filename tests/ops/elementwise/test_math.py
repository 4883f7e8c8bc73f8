"""Trigonometry, remainders and bits: ONNX's cases, onnxruntime, and numpy at the extremes."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

RNG = np.random.default_rng(0)
TRIGONOMETRIC = {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan"}
BACKEND_OPS = TRIGONOMETRIC | {"Mod"}
BITS = {"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor}
INTEGERS = [np.dtype(k) for k in "bhilBHILqQ" if np.dtype(k).name.strip("uint") in "8163264"]
KINDS = sorted({k.name for k in INTEGERS})


def test_backend_cases(backend_case):
    backend_case.check(1e-5, 1e-6)


@pytest.mark.parametrize("op", sorted(TRIGONOMETRIC))
def test_functions_are_onnxruntimes_where_they_are_defined_and_beyond(run_onnx, op):
    x = np.concatenate([RNG.normal(0, 2, 200), [0.0, -0.0, 1, -1, 1e-6, 30, np.inf, np.nan]])
    run_onnx(op, {"x": x.astype(np.float32)}).agree()


def computed(op, feed, out=None, **attrs):
    """What a model of one node gives, 64 bits in full."""
    code = helper.np_dtype_to_tensor_dtype
    first = next(iter(feed.values()))
    ports = [helper.make_tensor_value_info(n, code(a.dtype), a.shape) for n, a in feed.items()]
    node = helper.make_node(op, list(feed), ["y"], **attrs)
    y = helper.make_tensor_value_info("y", out or code(first.dtype), first.shape)
    graph = helper.make_graph([node], "g", ports, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13)
    return Session(build_file(load(model))).run(feed)["y"]


def extremes(kind):
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        some = [0.0, -0.0, 1.0, -2.5, 3.25, 1e30, -1e-30, np.inf, -np.inf, np.nan]
    else:
        ends = np.iinfo(dtype)
        some = [0, 1, 2, 3, 7, 31, ends.max // 3, ends.max - 1, ends.max]
        some += [-1, -2, ends.min + 1, ends.min] if ends.min else []
    values = np.array(some, dtype)
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op", sorted(BITS))
def test_bits_of_two_numbers(op, kind):
    a, b = extremes(kind)
    found = computed(op, {"a": a, "b": b})
    np.testing.assert_array_equal(found, BITS[op](a, b))
    assert found.dtype == a.dtype


@pytest.mark.parametrize("kind", KINDS)
def test_all_bits_change(kind):
    a, _ = extremes(kind)
    np.testing.assert_array_equal(computed("BitwiseNot", {"a": a}), ~a)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_any_number(kind, direction):
    a, b = extremes(kind)
    bits = 8 * a.dtype.itemsize
    modulus = 1 << bits
    want = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        beyond = y < 0 or y >= bits
        if direction == "LEFT":
            r = 0 if beyond else (x << y) % modulus
            want.append(r - modulus if a.dtype.kind == "i" and r >= modulus // 2 else r)
        else:
            want.append((-1 if x < 0 else 0) if beyond else x >> y)
    found = computed("BitShift", {"a": a, "b": b}, direction=direction)
    np.testing.assert_array_equal(found, np.array(want, a.dtype))


@pytest.mark.parametrize("kind", [*KINDS, "float32", "float64"])
@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_are_numpys(kind, fmod):
    a, b = extremes(kind)
    if a.dtype.kind != "f":
        a, b = a[b != 0], b[b != 0]
    if kind == "float32":
        a, b = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):
        want = np.fmod(a, b) if fmod else np.mod(a, b)
    found = computed("Mod", {"a": a, "b": b}, fmod=fmod)
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(np.signbit(found)[want == 0], np.signbit(want)[want == 0])


@pytest.mark.parametrize(
    ("kind", "to"),
    [("float32", "int32"), ("float32", "uint32"), ("int32", "float32"), ("uint32", "float32"),
     ("int64", "float64"), ("float64", "int64"), ("int8", "uint8"), ("uint16", "int16"),
     ("int64", "uint64"), ("uint64", "float64")],
)  # fmt: skip
def test_the_same_bytes_as_another_type(kind, to):
    a, _ = extremes(kind)
    found = computed("BitCast", {"a": a}, TensorProto.DataType.Value(NAMES[to]), to=CODE[to])
    np.testing.assert_array_equal(found.view(np.uint8), a.view(np.uint8))
    assert found.dtype == to


NAMES = {"float32": "FLOAT", "float64": "DOUBLE"} | {
    k: k.upper() for k in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
CODE = {k: TensorProto.DataType.Value(v) for k, v in NAMES.items()}


def test_bits_of_half_floats_are_refused():
    a = np.zeros(3, np.float16)
    with pytest.raises(UserError, match="bits of float16"):
        computed("BitCast", {"a": a}, TensorProto.INT16, to=TensorProto.INT16)


@pytest.mark.parametrize("op", ["Atan", "Tan", "Sinh"])
def test_int8_is_a_table(integers, op):
    from edgekit.toolkit.ops import definition

    x = integers.value((5, 7), 0.01)
    node = integers.node(op, [x])
    table = definition(op).table(node)
    want = {"Atan": np.arctan, "Tan": np.tan, "Sinh": np.sinh}[op](np.array([0.5]))
    np.testing.assert_allclose(table(np.array([0.5])), want)
