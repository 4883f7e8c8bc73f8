"""Layers alone and the short explanation, against whole networks and the long one."""

import numpy as np
import pytest

from edgekit.toolkit.accuracy import explain, summary
from edgekit.toolkit.accuracy.activation_statistics import ActivationStatistics
from edgekit.toolkit.accuracy.alone import scores_alone
from edgekit.toolkit.accuracy.rounding_simulation import Rounding, simulated
from edgekit.toolkit.accuracy.simulated_model import simulated_model_of
from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.quantize import Options, quantize_graph
from edgekit.toolkit.runtime import Session

from .nets import Net, residual_sum


def plain():
    net = Net()
    net.first[5] *= 64
    net.second[:, 5] /= 64
    return net.graph(), net.seen(), net.samples


def a_sum(seed):
    return residual_sum(np.random.default_rng(seed))


NETS = [plain, lambda: a_sum(0), lambda: a_sum(1)]


@pytest.fixture(params=NETS)
def made(request):
    """(file, float graph, samples)"""
    graph, ranges, samples = request.param()
    quantized, _ = quantize_graph(graph, ranges, Options(search_scales=True))
    return build_file(quantized), graph, samples[:8]


def test_a_layer_alone_is_the_network_with_it_alone_rounded(made):
    data, graph, samples = made
    model = simulated_model_of(read(data), graph)
    activations = ActivationStatistics(Session(data), model, samples)
    everything, trials, told = activations.all, activations.trials, []
    names = sorted(everything.tensors | everything.weights, reverse=True)
    found = scores_alone(model, everything, names, trials, told.append)
    assert list(found) == names and told == list(range(1, len(samples) + 1))
    for name, score in found.items():
        only = Rounding(everything.weights & {name}, everything.tensors & {name})
        whole = trials.measure(simulated(model, only))
        np.testing.assert_allclose(score.noise, whole.noise, rtol=1e-3)
        assert whole.noise.any()


def test_samples_on_all_cores_have_the_same_scores(made, request):
    data, graph, samples = made
    model = simulated_model_of(read(data), graph)
    activations = ActivationStatistics(Session(data), model, samples)
    rest = activations.all, sorted(activations.all.tensors), activations.trials
    one = scores_alone(model, *rest, lambda _: None)
    request.getfixturevalue("three_cores")
    told = []
    for name, score in scores_alone(model, *rest, told.append).items():
        assert np.array_equal(score.noise, one[name].noise)
    assert told == list(range(1, len(samples) + 1))


@pytest.mark.parametrize("unseen", [True, False])
def test_the_short_explanation_says_what_the_long_one_says(made, unseen):
    data, graph, samples = made
    long = explain(data, graph, samples, unseen=unseen)
    short = explain(data, graph, samples, unseen=unseen, every=False)
    assert long.worst() and summary(short) == summary(long)
    assert len(short.layers) <= len(long.layers)
    for ours, theirs in zip(short.worst(), long.worst(), strict=True):
        assert ours.local_db == theirs.local_db and ours.core_use == theirs.core_use


def test_without_runs_of_layers_every_one_has_its_errors_and_no_share(made):
    data, graph, samples = made
    told, quick = (explain(data, graph, samples, alone=alone) for alone in (True, False))
    assert summary(quick) == summary(told)[:1] and not quick.worst()
    assert {c.name for c in quick.layers} == {c.name for c in told.layers}
    assert {c.share for c in quick.layers} == {None} and quick.sqnr == told.sqnr
