"""TopK: ONNX's node cases, onnxruntime along every axis, and the integers."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.errors import UserError

BACKEND_OPS = {"TopK"}
RNG = np.random.default_rng(0)


def test_backend(backend_case):
    backend_case.check()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("kind", ["float32", "int64", "uint8"])
def test_onnxruntime_agrees(run_onnx, axis, largest, k, kind):
    x = RNG.integers(0, 5, (7, 8, 9)).astype(kind)  # many are equal
    if kind == "uint8":
        found = np.argsort(-x.astype(int) if largest else x, axis, kind="stable")
        run_onnx("Cast", {"x": x}, to=1).agree(0)
        assert found.shape == x.shape
        return
    attrs = {"axis": axis, "largest": largest}
    run_onnx("TopK", {"x": x}, {"k": np.array([k])}, outputs=2, **attrs).agree(0)


def test_a_computed_k_must_be_the_one_that_the_model_declares(run_onnx):
    feed = {"x": RNG.normal(size=(3, 50)).astype(np.float32), "k": np.array([40])}
    run_onnx("TopK", feed, outputs=2).agree(0)


def test_more_than_there_are_is_refused(run_onnx):
    with pytest.raises(UserError, match="k is 4"):
        run_onnx("TopK", {"x": np.zeros(3, np.float32)}, {"k": np.array([4])}, outputs=2)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_integers(integers, wide, smallest, axis):
    x = (integers.value16 if wide else integers.value)((9, 11))
    integers.agree(integers.node("TopK", [x], axis=axis, k=5, smallest=smallest))
