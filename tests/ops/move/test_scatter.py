"""Scatter: ONNX's node cases, constant and computed places, every reduction, indices outside."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.schema import ScatterFn
from edgekit.toolkit.ir import TensorType, Value

BACKEND_OPS = {"ScatterElements", "ScatterND", "Scatter", "TensorScatter"}
RNG = np.random.default_rng(0)


def test_backend(backend_case):
    backend_case.check(1e-6)


@pytest.mark.parametrize("fixed", [(), ("x",), ("new",)])
@pytest.mark.parametrize("points", [[[0], [3]], [[1, 2], [-1, 5], [0, 0]], [[[0, 1], [2, 3]]]])
def test_points_are_written(run_onnx, points, fixed):
    rng = np.random.default_rng(0)
    at = np.array(points, np.int64)
    rest = (4, 6, 5)[at.shape[-1] :]
    tensors = {"x": rng.normal(size=(4, 6, 5)), "new": rng.normal(size=at.shape[:-1] + rest)}
    tensors = {k: v.astype(np.float32) for k, v in tensors.items()}
    feed = {k: v for k, v in tensors.items() if k not in fixed}
    given = {"i": at} | {k: tensors[k] for k in fixed}
    run_onnx("ScatterND", feed, given, order=["x", "i", "new"]).agree(rtol=0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_are_written(run_onnx, axis):
    rng = np.random.default_rng(0)
    feed = {"x": rng.normal(size=(4, 6, 5)), "new": rng.normal(size=(2, 2, 3))}
    feed = {k: v.astype(np.float32) for k, v in feed.items()}
    at = {"i": np.indices((2, 2, 3))[axis] - 3}
    run_onnx("ScatterElements", feed, at, order=["x", "i", "new"], axis=axis).agree(rtol=0)


REDUCTIONS = ["none", "add", "mul", "min", "max"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", ["float32", "int32", "int64", "uint8"])
@pytest.mark.parametrize("computed", [False, True])
def test_elements_are_reduced(run_onnx, reduction, kind, computed):
    x = {"x": RNG.integers(0, 9, (4, 6)).astype(kind)}
    new = {"new": RNG.integers(0, 9, (3, 5)).astype(kind)}
    at = {"i": RNG.permuted(np.tile(np.arange(-3, 3), (3, 1)), axis=1)[:, :5]}
    more = {} if reduction == "none" else {"reduction": reduction}
    order = ["x", "i", "new"]
    if computed:
        run_onnx("ScatterElements", x | at | new, order=order, axis=1, **more).agree(0)
    else:
        run_onnx("ScatterElements", x | new, at, order=order, axis=1, **more).agree(0)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_points_are_reduced(run_onnx, reduction, depth):
    shape = (4, 3, 5)
    x = {"x": RNG.normal(size=shape).astype(np.float32)}
    places = RNG.permutation(int(np.prod(shape[:depth])))[:3]
    at = {"i": np.stack(np.unravel_index(places, shape[:depth]), -1)}
    new = {"new": RNG.normal(size=(3, *shape[depth:])).astype(np.float32)}
    more = {} if reduction == "none" else {"reduction": reduction}
    run_onnx("ScatterND", x | at | new, **more).agree(1e-6)


def test_sums_add_up_at_one_place(run_onnx):
    feed = {"x": np.zeros(3, np.float32), "i": np.array([1, 1, -2]), "new": np.ones(3, np.float32)}
    found = run_onnx("ScatterElements", feed, reduction="add")
    found.agree(0)
    assert found.ours[0].tolist() == [0, 3, 0]


@pytest.mark.parametrize("at", [3, -4])
def test_a_place_outside_stops_the_run(make_session, at):
    feed = {"x": np.zeros(3, np.float32), "i": np.array([1]), "new": np.ones(1, np.float32)}
    session, _ = make_session("ScatterElements", feed)
    with pytest.raises(UserError, match="index"):
        session.run({**feed, "i": np.array([at])})


@pytest.mark.parametrize("wide", [False, True])
def test_integers_take_the_place_of_others(integers, wide):
    value = integers.value16 if wide else integers.value
    x, new = value((7, 3)), value((4, 3))
    places = Value("p", TensorType(np.dtype(np.int32), (4,)))
    node = integers.node("Scatter", [x, places, new], fn=ScatterFn.Replace)
    data = {v: integers.data(v) for v in (x, new)}
    integers.agree(node, data | {places: np.array([2, -1, 0, 2], np.int32)})
