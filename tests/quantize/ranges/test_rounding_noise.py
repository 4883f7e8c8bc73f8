"""The noise of rounded tensors, measured from the first of them on, against whole runs."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import CandidateEvaluator, calibrate
from edgekit.toolkit.quantize.ranges.rounding_noise import rounding_noise
from edgekit.toolkit.quantize.scheme.qparams import activation_params
from edgekit.toolkit.quantize.scheme.simulation import Simulation
from edgekit.toolkit.runtime import cores

OPEN = {"act_min": -np.inf, "act_max": np.inf}


@pytest.fixture
def net(g):
    x = g.input("x", 1, 8)
    a = g.emit("FullyConnected", x, g.const(g.rng.normal(size=(6, 8))), None, name="a", **OPEN)
    b = g.emit("Tanh", a, name="b")
    c = g.emit("Mul", b, a, name="c", **OPEN)
    return g.output(g.emit("FullyConnected", c, g.const(g.rng.normal(size=(3, 6))), None, name="y",
                           **OPEN))  # fmt: skip


@pytest.fixture
def trials(net):
    rng = np.random.default_rng(0)
    return CandidateEvaluator(
        calibrate(net, [{"x": rng.normal(size=(1, 8)).astype(np.float32)} for _ in range(6)])
    )


def roundings(*names):
    return {n: activation_params(-4.0, 4.0 + len(n) + i) for i, n in enumerate(names)}


SETS = [roundings("a"), roundings("c", "b"), roundings("x"), roundings("x", "c"), roundings("y")]


def test_noise_is_that_of_whole_runs(net, trials):
    before = trials.count
    found = rounding_noise(net, trials, SETS)
    assert trials.count == before + len(SETS)
    for some, noise in zip(SETS, found, strict=True):
        whole = trials.measure(Simulation(net, some, {}).run()).noise
        assert np.array_equal(noise, whole) and np.all(noise[0] > 0)


def test_a_set_with_enough_noise_is_not_run_on_other_samples(net, trials):
    every = rounding_noise(net, trials, SETS[:2])
    some = rounding_noise(net, trials, SETS[:2], lambda i, noise: i == 1 and noise.shape[1] == 2)
    assert np.array_equal(some[0], every[0])
    assert np.array_equal(some[1][:, :2], every[1][:, :2]) and not some[1][:, 2:].any()


def test_sets_on_all_cores_have_the_same_noise(net, trials, three_cores, monkeypatch):
    used = []

    def on_cores(work, some):
        used.append(len(some))
        cores.on_cores(work, some)

    alone = [rounding_noise(net, trials, [s])[0] for s in SETS]
    monkeypatch.setattr("edgekit.toolkit.quantize.ranges.rounding_noise.on_cores", on_cores)
    for found, noise in zip(rounding_noise(net, trials, SETS), alone, strict=True):
        assert np.array_equal(found, noise)
    assert used == [3] * 6
    used.clear()
    rounding_noise(net, trials, SETS, within=0)
    assert used == [1] * 6


def test_no_sets_need_no_runs(net, trials):
    assert rounding_noise(net, trials, []) == []
