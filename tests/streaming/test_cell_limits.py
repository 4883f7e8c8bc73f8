"""Cell states that add up without end saturate where the answers do not need more."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from scipy.special import expit

import edgekit
from edgekit.calibration import open_samples
from edgekit.toolkit.build import build_file
from edgekit.toolkit.decibels import ratio_db
from edgekit.toolkit.evaluation import cell_limits
from edgekit.toolkit.evaluation.cell_limits import limit_of, limited, with_cell_limit
from edgekit.toolkit.evaluation.judging import input_specs
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.quantize import Budget
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.state import mark_states

from .conftest import saved

SIZE, INPUTS = 48, 8
PAIRS = [("h0", "hn"), ("c0", "cn")]


def adder(tmp_path, forgets):
    """One step of an LSTM. The first cell adds up the first input, and forgets at this logit; the
    others follow the other inputs."""
    rng = np.random.default_rng(3)
    w, b = np.zeros((4, SIZE, INPUTS)), np.zeros((2, 4, SIZE))
    w[:, 1:, 1:] = rng.normal(0, 0.5, (4, SIZE - 1, INPUTS - 1))
    w[3, 0, 0] = 3.0
    b[0, 0] = 1.0
    b[0, 2] = 1.0
    b[0, 2, 0] = forgets
    r = rng.normal(0, 0.1, (1, 4 * SIZE, SIZE))
    r.reshape(4, SIZE, SIZE)[:, 0] = 0
    constants = {
        "w": w.reshape(1, 4 * SIZE, INPUTS),
        "r": r,
        "b": b.reshape(1, 8 * SIZE),
        "last": rng.normal(0, 0.4, (SIZE, 4)),
    }
    nodes = [
        helper.make_node(
            "LSTM", ["x", "w", "r", "b", "", "h0", "c0"], ["", "hn", "cn"], hidden_size=SIZE
        ),
        helper.make_node("MatMul", ["hn", "last"], ["y"]),
    ]
    state = (1, 1, SIZE)
    inputs = {"x": (1, 1, INPUTS), "h0": state, "c0": state}
    outputs = {"y": (1, 1, 4), "hn": state, "cn": state}
    return saved(tmp_path / "adder.onnx", nodes, inputs, outputs, constants)


def steps(count, sign, seed=0):
    """The first input has the sign that `sign` gives of the step; the others vary slowly."""
    rng, slow = np.random.default_rng(seed), np.zeros(INPUTS)
    for i in range(count):
        slow = 0.95 * slow + 0.3 * rng.normal(0, 1, INPUTS)
        x = slow.copy()
        x[0] = sign(i) * rng.uniform(0.5, 1.5)
        yield {"x": x.astype(np.float32).reshape(1, 1, -1)}


def loop_db(path, edge, samples):
    onnxruntime = pytest.importorskip("onnxruntime")
    floats = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    session, wanted, found = Session(edge), [], []
    state = {x: np.zeros((1, 1, SIZE), np.float32) for x, _ in PAIRS}
    for sample in samples:
        y, h, c = floats.run(["y", "hn", "cn"], {**sample, **state})
        state = {"h0": h, "c0": c}
        wanted.append(y)
        found.append(session.run(sample)["y"])
    truth = np.array(wanted, np.float64)
    spread = np.square(truth - truth.mean(axis=0)).sum()
    return ratio_db(float(spread), float(np.square(np.array(found) - truth).sum()))


def test_a_cell_that_adds_up_does_not_cost_the_others_their_steps(tmp_path, monkeypatch):
    path, samples = adder(tmp_path, forgets=12.0), list(steps(400, lambda i: 1.0))
    done = edgekit.quantize(path, samples, tmp_path / "m.edge", states=PAIRS)
    assert any("LSTM cell states saturate at 16" in note for note in done.notes)
    assert read_file(tmp_path / "m.edge").provenance.settings["cell_limit"] == 16.0
    with monkeypatch.context() as m:
        m.setattr(cell_limits, "LIMITS", ())
        how = {"states": PAIRS, "on_low_accuracy": "warn"}
        edgekit.quantize(path, samples, tmp_path / "w.edge", **how)
    unseen = list(steps(400, lambda i: 1.0, seed=7))
    better, whole = (loop_db(path, tmp_path / f, unseen) for f in ("m.edge", "w.edge"))
    assert better > max(25.0, whole + 6.0), (better, whole)
    report = edgekit.check(tmp_path / "m.edge", path, unseen, layers=True)
    assert report.quality.level == "good"
    assert min(n.sqnr_db for n in report.layers if n.sqnr_db is not None) > 20


def test_cells_of_a_caller_who_feeds_them_back_are_the_named_cause(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    path, samples = adder(tmp_path, forgets=12.0), []
    floats = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    state = {x: np.zeros((1, 1, SIZE), np.float32) for x, _ in PAIRS}
    for sample in steps(400, lambda i: 1.0):
        samples.append({**sample, **state})
        h, c = floats.run(["hn", "cn"], samples[-1])
        state = {"h0": h, "c0": c}
    done = edgekit.quantize(path, samples, tmp_path / "m.edge", on_low_accuracy="warn")
    assert done.quality.level != "good"
    assert "cell states are too large" in done.verdict[1]
    assert "with --state h0=hn --state c0=cn they saturate at 16" in done.verdict[1]


def test_a_cell_that_is_needed_as_it_is_keeps_its_range(tmp_path):
    """It counts up for 100 steps and down again: saturated, it would be at zero far too early."""
    path = adder(tmp_path, forgets=12.0)
    graph = mark_states(load(path), PAIRS)
    samples = open_samples(list(steps(400, lambda i: 1 - i // 100 % 2 * 2)), input_specs(graph))
    assert limit_of(with_cell_limit(graph, samples)) == {}


def test_cells_that_forget_are_left_alone(tmp_path):
    path = adder(tmp_path, forgets=1.0)
    done = edgekit.quantize(
        path, list(steps(100, lambda i: 1.0)), tmp_path / "m.edge", states=PAIRS
    )
    assert not any("saturate" in note for note in done.notes)


def test_the_float_layer_saturates_in_every_step(tmp_path):
    rng, hidden, limit = np.random.default_rng(1), 5, 0.25
    w, r = (rng.normal(0, 1, (1, 4 * hidden, n)) for n in (3, hidden))
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=hidden)
    shapes = {"y": (9, 1, 2, hidden), "h": (1, 2, hidden), "c": (1, 2, hidden)}
    path = saved(tmp_path / "m.onnx", [node], {"x": (9, 2, 3)}, shapes, {"w": w, "r": r})
    x = rng.normal(0, 1, (9, 2, 3)).astype(np.float32)
    found = Session(build_file(limited(load(path), limit))).run({"x": x})
    h = c = np.zeros((2, hidden))
    for step, row in enumerate(x):
        i, o, f, g = np.split(row @ w[0].T + h @ r[0].T, 4, axis=1)
        c = np.clip(expit(f) * c + expit(i) * np.tanh(g), -limit, limit)
        h = expit(o) * np.tanh(c)
        np.testing.assert_allclose(found["y"][step, 0], h, atol=1e-5)
    np.testing.assert_allclose(found["c"][0], c, atol=1e-6)
    assert np.abs(c).max() == limit


def test_outputs_whose_size_varies_keep_the_cells_as_they_are(tmp_path):
    """How many numbers are above a threshold depends on the sample."""
    path = adder(tmp_path, forgets=12.0)
    model = onnx.load(path)
    model.graph.node.extend(
        [
            helper.make_node("Reshape", ["hn", "all"], ["flat"]),
            helper.make_node("Greater", ["flat", "zero"], ["above"]),
            helper.make_node("Compress", ["flat", "above"], ["some"], axis=0),
        ]
    )
    arrays = {"all": np.array([-1]), "zero": np.zeros(1, np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in arrays.items())
    model.graph.output.append(helper.make_tensor_value_info("some", 1, ["n"]))
    onnx.save(model, path)
    graph = mark_states(load(path), PAIRS)
    samples = open_samples(list(steps(200, lambda i: 1.0)), input_specs(graph))
    assert limit_of(with_cell_limit(graph, samples)) == {}


def test_a_budget_may_ask_for_more_than_the_limit_keeps(tmp_path):
    graph = mark_states(load(adder(tmp_path, forgets=12.0)), PAIRS)
    samples = open_samples(list(steps(200, lambda i: 1.0)), input_specs(graph))
    for least, limit in ((30.0, 16.0), (120.0, 32.0)):
        found = with_cell_limit(graph, samples, None, Budget(min_sqnr=least))
        assert limit_of(found) == {"cell_limit": limit}
