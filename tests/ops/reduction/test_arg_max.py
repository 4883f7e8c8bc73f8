"""ArgMax and ArgMin: ONNX's node cases, onnxruntime, and every kernel table."""

from __future__ import annotations

import numpy as np
import pytest

BACKEND_OPS = {"ArgMax", "ArgMin"}


def test_backend(backend_case):
    backend_case.check()


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_onnxruntime_agrees(run_onnx, op, last, keepdims, axis):
    x = np.random.default_rng(5).integers(-3, 4, (4, 9, 6)).astype(np.float32)
    attrs = {"axis": axis, "keepdims": keepdims, "select_last_index": last}
    run_onnx(op, {"x": x}, **attrs).agree(0)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_whole_numbers(run_onnx, op, last):
    """Also of those that float32 cannot tell apart."""
    x = np.random.default_rng(5).integers(-3, 4, (4, 9)).astype(np.int32)
    x[0, :3] = [1 << 24, (1 << 24) + 1, 1 << 24]
    run_onnx(op, {"x": x}, axis=1, select_last_index=last).agree(0)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 10), 1), ((2, 200, 3), 1), ((5,), 0), ((1, 1), 1)]
)
def test_integers_are_the_same_on_all_kernels(integers, op, last, shape, axis):
    for x in (integers.value(shape), integers.value16(shape)):
        node = integers.node(op, [x], axis=axis, keepdims=False, select_last_index=last)
        node.output.quant = None
        integers.agree(node)
        integers.agree(node, {x: np.full(shape, 7, x.dtype)})
