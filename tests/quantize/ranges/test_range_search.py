from __future__ import annotations

import numpy as np
import pytest

from edgekit.calibration import OBSERVERS
from edgekit.toolkit.quantize import CandidateEvaluator, Options, Plan, Score, calibrate
from edgekit.toolkit.quantize.ranges.candidate_evaluation import HELD_OUT
from edgekit.toolkit.quantize.ranges.range_search import RangeSearch, fixed_ranges

MACS = 10_000


@pytest.fixture
def net(g):
    x = g.input("x", 1, 6, 6, 4)
    a = g.conv(x, 8, act_min=0.0, name="a")
    return g.output(g.conv(a, 4, name="y"))


def samples(scales, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": (s * rng.normal(size=(1, 6, 6, 4))).astype(np.float32)} for s in scales]


def search_of(graph, data):
    found = calibrate(graph, data)
    ranges = fixed_ranges(found, "minmax")
    plan, trials = Plan(graph, ranges, Options(means=found.means())), CandidateEvaluator(found)
    return RangeSearch(plan, found, trials, trials.score(plan, ranges), MACS)


def clipped(search, factor):
    return {name: (low * factor, high * factor) for name, (low, high) in search.ranges.items()}


def test_what_gains_on_every_other_sample_alone_is_refused(net):
    """Even samples are small: narrow ranges serve them and clip those between."""
    search = search_of(net, samples([0.1, 8.0] * 16))
    score, narrow = search.score, clipped(search, 1 / 20)
    tried = search.trials.score(search.plan, narrow)
    assert tried.surpasses(score, 3.0, at=slice(0, None, 2))
    assert search.trials.challenge(search.plan, narrow, score, 0.01)[0] is None
    before = dict(search.ranges)
    search.descend()
    fresh = search_of(net, samples([0.1, 8.0] * 16, seed=6)).trials
    wide = fresh.score(search.plan, before)
    assert fresh.score(search.plan, search.ranges).gain_db(wide) > -0.1


def test_luck_on_few_samples_is_refused(net):
    """Of many ranges a few thousandths apart the best on four samples is the best by chance."""
    search = search_of(net, samples([1.0] * 8))
    start, factors = search.score, np.linspace(0.985, 1.0, 60)
    plan, tried = search.plan, [clipped(search, f) for f in factors]
    best = max(search.trials.score(plan, r).gains(start)[::2].mean() for r in tried)
    assert best > 0.1
    assert all(search.trials.challenge(plan, r, start, 0.01)[0] is None for r in tried)


def test_ranges_that_serve_all_samples_are_found(net):
    """An outlier in a channel that nothing reads makes the range of the input far too wide."""
    net.nodes[0].input(1).const[..., 0] = 0
    data = samples([1.0] * 32)
    data[7]["x"][0, 0, 0, 0] = 60.0
    search = search_of(net, data)
    search.descend()
    fresh = search_of(net, samples([1.0] * 32, seed=6)).trials
    wide = fresh.score(search.plan, fixed_ranges(search.calibration, "minmax"))
    assert fresh.score(search.plan, search.ranges).gain_db(wide) > 3


def test_a_search_without_gains_ends(net, monkeypatch):
    search, tried = search_of(net, samples([1.0] * 32)), []
    monkeypatch.setattr(
        search.trials, "challenge", lambda *given: tried.append(given[1]) or (None, False)
    )
    search.patience = 3
    search.descend()
    assert len(tried) == 3


def test_the_start_is_minmax_unless_another_is_better_for_certain(net):
    search = search_of(net, samples([1.0] * 32))
    before, trials = dict(search.ranges), search.trials
    search.choose_start([search.plan])
    first = trials.score(search.plan, before)
    assert search.ranges == before or search.score.beats(first, 0.0)


def test_a_start_that_serves_most_samples_and_ruins_few_is_refused(net, monkeypatch):
    search = search_of(net, samples([1.0] * 32))
    first, before = search.score, dict(search.ranges)
    noise = first.noise * 0.1
    noise[0, 5] = 1000 * first.noise.mean()
    lucky = Score(noise, first.signal)
    assert lucky.surpasses(first, 1.0) and lucky.mean_db < first.mean_db
    monkeypatch.setattr(search.trials, "score", lambda *_: lucky)
    search.choose_start([search.plan, Plan(net, search.ranges, Options())])
    assert search.score is first and search.ranges == before


def test_the_best_of_many_tries_must_stand_out_further_than_one(net, monkeypatch):
    search = search_of(net, samples([1.0] * 32))
    first, before = search.score, dict(search.ranges)
    gains = np.tile([1.0, -1.0], 16) + 2.4 / np.sqrt(31)
    lucky = Score(first.noise / 10 ** (gains / 10), first.signal)
    assert lucky.beats(first, 0.0)
    monkeypatch.setattr(search.trials, "score", lambda *_: lucky)
    search.choose_start([search.plan, Plan(net, search.ranges, Options())])
    assert search.score is first and search.ranges == before


def test_few_samples_that_make_most_of_the_noise_do_not_decide():
    signal = np.array([1.0])
    base = np.where(np.arange(16) == 3, 1.0, 1e-3)[None]
    other = np.where(np.arange(16) == 3, 0.5, 2e-3)[None]
    one, two = Score(base, signal), Score(other, signal)
    assert two.mean_db > one.mean_db + 2
    assert two.gain_db(one) < 0 and not two.beats(one, 0.0)


def test_outputs_of_few_numbers_have_little_say_in_a_comparison(g):
    """The errors of a single number vary by chance; those of many show a gain that all have."""
    x, geometry = g.input("x", 1, 6, 6, 4), {"kernel": (6, 6), "stride": (6, 6)}
    geometry |= {"dilation": (1, 1), "out_hw": (1, 1), "pads": (0, 0, 0, 0)}
    one = g.emit("MaxPool2d", g.conv(x, 1), name="one", **geometry)
    calibration = calibrate(g.output(g.conv(x, 4, name="many"), one), samples([1.0] * 32))
    trials = CandidateEvaluator(calibration)
    sizes = {p.tensor: v[0].size for p, v in zip(trials.points, trials.truth, strict=True)}
    assert sizes == {"many": 144, "one": 1}
    rng, gain = np.random.default_rng(0), {"many": 0.5, "one": 0.0}
    first, second = (
        np.stack([rng.chisquare(n, 32) / 10 ** (better * gain[t] / 10) for t, n in sizes.items()])
        for better in (0, 1)
    )
    before, after = (Score(noise, np.full(2, 1e4)) for noise in (first, second))
    assert not after.surpasses(before, 0.25, HELD_OUT)
    assert after.surpasses(before, 0.25, HELD_OUT, weights=trials.certainty)
    assert not before.surpasses(after, 0.0, HELD_OUT, weights=trials.certainty)


def test_no_gain_makes_up_for_a_loss_at_an_output_that_is_too_noisy():
    signal, noise = np.array([1e3, 1e3]), np.full((2, 16), 1.0)
    champion = Score(noise, signal, signal)  # 18 dB at both outputs
    better, worse = noise * [[0.1], [0.98]], noise * [[0.1], [1.1]]
    assert Score(better, signal, signal).beats(champion, 0.0)
    assert not Score(worse, signal, signal).beats(champion, 0.0)
    fine = Score(noise / 10, signal, signal)
    assert Score(worse / 10, signal, signal).beats(fine, 0.0)  # 27.6 dB is enough


def test_the_best_start_is_taken_of_those_that_are_better_for_certain(net, monkeypatch):
    search = search_of(net, samples([1.0] * 16))
    first, parts = search.score, dict(zip(OBSERVERS, [1.5, 0.6, 0.1, 0.3, 0.8], strict=True))
    scores = {name: Score(first.noise * part, first.signal) for name, part in parts.items()}
    tried = iter(scores.values())
    monkeypatch.setattr(search.trials, "contend", lambda *_: next(tried))
    search.choose_start([search.plan])
    best = min(parts, key=parts.__getitem__)
    assert search.score is scores[best]
    assert search.ranges == fixed_ranges(search.calibration, best)


@pytest.mark.parametrize("noisy", ["x", "a"])
def test_the_noisiest_tensor_is_searched_first(net, monkeypatch, noisy):
    """Its range is a hundred times what its values need, whichever it is in order of execution."""
    search = search_of(net, samples([1.0] * 8))
    low, high = search.ranges[noisy]
    search.ranges[noisy] = (100 * low, 100 * high)
    seen = []
    monkeypatch.setattr(search, "_alternatives", lambda group: seen.append(group) or [])
    search.descend()
    assert len(seen) > 1 and noisy in {v.name for v in seen[0].readers}


@pytest.mark.parametrize("between, kept", [(-0.2, False), (3.0, True)])
def test_samples_that_had_no_part_in_the_search_confirm(net, monkeypatch, between, kept):
    """All samples together gain for certain; those between the searched ones decide as well."""
    search = search_of(net, samples([1.0] * 32))
    champion = Score(np.ones_like(search.score.noise), search.score.signal)
    gains = np.tile([3.0, between], 16)
    noise = champion.noise / 10 ** (gains / 10)
    assert Score(noise, champion.signal).beats(champion, 0.01)
    monkeypatch.setattr(search.trials, "_run", lambda _, at: noise[:, at])
    found, _ = search.trials.challenge(search.plan, search.ranges, champion, 0.01)
    assert (found is not None) == kept


@pytest.mark.parametrize("first, runs", [((-3.0, -2.0), 1), ((-3.0, 2.5), 4), ((3.0, 2.0), 4)])
def test_what_loses_on_a_quarter_of_the_samples_runs_on_no_others(net, monkeypatch, first, runs):
    search = search_of(net, samples([1.0] * 32))
    champion = Score(np.ones_like(search.score.noise), search.score.signal)
    gains = np.tile([first[0], 5.0, 5.0, 5.0, first[1], 5.0, 5.0, 5.0], 4)
    noise, ran = champion.noise / 10 ** (gains / 10), []
    monkeypatch.setattr(search.trials, "_run", lambda _, at: ran.append(at) or noise[:, at])
    found = search.trials.contend(search.plan, search.ranges, champion)
    assert len(ran) == runs and (found is None) == (runs == 1)
    assert found is None or np.array_equal(found.noise, noise)


@pytest.mark.parametrize("gain, ran", [(-3.0, 4), (0.0, 4), (0.02, 16), (3.0, 64)])
def test_a_challenge_that_loses_on_few_samples_runs_on_no_others(net, monkeypatch, gain, ran):
    search = search_of(net, samples([1.0] * 64))
    champion = Score(np.ones_like(search.score.noise), search.score.signal)
    noise, seen = champion.noise / 10 ** (gain / 10), []
    run = lambda _, at: seen.extend(range(64)[at]) or noise[:, at]  # noqa: E731
    monkeypatch.setattr(search.trials, "_run", run)
    found, worse = search.trials.challenge(search.plan, search.ranges, champion, 0.03)
    assert worse == (gain < 0)
    assert len(seen) == len(set(seen)) == ran and (found is not None) == (ran == 64)
    assert found is None or np.array_equal(found.noise, noise)


def test_ranges_within_one_that_loses_are_left(net, monkeypatch):
    """They clip yet more; those that are wider in one end are tried, and all count."""
    search = search_of(net, samples([1.0] * 8))
    group = search._by_noise()[0]
    name = group.readers[0].name
    low, high = search.ranges[name]
    factors = [(0.5, 0.5), (0.4, 0.4), (0.4, 0.6), (2.0, 2.0), (1.5, 1.5)]
    tried, options = [], [{name: (low * a, high * b)} for a, b in factors]
    monkeypatch.setattr(search, "_by_noise", lambda: [group])
    monkeypatch.setattr(search, "_alternatives", lambda group: options)
    lose = lambda plan, ranges, *_: tried.append(ranges[name]) or (None, True)  # noqa: E731
    monkeypatch.setattr(search.trials, "challenge", lose)
    search.descend()
    assert tried == [options[i][name] for i in (0, 2, 3, 4)]
