"""Cast between the element types of the runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value
from edgekit.toolkit.numerics import ELEMENTS, OF_NUMPY, is_real
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
    with pytest.raises(UnsupportedError, match="it casts to element type 24"):
        run_onnx("Cast", {"x": np.zeros(3, np.float32)}, to=24)


WHOLE = [0, 1, -1, 2, 7, 8, -8, -9, 15, 16, 127, 128, -128, -129, 255, 256, 32767, 32768, -32769,
         65535, 65536, 2**24 + 1, 2**31 - 1, -(2**31)]  # fmt: skip
WIDE = [2**31, 2**32 - 1, 2**53 + 1, 2**63 - 1, -(2**63), 3_000_000_000, 16_777_217 << 30]
REAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 3.7, -3.7, 0.25, 0.75, 5.0, 7.0, 15.9, 100.0, 127.5, 464.0,
        465.0, -300.0, 1e-3, -1e-6, 2.0**-24, 2.0**-25, 3.0 * 2**-26, 65504.0, 65519.9, 65520.0,
        61439.0, 61440.0, 3e38, np.inf, -np.inf, np.nan, 2147483648.0, -3e9, 9.3e18,
        -1e19]  # fmt: skip
SEED = np.random.default_rng(5)
SAMPLES = {
    "float32": np.array(
        [*REAL, *(SEED.normal(size=400) * 2.0 ** SEED.integers(-30, 30, 400))], "f"
    ),
    "int32": np.array([*WHOLE, *SEED.integers(-(2**31), 2**31, 200)], np.int32),
    "uint8": np.arange(256, dtype=np.uint8),
    "int64": np.array([*WHOLE, *WIDE, *SEED.integers(-(2**63), 2**63 - 1, 200)], np.int64),
    "uint64": np.array([0, 1, 2**63, 2**64 - 1, 2**53 + 1, *range(200)], np.uint64),
}
SAMPLES["float64"] = np.concatenate(
    [SAMPLES["float32"].astype(np.float64), [1e300, -1e-300, 16777217.0]]
)
SAMPLES["float16"] = np.arange(2**16, dtype=np.uint16).view(np.float16)


def expected(x, element):
    """By numpy and ml_dtypes; out of range integers of 8 bits and more are the nearest."""
    to = element.numpy
    with np.errstate(all="ignore"):
        if to.kind == "b":
            return x != 0
        if is_real(to):
            small = to.itemsize == 1 and element.name != "float4e2m1"
            return onnx.numpy_helper.saturate_cast(x * 1.0, to) if small else x.astype(to)
        if x.dtype.kind == "f" and to.kind in "iu":
            ends = np.iinfo(to)
            whole = [0 if v != v else min(max(v, ends.min), ends.max) for v in x.astype(np.float64)]
            return np.array([int(v) if abs(v) < 2**70 else v for v in whole], object).astype(to)
        if x.dtype.kind == "f":
            return np.where(np.abs(x) < 2.0**31, x, 0).astype(np.int64).astype(to)
        return x.astype(to)


@pytest.mark.parametrize("element", [e for e in ELEMENTS if e.held], ids=lambda e: e.name)
@pytest.mark.parametrize("dtype", SAMPLES)
def test_every_type_becomes_every_other(dtype, element):
    x, held = SAMPLES[dtype], element.held
    v = Value("x", TensorType(x.dtype, x.shape))
    if element.numpy.itemsize == 8 and element.onnx != 9:
        held = element.numpy
    node = Node("Cast", [v], [], {"to": held, "element": element.onnx}, "cast")
    node.outputs = [Value("y", definition("Cast").infer(node)[0])]
    code = OF_NUMPY[x.dtype].onnx
    ports = [Port("x", v, code, x.shape)], [Port("y", node.output, element.onnx, x.shape)]
    got = Session(build_file(Graph([node], *ports))).run_raw({"x": x})["y"]
    want = expected(x, element).astype(got.dtype)
    np.testing.assert_array_equal(got, want)
    if is_real(element.numpy):
        there = (x == x) & (want == want)  # the sign of what was NaN is anyone's
        np.testing.assert_array_equal(np.signbit(got)[there], np.signbit(want)[there])
