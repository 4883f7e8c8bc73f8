"""Runs in one call of C against one run after the other."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import open_once
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.ir import Graph, Port, TensorType, Value
from edgekit.toolkit.quantize import CandidateEvaluator, Options, Plan, calibrate
from edgekit.toolkit.quantize.ranges import candidate_evaluation
from edgekit.toolkit.quantize.ranges.range_search import fixed_ranges
from edgekit.toolkit.runtime import many_runs
from edgekit.toolkit.runtime.many_runs import can_run_many, run_many


@pytest.fixture
def net(g):
    a, b = g.input("a", 1, 6, 6, 3), g.input("b", 1, 4)
    flat = g.emit("Reshape", g.conv(a, 4, act_min=0.0), shape=(1, 144))
    w = g.const(g.rng.normal(size=(4, 144)) * 0.1)
    free = {"act_min": -np.inf, "act_max": np.inf}
    logits = g.emit("FullyConnected", flat, w, None, name="logits", **free)
    both = g.emit("Add", logits, b, name="both", **free)
    return g.output(g.emit("Softmax", both, axis=1), logits)


def samples(count=23, seed=5):
    rng = np.random.default_rng(seed)
    shapes = {"a": (1, 6, 6, 3), "b": (1, 4)}
    return [
        {name: rng.normal(size=s).astype(np.float32) for name, s in shapes.items()}
        for _ in range(count)
    ]


def graphs(net):
    calibration = calibrate(net, samples())
    ranges = fixed_ranges(calibration, "minmax")
    plan = Plan(net, ranges, Options(means=calibration.means()))
    return calibration, plan, ranges


@pytest.mark.parametrize("integer", [False, True])
def test_many_runs_are_those_of_each(net, integer):
    _, plan, ranges = graphs(net)
    session = open_once(plan.emit(ranges)[0] if integer else net)
    assert can_run_many(session)
    raw = [session.to_raw(s) for s in samples(7)]
    found = run_many(session, [np.stack(x) for x in zip(*raw, strict=True)])
    for i, sample in enumerate(samples(7)):
        for name, alone in session.run(sample).items():
            assert np.array_equal(found[name][i], alone) and found[name].dtype == alone.dtype


def test_arrays_that_do_not_fit_are_refused(net):
    session = open_once(net)
    a, b = np.zeros((3, 1, 6, 6, 3), np.float32), np.zeros((2, 1, 4), np.float32)
    with pytest.raises(ValueError, match="different numbers"):
        run_many(session, [a, b])


def test_a_run_that_fails_is_told(g):
    i = Value("i", TensorType(np.dtype(np.int32), (1,)))
    found = g.emit("Gather", g.const(np.ones((4, 2), np.float32)), i, axis=0)
    net = Graph(g.graph.nodes, [Port("i", i, 6, (1,))], [Port("y", found, 1, found.shape)])
    with pytest.raises(UserError, match="index"):
        run_many(open_once(net), [np.array([[1], [9]], np.int32)])


def test_a_trial_is_one_call_with_the_noise_of_each_sample(net, monkeypatch):
    calibration, plan, ranges = graphs(net)
    calls = []

    def counted(session, raw):
        calls.append(len(raw[0]))
        return run_many(session, raw)

    monkeypatch.setattr(candidate_evaluation, "run_many", counted)
    score = CandidateEvaluator(calibration).score(plan, ranges)
    assert calls == [23]
    monkeypatch.setattr(many_runs, "TOGETHER_BYTES", 1)
    assert np.array_equal(CandidateEvaluator(calibration).score(plan, ranges).noise, score.noise)
    assert calls[1:] == [1] * 23
    for module in (candidate_evaluation, many_runs):
        monkeypatch.setattr(module, "can_run_many", lambda session: False)
    assert np.array_equal(CandidateEvaluator(calibration).score(plan, ranges).noise, score.noise)
    assert len(calls) == 24
