"""Unary functions: ONNX's node cases, onnxruntime, and their tables against the float kernels."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.schema import UnaryFn
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.elementwise.lut import make_table
from edgekit.toolkit.runtime import Session

BACKEND_OPS = {fn.name for fn in UnaryFn} | {"Relu", "Swish"}
PARAMETERS = {"Clip": 1}

# Near the edges of each function, far out, and in between.
EDGES = [0.0, -0.0, 1e-8, -1e-8, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 20.0, -20.0, 88.0, -104.0]


def test_backend(backend_case):
    backend_case.check(1e-5, 1e-6)


def run_float(fn: UnaryFn, x: np.ndarray, **attrs: float) -> np.ndarray:
    v = Value("x", TensorType(np.dtype(np.float32), x.shape))
    node = Node(fn.name, [v], [Value("y", v.type)], attrs, "node")
    ports = [Port("x", v, 1, x.shape)], [Port("y", node.output, 1, x.shape)]
    return Session(build_file(Graph([node], *ports))).run({"x": x})["y"]


@pytest.mark.parametrize("fn", UnaryFn, ids=lambda fn: fn.name)
def test_the_table_and_the_float_kernel_are_one_function(fn):
    x = np.concatenate([EDGES, np.linspace(-8, 8, 1001)]).astype(np.float32)
    if fn in (UnaryFn.Log, UnaryFn.Sqrt):
        x = np.abs(x)
    attrs = {k: v * 1.25 for k, v in definition(fn.name).function.attrs.items()}
    if fn == UnaryFn.Clip:
        attrs = {"min": -1.5, "max": 6.0}
    node = Node(fn.name, [], [], attrs)
    want = definition(fn.name).table(node)(x.astype(np.float64))
    got = run_float(fn, x, **attrs)
    with np.errstate(over="ignore"):
        want = want.astype(np.float32)
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("op", ["Gelu", "Sigmoid", "Softplus", "Mish", "Selu", "Erf", "HardSwish"])
def test_onnxruntime_agrees(run_onnx, op):
    x = np.random.default_rng(1).normal(0, 4, (3, 50)).astype(np.float32)
    if op == "Gelu":
        run_onnx(op, {"x": x}, approximate="tanh").agree()
    if op == "Mish":
        pytest.importorskip("onnxruntime", minversion="1.17")
    run_onnx(op, {"x": x}).agree()


def test_relu_and_clip_pass_nan_on():
    x = np.array([np.nan, np.inf, -np.inf, 2], np.float32)
    got = run_float(UnaryFn.Clip, x, min=0.0, max=6.0)
    np.testing.assert_array_equal(got, np.array([np.nan, 6, 0, 2], np.float32))


def test_clip_takes_the_upper_of_bounds_that_cross():
    x = np.array([np.nan, -7, 1, 3, 9], np.float32)
    got = run_float(UnaryFn.Clip, x, min=5.0, max=2.0)
    np.testing.assert_array_equal(got, np.array([np.nan, 2, 2, 2, 2], np.float32))


def test_a_table_outside_the_domain_is_the_zero_point():
    log = definition("Log").table(Node("Log", [], []))
    x, y = QuantParams((0.1,), 0), QuantParams((0.05,), 17)
    table = make_table(log, x, y)
    assert set(table[:128]) == {17}  # negative: not a number
    assert table[128] == -128  # log 0
    assert table[128 + 10] == 17  # log 1
    assert table[-1] == round(np.log(12.7) / 0.05) + 17
