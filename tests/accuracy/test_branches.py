"""Runs that go on from one operator with other values, against whole runs."""

import numpy as np
import pytest

from edgekit.toolkit.build import open_once
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value
from edgekit.toolkit.runtime.branches import Branches, steps

FLOAT = np.dtype(np.float32)
SHAPE = (1, 6)


def residual():
    """r = |x|, s = r + x, t = tanh(s), y = t * r: r lives until the end."""
    x, r, s, t, y = (Value(n, TensorType(FLOAT, SHAPE)) for n in "xrsty")
    limits = {"act_min": -np.inf, "act_max": np.inf}
    nodes = [
        Node("Abs", [x], [r], {}, "r"),
        Node("Add", [r, x], [s], dict(limits), "s"),
        Node("Tanh", [s], [t], {}, "t"),
        Node("Mul", [t, r], [y], dict(limits), "y"),
    ]
    return Graph(nodes, [Port("x", x, 1, SHAPE)], [Port("y", y, 1, SHAPE)])


def expected(x, changed=None):
    """By numpy; `changed` has twice its value."""
    seen = {}

    def put(name, v):
        seen[name] = v * 2 if name == changed else v
        return seen[name]

    r = put("r", np.abs(x))
    t = put("t", np.tanh(put("s", r + x)))
    return put("y", t * r)


@pytest.fixture
def session():
    return open_once(residual())


def test_each_branch_is_a_run_with_that_tensor_changed(session):
    rng = np.random.default_rng(0)
    branches = Branches(session)
    for _ in range(3):
        x = rng.normal(size=SHAPE).astype(np.float32)
        found = dict(branches.run({"x": x}, lambda _, v: v * 2))
        assert list(found) == ["r", "s", "t", "y"]
        for name, outputs in found.items():
            np.testing.assert_allclose(outputs["y"], expected(x, name), atol=1e-5)


def test_what_runs_after_a_branch_is_as_without_it(session):
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(SHAPE)
    branches, seen = Branches(session), {}

    def change(name, v):
        seen[name] = v.copy()
        return np.full(SHAPE, 7, np.float32)

    assert len(list(branches.run({"x": x}, change))) == 4
    np.testing.assert_allclose(seen["y"], expected(x), atol=1e-5)
    np.testing.assert_allclose(session.run({"x": x})["y"], expected(x), atol=1e-5)


def test_steps_that_stop_on_their_way_leave_the_session_in_order(session):
    x = np.ones(SHAPE, np.float32)
    stopped = steps(session, {"x": 3 * x})
    assert next(stopped)[1] == "r"
    stopped.close()
    assert [(name, last) for _, name, _, last in steps(session, {"x": x})] == [
        ("r", False), ("s", False), ("t", False), ("y", True)
    ]  # fmt: skip
    np.testing.assert_allclose(session.run({"x": x})["y"], expected(x), atol=1e-5)


def test_sets_of_operators_are_changed_together(session):
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(SHAPE)
    branches = Branches(session)
    sets, seen = [["t", "r"], ["s"], ["y"]], []

    def change(i, name, v):
        seen.append((i, name))
        return v * 2

    found = dict(branches.run_sets({"x": x}, sets, change))
    r = 2 * np.abs(x)
    np.testing.assert_allclose(found[0]["y"], 2 * np.tanh(r + x) * r, atol=1e-5)
    np.testing.assert_allclose(found[1]["y"], expected(x, "s"), atol=1e-5)
    np.testing.assert_allclose(found[2]["y"], expected(x, "y"), atol=1e-5)
    assert seen == [(0, "r"), (0, "t"), (1, "s"), (2, "y")]
    np.testing.assert_allclose(session.run({"x": x})["y"], expected(x), atol=1e-5)
