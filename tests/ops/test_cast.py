"""Cast between the element types of the runtime."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value
from edgekit.toolkit.ops import definition
from edgekit.toolkit.runtime import Session

CODE = {"float32": 1, "uint8": 2, "int32": 6, "bool": 9}

FLOATS = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 254.9, 255.0, 300.0, 2147483520.0]
LIMITS = [np.nan, np.inf, -np.inf, 2147483648.0, -2147483648.0, -3e9, 1e-40]


def cast(x: np.ndarray, to: str) -> np.ndarray:
    v = Value("x", TensorType(x.dtype, x.shape))
    node = Node("Cast", [v], [], {"to": np.dtype(to)}, "cast")
    node.outputs = [Value("y", definition("Cast").infer(node)[0])]
    ports = [Port("x", v, CODE[x.dtype.name], x.shape)], [Port("y", node.output, CODE[to], x.shape)]
    return Session(build_file(Graph([node], *ports))).run_raw({"x": x})["y"]


def test_floats_are_truncated_and_saturate():
    x = np.array(FLOATS + LIMITS, np.float32)
    top = 2**31 - 1
    whole = [0, 0, 0, 0, 1, -1, 254, 255, 300, 2147483520]
    limits = [0, top, -top - 1, top, -top - 1, -top - 1, 0]
    np.testing.assert_array_equal(cast(x, "int32"), np.array(whole + limits, np.int32))
    bytes_ = [0, 0, 0, 0, 1, 0, 254, 255, 255, 255, 0, 255, 0, 255, 0, 0, 0]
    np.testing.assert_array_equal(cast(x, "uint8"), np.array(bytes_, np.uint8))


def test_bool_is_not_zero():
    x = np.array(FLOATS + LIMITS, np.float32)
    np.testing.assert_array_equal(cast(x, "bool"), (x != 0).astype(np.uint8))
    np.testing.assert_array_equal(cast(np.array([0, 256, -1], np.int32), "bool"), [0, 1, 1])
    np.testing.assert_array_equal(cast(np.array([0, 7, 1], np.uint8), "bool"), [0, 1, 1])


@pytest.mark.parametrize("to", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integers_are_cast_as_in_numpy(dtype, to):
    x = np.array([0, 1, 200, 255, *([-1, 256, 2**31 - 1] if dtype == "int32" else [])], dtype)
    got = cast(x, to)
    assert got.dtype == to
    np.testing.assert_array_equal(got, x.astype(to))


@pytest.mark.parametrize("to", [1, 6, 7, 9])
def test_onnxruntime_agrees(run_onnx, to):
    x = np.random.default_rng(0).normal(0, 100, (3, 4)).astype(np.float32)
    run_onnx("Cast", {"x": x}, to=to).agree(rtol=0)


def test_cast_like_takes_the_type_of_a_constant(run_onnx):
    x = np.array([0, 1.7, -3.2], np.float32)
    for like in (np.zeros(1, np.int64), np.zeros(1, bool), np.zeros(1, np.float32)):
        run_onnx("CastLike", {"x": x}, {"like": like}).agree(rtol=0)


def test_other_types_are_refused(run_onnx):
    with pytest.raises(UnsupportedError, match="ONNX element type 3"):
        run_onnx("Cast", {"x": np.zeros(3, np.float32)}, to=3)
