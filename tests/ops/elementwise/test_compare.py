"""Comparisons and logic: ONNX's node cases, onnxruntime, and C against numpy."""

from __future__ import annotations

import numpy as np
import pytest

ORDER = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}
LOGIC = {"And", "Or", "Xor"}
BACKEND_OPS = ORDER | LOGIC | {"Not", "IsNaN"}

SHAPES = [
    ((7,), (7,)),
    ((2, 3, 4, 5), (5,)),
    ((5,), (2, 3, 4, 5)),
    ((2, 1, 4, 1), (1, 3, 1, 5)),
    ((4, 1, 1), ()),
    ((2, 1, 3, 1, 2), (1, 4, 1, 5, 1)),
]


def test_backend(backend_case):
    backend_case.check()


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("op", sorted(ORDER))
def test_numbers_compare_as_in_onnxruntime(run_onnx, op, a, b):
    rng = np.random.default_rng(0)
    for kind in (np.float32, np.int32, np.int64):
        x, y = (rng.integers(-2, 3, s).astype(kind) for s in (a, b))
        run_onnx(op, {"x": x, "y": y}).agree(rtol=0)
        run_onnx(op, {"x": x}, {"c": y}).agree(rtol=0)
        run_onnx(op, {"x": x}, {"c": y}, order=["c", "x"]).agree(rtol=0)


@pytest.mark.parametrize("op", sorted(ORDER))
def test_limits_and_what_is_no_number(run_onnx, op):
    v = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    run_onnx(op, {"x": v[:, None], "y": v}).agree(rtol=0)
    run_onnx("IsNaN", {"x": v}).agree(rtol=0)
    w = np.array([-(2**31), 2**31 - 1, 0, -1], np.int32)
    run_onnx(op, {"x": w[:, None], "y": w}).agree(rtol=0)


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("op", sorted(LOGIC))
def test_logic(run_onnx, op, a, b):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 2, s).astype(np.bool_) for s in (a, b))
    run_onnx(op, {"x": x, "y": y}).agree(rtol=0)
    run_onnx("Not", {"x": x}).agree(rtol=0)
    run_onnx("Equal", {"x": x, "y": y}).agree(rtol=0)


@pytest.mark.parametrize("op", ["Equal", "Less", "LessOrEqual", "And", "Or", "Xor"])
def test_c_is_the_integer_reference(integers, op):
    rng = np.random.default_rng(1)
    for kind in (np.uint8,) if op in LOGIC else (np.uint8, np.int32):
        for a, b in SHAPES[:4]:
            x, y = integers.plain(kind, a), integers.plain(kind, b)
            feed = {v: rng.integers(0, 3, v.shape).astype(kind) for v in (x, y)}
            q = integers.agree(integers.node(op, [x, y]), feed)
            assert q.dtype == np.uint8 and set(np.unique(q)) <= {0, 1}
