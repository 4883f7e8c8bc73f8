"""Gather: ONNX's node cases, computed and constant indices, indices out of range."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.errors import UnsupportedError, UserError
from edgekit.toolkit.ir import TensorType, Value, constant

BACKEND_OPS = {"Gather", "GatherElements", "GatherND"}


def test_backend(backend_case):
    backend_case.check()


INDICES = [3, -1, [0, 2, 4], [4, 3, 2], [[1, 0], [-2, 1]], [2, 2, 2], [[1], [3]]]


@pytest.mark.parametrize("indices", INDICES, ids=str)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_onnxruntime_agrees(run_onnx, indices, axis):
    x = np.random.default_rng(0).normal(size=(5, 6, 7)).astype(np.float32)
    at = np.array(indices, np.int64)
    run_onnx("Gather", {"x": x}, {"i": at}, axis=axis).agree(rtol=0)
    run_onnx("Gather", {"x": x, "i": at}, axis=axis).agree(rtol=0)


POINTS = [
    ([[0, 0], [1, 5], [-1, 2]], 0),  # anywhere
    ([[[0, 1], [0, 3]], [[2, 1], [2, 3]]], 0),  # a strided block
    ([[i, j] for i in range(4) for j in range(6)], 0),  # all of it
    ([[3], [-6], [2], [2]], 1),
    ([[[0, 1]], [[1, 2]], [[2, 3]], [[-1, 4]]], 1),
]


@pytest.mark.parametrize(("points", "batch"), POINTS)
def test_points_are_gathered(run_onnx, points, batch):
    x = np.random.default_rng(0).normal(size=(4, 6, 5)).astype(np.float32)
    at = {"i": np.array(points, np.int64)}
    run_onnx("GatherND", {"x": x}, at, batch_dims=batch).agree(rtol=0)
    run_onnx("GatherND", {"x": x, **at}, batch_dims=batch).agree(rtol=0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_are_gathered(run_onnx, axis):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 6, 5)).astype(np.float32)
    at = {"i": rng.integers(-4, 4, (3, 2, 4))}
    run_onnx("GatherElements", {"x": x}, at, axis=axis).agree(rtol=0)
    run_onnx("GatherElements", {"x": x, **at}, axis=axis).agree(rtol=0)


def test_points_outside_are_refused(run_onnx):
    x = np.zeros((4, 3), np.float32)
    with pytest.raises(UnsupportedError, match=r"asks for .* of axes of \[4, 3\]"):
        run_onnx("GatherND", {"x": x}, {"i": np.array([[0, 3]])})


@pytest.mark.parametrize(
    ("op", "bad"),
    [("GatherND", [[0, 3]]), ("GatherND", [[0, -4]]), ("GatherND", [[4, 0]]),
     ("GatherElements", [[0, 0, 4]]), ("GatherElements", [[-5, 0, 0]])],
)  # fmt: skip
def test_computed_points_outside_stop_the_run(run_onnx, op, bad):
    with pytest.raises(UserError, match="index"):
        run_onnx(op, {"x": np.zeros((4, 3), np.float32), "i": np.array(bad)})


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 6)])
def test_features_are_extracted(run_onnx, shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    at = {"i": np.array([[4, 0, 1]])}
    run_onnx("ArrayFeatureExtractor", {"x": x}, at, domain="ai.onnx.ml").agree(rtol=0)


def indices(n: int) -> Value:
    return Value("i", TensorType(np.dtype(np.int32), (n,)))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_bytes_are_gathered(integers, axis):
    x, i = integers.value((3, 4, 5)), indices(6)
    node = integers.node("Gather", [x, i], axis=axis)
    at = np.array([0, 2, 1, -1, -3, 1], np.int32)
    integers.agree(node, {x: integers.data(x), i: at})
    fixed = integers.node("Gather", [x, constant(at, "at")], axis=axis)
    integers.agree(fixed)


@pytest.mark.parametrize("bad", [4, -5, 2**31 - 1, -(2**31)])
def test_an_index_outside_stops_the_run(run_onnx, bad):
    x = np.zeros((4, 2), np.float32)
    with pytest.raises(UserError, match="index"):
        run_onnx("Gather", {"x": x, "i": np.array([0, bad], np.int32)})


def test_a_constant_index_outside_is_refused(run_onnx):
    with pytest.raises(UnsupportedError, match="of an axis of 4"):
        run_onnx("Gather", {"x": np.zeros((4,), np.float32)}, {"i": np.array([7])})
