"""A verdict is by samples that made neither the ranges nor the weights."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.quantize import CandidateEvaluator, Options, Plan, Score, calibrate
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import quality_of
from edgekit.toolkit.quantize.optimize import quantize_model
from edgekit.toolkit.quantize.ranges import candidate_evaluation
from edgekit.toolkit.quantize.ranges.held_out import (
    Candidate,
    held_out,
    held_out_by,
    parts_of,
    ranges_without,
    surpasses_held_out,
    unclipped,
)

OPEN = {"act_min": -np.inf, "act_max": np.inf}


def pack(graph):
    return build_file(graph)


def silent(*_):
    pass


@pytest.fixture
def net(g):
    x = g.input("x", 1, 8)
    w = g.const(g.rng.normal(size=(4, 8)))
    return g.output(g.emit("FullyConnected", x, w, None, name="y", **OPEN))


def samples(count, seed, loud=()):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(count, 1, 8))
    for at, factor in loud:
        x[at] *= factor
    return [{"x": row.astype(np.float32)} for row in x]


@pytest.mark.parametrize("count", [1, 2, 7, 8, 30])
def test_each_sample_is_in_one_part_and_judged_by_the_other_fold(count):
    places = [(fold, i) for fold, at in parts_of(count) for i in range(count)[at]]
    assert sorted(i for _, i in places) == list(range(count))
    assert all(fold == 1 - i % 2 for fold, i in places)  # as two_folds has them


def test_ranges_reach_as_far_beyond_what_the_others_show(net):
    found = calibrate(net, samples(12, 0, loud=[(3, 4.0)]))
    low, high = found.observed("minmax", "x")
    _, rest = found.without(slice(3, None, 4))["x"]
    assert rest < 0.5 * high
    wider = {"x": (1.5 * low, 1.5 * high), "other": (0.0, 1.0)}
    without = ranges_without(found, wider, slice(3, None, 4))
    assert without["x"][1] == pytest.approx(1.5 * rest) and without["other"] == (0.0, 1.0)
    clipped = {"x": (0.1 * low, 0.1 * high)}
    assert ranges_without(found, clipped, slice(3, None, 4)) == clipped
    assert ranges_without(found, wider, slice(0, None, 4))["x"][1] == pytest.approx(1.5 * high)


def test_a_sample_beyond_all_others_lowers_the_verdict(net):
    data = samples(16, 0, loud=[(5, 4.0)])
    found = calibrate(net, data)
    trials = CandidateEvaluator(found)
    plan = Plan(net, found.without(slice(0, 0)), Options(means=found.means()))
    own, unseen = trials.score(plan, plan.wide), held_out([plan], plan.wide, found, trials)
    quiet = np.arange(16) != 5
    assert own.mean_db > 35 and unseen.mean_db < 15
    assert unseen.noise[:, 5] > 100 * own.noise[:, 5]
    assert unseen.noise[:, quiet].sum() < 0.1 * unseen.noise[:, 5].sum()


def test_the_quality_of_a_quantization_is_by_samples_that_did_not_make_it(net):
    done = quantize_model(net, samples(16, 0, loud=[(5, 4.0)]), "minmax", rounding="nearest")
    quality = quality_of(done, pack, silent)
    assert quality.held_out and done.score.mean_db > 35
    assert quality.worst[1] < 15 and quality.level == "broken"
    one = quantize_model(net, samples(1, 0), "minmax", rounding="nearest")
    alone = quality_of(one, pack, silent)
    assert not alone.held_out and alone.worst[1] > 35 and alone.level == "usable"


@pytest.mark.parametrize(("factor", "count"), [(4.0, 32), (0.25, 32), (1.0, 32), (4.0, 16)])
def test_a_clear_difference_on_a_part_decides(net, factor, count, monkeypatch):
    """Ranges of four times the width lose on every sample, a quarter of it clips every sample."""
    found = calibrate(net, samples(count, 0))
    trials, seen = CandidateEvaluator(found), found.without(slice(0, 0))
    plan, run = Plan(net, seen, Options(means=found.means())), []
    other = {name: (factor * low, factor * high) for name, (low, high) in seen.items()}
    scores = [held_out([plan], r, found, trials) for r in (seen, other)]
    judge, before = CandidateEvaluator.judge, trials.count
    monkeypatch.setattr(CandidateEvaluator, "judge", lambda *a: run.append(a[2]) or judge(*a))
    pair = [Candidate([plan], r, found) for r in (seen, other)]
    for (a, b), (x, y) in ((pair, scores), (pair[::-1], scores[::-1])):
        run.clear()
        assert surpasses_held_out(a, b, trials) == x.surpasses(y, 0.0, 0.0)
        decided = factor != 1.0 and count == 32  # parts of 4 samples are too small
        assert len(run) == (2 if decided else 2 * 4)
    assert trials.count == before + 4


@pytest.mark.parametrize(("factor", "parts"), [(0.5, 1), (1.0, 0), (1.2, 0)])
def test_ranges_that_surely_gain_nothing_by_clipping_are_widened_by_the_first_part(
    net, monkeypatch, factor, parts
):
    found = calibrate(net, samples(32, 0))
    seen = found.without(slice(0, 0))
    given = {name: (factor * low, factor * high) for name, (low, high) in seen.items()}
    plan, run = Plan(net, seen, Options(means=found.means())), []
    judge = CandidateEvaluator.judge
    monkeypatch.setattr(CandidateEvaluator, "judge", lambda *a: run.append(a[2]) or judge(*a))
    wider = unclipped(plan, given, found, CandidateEvaluator(found, plan.graph))
    assert wider == (seen if parts else None)
    assert len(run) == 2 * parts  # of both ranges; none where nothing is clipped


def test_nothing_is_gained_or_lost_without_evaluation_points():
    none = Score(np.zeros((0, 16)), np.zeros(0))
    assert not none.surpasses(none, -np.inf, -1.0) and not none.gains_less(none, 1.0)


def test_ranges_stay_clipped_if_all_samples_together_gain_by_it(net, monkeypatch):
    """Here the measure is a fake one: clipping gains 2 dB on each sample."""
    found = calibrate(net, samples(32, 0))
    seen = found.without(slice(0, 0))
    half = {name: (low / 2, high / 2) for name, (low, high) in seen.items()}
    plan, trials = Plan(net, seen, Options(means=found.means())), CandidateEvaluator(found)
    levels = iter([1.0, 10**0.2] * 4)
    monkeypatch.setattr(trials, "judge", lambda graph, at, figures: (
        np.full((len(trials.points), 8), next(levels)), np.empty((8, 0))))  # fmt: skip
    assert unclipped(plan, half, found, trials) is None
    assert next(levels, None) is None  # every part of both was asked for


def test_a_file_runs_once_on_a_sample(net, monkeypatch):
    """By whatever way its score is asked for; its figures are what needs it to run again."""
    found, ran = calibrate(net, samples(32, 0)), []
    seen = found.without(slice(0, 0))
    plan = Plan(net, seen, Options(means=found.means()))
    many = candidate_evaluation.run_many
    monkeypatch.setattr(candidate_evaluation, "run_many",
                        lambda session, feeds: ran.append(feeds := list(feeds)) or
                        many(session, iter(feeds)))  # fmt: skip
    trials = CandidateEvaluator(found, plan.graph)
    score = trials.score(plan, seen)
    same = CandidateEvaluator(found, plan.graph)
    known = [same.score(plan, seen), held_out_by([plan], lambda _: seen, same)]
    assert same.contend(plan, seen, score) is None  # it is no better
    assert [len(feeds) for feeds in ran] == [32]
    assert all(np.array_equal(one.noise, score.noise) for one in known)
    trials.judge(plan.emit(seen, trial=True)[0], slice(1, None, 4))
    assert [len(feeds) for feeds in ran] == [32, 8]
    score.noise[:] = 0  # not what is known
    assert trials.score(plan, seen).noise.all()


def test_a_file_is_judged_once(net, monkeypatch):
    """Whatever asks for it, on the same samples; another file and other samples are judged anew."""
    found = calibrate(net, samples(32, 0))
    seen = found.without(slice(0, 0))
    plan, run = Plan(net, seen, Options(means=found.means())), []
    ran = CandidateEvaluator._run
    monkeypatch.setattr(CandidateEvaluator, "_run", lambda *a: run.append(a[2]) or ran(*a))
    first = held_out([plan], seen, found, CandidateEvaluator(found, plan.graph))
    again = held_out([plan], seen, found, CandidateEvaluator(found, plan.graph))
    assert len(run) == 4 and np.array_equal(first.noise, again.noise)
    half = {name: (low / 2, high / 2) for name, (low, high) in seen.items()}
    other = held_out([plan], half, found, CandidateEvaluator(found, plan.graph))
    assert len(run) == 8 and (other.noise > first.noise).all()
    few = CandidateEvaluator(found, plan.graph).on(16)
    held_out([plan], seen, found, few)
    assert len(run) == 12
    fresh = calibrate(net, samples(32, 0))
    anew = held_out([plan], seen, fresh, CandidateEvaluator(fresh, plan.graph))
    assert len(run) == 16 and np.array_equal(first.noise, anew.noise)
