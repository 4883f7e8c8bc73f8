"""The share of the noise that some roundings cause, tested on as few samples as show it."""

from __future__ import annotations

import pytest

from edgekit.toolkit.quantize.ranges.candidate_evaluation import Score
from edgekit.toolkit.quantize.ranges.noise_shares import CLEAR, NoiseShares
from edgekit.toolkit.quantize.ranges.rounding_noise import rounding_noise
from edgekit.toolkit.runtime.branches import Branches

from .test_rounding_noise import net, roundings, trials  # noqa: F401

SET = roundings("c", "b")


@pytest.fixture
def noise(net, trials):  # noqa: F811
    return rounding_noise(net, trials, [SET])[0]


@pytest.mark.parametrize("factor", [0.05, 0.99, 1.01, 20.0])
def test_results_are_those_of_the_shares(net, trials, noise, factor):  # noqa: F811
    whole = Score(3 * noise, trials.signal)
    tests = [(SET, lambda x: x >= factor / 3), (roundings("x"), lambda x: x >= 0)]
    assert NoiseShares(net, trials, whole, 99)(tests) == [factor < 1, True]


def test_a_clear_result_takes_one_sample(net, trials, noise, monkeypatch):  # noqa: F811
    ran, run_sets = [], Branches.run_sets
    monkeypatch.setattr(Branches, "run_sets", lambda *a: ran.append(len(a[2])) or run_sets(*a))
    whole = Score(3 * noise, trials.signal)  # a third on every sample

    def runs(least, most=99):
        ran.clear()
        NoiseShares(net, trials, whole, most)([(SET, lambda x: x >= least)])
        return len(ran)

    assert runs(1.01 * CLEAR / 3) == 1  # it does not pass
    assert runs(noise[0, 0] / whole.noise.sum()) == 1  # it passes whatever the others have
    assert runs(1.01 / 3) == len(trials.kept)
    assert runs(1.01 / 3, most=3) == 3
