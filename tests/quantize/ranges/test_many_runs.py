"""Runs in one call of C against one run after the other."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import open_once
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.ir import Graph, Port, TensorType, Value
from edgekit.toolkit.quantize import CandidateEvaluator, Options, Plan, calibrate
from edgekit.toolkit.quantize.ranges.range_search import fixed_ranges
from edgekit.toolkit.runtime import many_runs
from edgekit.toolkit.runtime.cores import on_cores
from edgekit.toolkit.runtime.many_runs import can_run_many, run_many, run_raw_many


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


def in_order(session, feeds):
    """The outputs of all runs, and how many were given at a time."""
    found = list(run_many(session, feeds))
    sizes = [len(next(iter(some.values()))) for some in found]
    return {name: np.concatenate([some[name] for some in found]) for name in found[0]}, sizes


@pytest.mark.parametrize("integer", [False, True])
def test_many_runs_are_those_of_each(net, integer):
    _, plan, ranges = graphs(net)
    session = open_once(plan.emit(ranges)[0] if integer else net)
    assert can_run_many(session)
    found, _ = in_order(session, map(session.to_raw, samples(7)))
    for i, sample in enumerate(samples(7)):
        for name, alone in session.run(sample).items():
            assert np.array_equal(found[name][i], alone) and found[name].dtype == alone.dtype


def test_runs_on_all_cores_are_those_on_one(net, three_cores, monkeypatch):
    session = open_once(net)
    raw = [np.stack(x) for x in zip(*map(session.to_raw, samples(23)), strict=True)]
    alone = [run_raw_many(session, [x[i : i + 1] for x in raw]) for i in range(23)]
    used = []
    monkeypatch.setattr(
        many_runs, "on_cores", lambda work, of: used.append(of) or on_cores(work, of)
    )
    for found, each in zip(run_raw_many(session, raw), zip(*alone, strict=True), strict=True):
        assert np.array_equal(found, np.concatenate(each))
    assert [len(sessions) for sessions in used] == [3] and used[0][0] is session
    monkeypatch.setattr(many_runs, "COPIES_BYTES", session.memory_bytes)
    run_raw_many(session, raw)
    monkeypatch.setattr(many_runs, "any_registered", lambda: True)
    run_raw_many(session, raw)
    assert [len(sessions) for sessions in used] == [3, 2]


def test_arrays_that_do_not_fit_are_refused(net):
    session = open_once(net)
    a, b = np.zeros((3, 1, 6, 6, 3), np.float32), np.zeros((2, 1, 4), np.float32)
    with pytest.raises(ValueError, match="different numbers"):
        run_raw_many(session, [a, b])


@pytest.mark.parametrize("bad", [1, 7])
def test_a_run_that_fails_is_told(g, three_cores, bad):
    i = Value("i", TensorType(np.dtype(np.int32), (1,)))
    found = g.emit("Gather", g.const(np.ones((4, 2), np.float32)), i, axis=0)
    net = Graph(g.graph.nodes, [Port("i", i, 6, (1,))], [Port("y", found, 1, found.shape)])
    places = np.zeros((9, 1), np.int32)
    places[bad] = 9
    with pytest.raises(UserError, match="index"):
        run_raw_many(open_once(net), [places])


def test_runs_are_given_as_many_together_as_the_memory_allows(net, monkeypatch):
    session = open_once(net)
    feeds = [session.to_raw(s) for s in samples()]
    whole, sizes = in_order(session, feeds)
    assert sizes == [23]
    each = 8 * (108 + 4 + 4 + 4)
    small, large = (1, 1, 2, [1] * 23), (4 * each, 4 * each, 8, [4, 4, 4, 4, 4, 3])
    for some, held, in_call, expected in (small, large):  # a run for each core at least
        monkeypatch.setattr(many_runs, "TOGETHER_BYTES", some)
        calls = []

        def counted(session, raw, calls=calls):
            calls.append(len(raw[0]))
            return run_raw_many(session, raw)

        with monkeypatch.context() as patched:
            patched.setattr(many_runs, "cores", lambda: 2)
            patched.setattr(many_runs, "CALL_BYTES", held)
            patched.setattr(many_runs, "run_raw_many", counted)
            found, sizes = in_order(session, iter(feeds))
        assert sizes == expected and calls[0] == in_call and sum(calls) == 23
        assert all(np.array_equal(found[name], whole[name]) for name in whole)


def test_a_trial_has_the_noise_of_each_sample(net, monkeypatch):
    calibration, plan, ranges = graphs(net)
    score = CandidateEvaluator(calibration).score(plan, ranges)
    monkeypatch.setattr(many_runs, "TOGETHER_BYTES", 1)
    assert np.array_equal(CandidateEvaluator(calibration).score(plan, ranges).noise, score.noise)
    monkeypatch.setattr(many_runs, "can_run_many", lambda session: False)
    assert np.array_equal(CandidateEvaluator(calibration).score(plan, ranges).noise, score.noise)
