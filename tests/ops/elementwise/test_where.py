"""Where: ONNX's node cases, onnxruntime, and C against numpy on int8."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import QuantParams

BACKEND_OPS = {"Where"}

SHAPES = [
    ((7,), (7,), (7,)),
    ((), (3, 4), (3, 4)),
    ((3, 4), (), (3, 4)),
    ((2, 3, 4, 5), (5,), (3, 1, 1)),
    ((1, 1, 4, 5), (2, 3, 1, 1), ()),
    ((1, 9, 1), (2, 9, 3), (1, 1, 3)),
    ((2, 1, 3, 1, 2), (1, 4, 1, 5, 1), (1,)),
]


def test_backend(backend_case):
    backend_case.check()


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int64])
def test_as_in_onnxruntime(run_onnx, shapes, kind):
    rng = np.random.default_rng(0)
    c = rng.integers(0, 2, shapes[0]).astype(np.bool_)
    x, y = (rng.integers(-50, 50, s).astype(kind) for s in shapes[1:])
    run_onnx("Where", {"c": c, "x": x, "y": y}).agree(rtol=0)
    run_onnx("Where", {"c": c, "x": x}, {"y": y}).agree(rtol=0)
    run_onnx("Where", {"x": x, "y": y}, {"c": c}, order=["c", "x", "y"]).agree(rtol=0)


@pytest.mark.parametrize("shapes", SHAPES[:-1])
def test_int8_moves_bytes(integers, shapes):
    c = integers.plain(np.uint8, shapes[0])
    x, y = integers.value(shapes[1], 0.05, 3), integers.value(shapes[2], 0.05, 3)
    node = integers.node("Where", [c, x, y], QuantParams((0.05,), 3))
    feed = {x: integers.data(x), y: integers.data(y)}
    feed[c] = np.random.default_rng(2).integers(0, 3, shapes[0]).astype(np.uint8)
    integers.agree(node, feed)
