"""Which outputs follow an input: most of them is a level that the input shows."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import KeptSample
from edgekit.toolkit.quantize.outputs.evaluation_points import EvaluationPoint
from edgekit.toolkit.quantize.ranges.followed import follows_an_input


def kept(output, count=40, width=24):
    """Series around levels of their own, and an output of each."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        x = (rng.normal(50, 10) + rng.normal(size=(1, width))).astype(np.float32)
        found.append(KeptSample({"x": x}, {"y": output(x, rng).astype(np.float32)}))
    return found


CASES = {
    "the last value": (lambda x, rng: x[:, -1:] + rng.normal(size=(1, 8)), True),
    "a mean": (lambda x, rng: np.full((1, 8), x.mean()), True),
    "differences": (lambda x, rng: x[:, 1:] - x[:, :-1], False),
    "a multiple": (lambda x, rng: 9 * x, False),
    "something else": (lambda x, rng: rng.normal(size=(1, 8)), False),
    "a constant": (lambda x, rng: np.ones((1, 8)), False),
    "a cache": (lambda x, rng: x[:, 1:], False),
    "a cache and something else": (
        lambda x, rng: np.concatenate([x[:, 1:], rng.normal(size=(1, 1))], axis=1),
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_levels_are_followed(name):
    output, follows = CASES[name]
    assert follows_an_input([EvaluationPoint("y")], kept(output)) == follows


def test_few_samples_images_and_softmaxes_are_not_judged():
    output, _ = CASES["the last value"]
    assert not follows_an_input([EvaluationPoint("y")], kept(output, count=8))
    assert not follows_an_input([EvaluationPoint("y")], kept(output, width=2000))
    assert not follows_an_input([EvaluationPoint("y", 1)], kept(output))
