"""Budgets: met where they can be, by what they need and no more, the same way every time."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.accuracy import Judge, OwnRuntime, compare, open_metric
from edgekit.toolkit.build import build_file
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import Budget, fit_budget, quantize_model
from edgekit.toolkit.quantize.mixed_precision import cross_validation
from edgekit.toolkit.quantize.mixed_precision.cross_validation import FoldWeights
from edgekit.toolkit.quantize.mixed_precision.evaluator import Evaluator
from edgekit.toolkit.quantize.mixed_precision.precision_change import PrecisionAssignment
from edgekit.toolkit.quantize.reconstruction.layer_rounding import round_weights
from edgekit.toolkit.runtime import Session


def pack(graph):
    return build_file(graph, None, remove_constant_channels(graph))


def noisy_samples(count=16, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=(1, 8, 8, 3)).astype(np.float32)} for _ in range(count)]


def sqnr(floats, graph, samples):
    return compare(Session(pack(graph)), OwnRuntime(floats), samples).outputs[0].sqnr_db


@pytest.fixture
def net(g):
    x = g.input("x", 1, 8, 8, 3)
    a = g.conv(x, 8, act_min=0.0, name="a")
    b = g.conv(a, 8, groups=8, act_min=0.0, name="b")
    flat = g.emit("Reshape", g.conv(b, 4, kernel=1, name="c"), shape=(1, 256), name="flat")
    w = g.const(g.rng.normal(size=(6, 256)) * 0.1)
    bounds = {"act_min": -np.inf, "act_max": np.inf}
    return g.output(g.emit("FullyConnected", flat, w, None, name="logits", **bounds))


@pytest.fixture
def done(net):
    return quantize_model(net, noisy_samples(), "minmax")


def fitted(done, drop=None, **limits):
    return fit_budget(done, Budget(**limits), pack, drop)


def dtypes(graph):
    return {n.output.dtype.name for n in graph.nodes}


def test_what_is_good_enough_stays_as_it_is(done):
    found = fitted(done, min_sqnr=10.0, max_bytes=1 << 20)
    assert found.mixed.met and found.mixed.nodes == {}
    assert found.mixed.chosen == found.mixed.int8
    assert pack(found.graph) == pack(done.graph)


def test_a_limit_of_noise_is_met_by_int16(done):
    found = fitted(done, min_sqnr=done.sqnr_db + 1)
    mixed = found.mixed
    assert mixed.met and found.sqnr_db >= done.sqnr_db + 1
    assert {"int8", "int16"} <= dtypes(found.graph)
    assert "int16" in mixed.nodes.values() and "float32" not in mixed.nodes.values()
    assert mixed.chosen.sqnr_db == pytest.approx(found.sqnr_db, abs=0.01)


def test_what_is_promised_is_in_the_file(done):
    found = fitted(done, min_sqnr=done.sqnr_db + 1)
    data = pack(found.graph)
    assert found.mixed.chosen.file_bytes == len(data)
    assert found.mixed.chosen.arena_bytes == read(data).memory.arena_bytes


def test_nothing_is_changed_that_could_be_left(done):
    wanted = done.sqnr_db + 1
    found = fitted(done, min_sqnr=wanted)
    assert len(found.mixed.nodes) < len(done.graph.nodes)
    more = fitted(done, min_sqnr=found.sqnr_db + 1)
    assert len(more.mixed.nodes) >= len(found.mixed.nodes)


def test_weights_too_coarse_for_int16_are_float(done):
    found = fitted(done, min_sqnr=100.0)
    assert found.mixed.met and "float32" in found.mixed.nodes.values()


def test_memory_is_kept_while_noise_falls(done):
    free = fitted(done, min_sqnr=done.sqnr_db + 1).mixed.chosen
    limit = free.arena_bytes - 1
    found = fitted(done, min_sqnr=done.sqnr_db + 1, max_arena=limit)
    assert found.mixed.chosen.arena_bytes <= limit
    assert found.mixed.met == (found.sqnr_db >= done.sqnr_db + 1)


def test_what_cannot_be_met_says_so_and_comes_close(done):
    size = fitted(done, min_sqnr=0.0).mixed.int8
    found = fitted(done, min_sqnr=100.0, max_bytes=size.file_bytes + 400)
    assert not found.mixed.met and found.mixed.to_json()["budget_met"] is False
    assert found.mixed.chosen.file_bytes <= size.file_bytes + 400
    assert found.sqnr_db > done.sqnr_db


def test_what_was_said_without_a_budget_is_said_with_one(done):
    found = fitted(done, max_arena=1)
    assert not found.mixed.met and pack(found.graph) == pack(done.graph)
    assert found.sqnr_db == done.sqnr_db and found.held_out == done.held_out
    assert found.mixed.trials == 2  # nothing makes an arena smaller: the ends alone


def test_an_operator_has_one_precision_in_words(done):
    found = fit_budget(done, Budget(min_sqnr=46.0), pack, rounding="nearest")
    assert {"int16", "float32"} <= set(found.mixed.nodes.values())
    told = {}
    for d in found.decisions:
        if d.what.startswith(("kept", "made")):
            told.setdefault((d.op, d.node), []).append(d.what)
    assert told and all(len(what) == 1 for what in told.values()), told


def test_any_number_of_decibels_may_be_asked_for(done):
    found = fitted(done, min_sqnr=1e9)
    assert not found.mixed.met and found.sqnr_db > done.sqnr_db


def test_no_file_is_as_small_as_nothing(done):
    found = fitted(done, max_bytes=100)
    assert not found.mixed.met
    assert found.mixed.chosen.file_bytes <= found.mixed.int8.file_bytes


@pytest.mark.parametrize("rounding", ["nearest", "auto"])
def test_a_limit_of_bytes_is_met_by_4_bit_weights(done, rounding):
    limit = fitted(done).mixed.int8.file_bytes - 500
    found = fit_budget(done, Budget(max_bytes=limit), pack, rounding=rounding)
    assert found.mixed.met and found.mixed.chosen.file_bytes <= limit
    assert found.mixed.nodes == {"logits": "int4"}
    (told,) = [d.why for d in found.decisions if "4-bit" in d.what]
    assert told.startswith("saves ") and "dB" not in told, "a cost would be that of nearest weights"
    assert {n.attrs["storage"].group for n in found.graph.nodes if "storage" in n.attrs} <= {0, 32}
    worst = min(p.sqnr_db for p in found.mixed.pareto)
    assert found.sqnr_db > worst  # than the whole model on 4 bits


def test_what_is_said_of_rounded_weights_holds_on_new_samples(net):
    done = quantize_model(net, noisy_samples(128), "minmax", rounding="nearest")
    limit = fitted(done).mixed.int8.file_bytes - 900
    plain, rounded = (
        fit_budget(done, Budget(max_bytes=limit), pack, rounding=rounding)
        for rounding in ("nearest", "auto")
    )
    fresh = noisy_samples(64, seed=11)
    assert sqnr(net, rounded.graph, fresh) > sqnr(net, plain.graph, fresh) - 0.3
    for found in plain, rounded:
        assert found.sqnr_db == pytest.approx(sqnr(net, found.graph, fresh), abs=1.5)


def test_bytes_hold_where_noise_cannot(done):
    limit = fitted(done).mixed.int8.file_bytes - 500
    found = fitted(done, max_bytes=limit, min_sqnr=done.sqnr_db + 3)
    assert not found.mixed.met and found.mixed.chosen.file_bytes <= limit
    enough = fitted(done, max_bytes=limit, min_sqnr=10.0)
    assert enough.mixed.met and set(enough.mixed.nodes.values()) == {"int4"}


def test_weights_that_were_4_bit_go_back_where_it_matters(g):
    x = g.conv(g.input("x", 1, 8, 8, 3), 8, act_min=0.0, name="a")
    x = g.conv(g.conv(x, 8, act_min=0.0, name="b"), 4, name="c")
    w = g.const(g.rng.normal(size=(6, 256)) * 0.1)
    bounds = {"act_min": -np.inf, "act_max": np.inf}
    flat = g.emit("Reshape", x, shape=(1, 256), name="flat")
    net = g.output(g.emit("FullyConnected", flat, w, None, name="logits", **bounds))
    coarse = quantize_model(net, noisy_samples(), "minmax", weights="int4", rounding="nearest")
    found = fitted(coarse, min_sqnr=coarse.sqnr_db + 2)
    assert found.mixed.met
    back = [d.why for d in found.decisions if d.what == "made int8"]
    assert back and all(why.startswith("rounding to 4 bits causes") for why in back)
    assert 0 < sum(p == "int4" for p in found.mixed.nodes.values()) < len(coarse.graph.nodes)


def test_what_8_bits_mend_is_not_made_float(net, done, monkeypatch):
    """Even where float32 promises most for its bytes."""
    worth = {"float32": 1000.0}
    monkeypatch.setattr(
        Evaluator,
        "gains",
        lambda _, changes, taken, gain, **_how: {m: gain(m, worth.get(m.to, 1.0)) for m in changes},
    )
    coarse = quantize_model(net, noisy_samples(), "minmax", weights="int4", rounding="nearest")
    assert len(pack(coarse.graph)) < len(pack(done.graph))

    def drop(data):
        return float(any(o.is_coded for o in read(data).ops))

    found = fit_budget(coarse, Budget(max_drop=0.0), pack, drop, rounding="nearest")
    assert found.mixed.met and "float32" not in found.mixed.nodes.values()
    assert len(pack(found.graph)) <= len(pack(done.graph))


def test_the_same_samples_mix_the_same(net):
    once, again = (
        fitted(quantize_model(net, noisy_samples(), "minmax"), min_sqnr=40.0) for _ in range(2)
    )
    assert once.mixed == again.mixed and pack(once.graph) == pack(again.graph)


def test_what_is_not_needed_goes_in_blocks(done):
    wide, judged = {"a"}, []

    def drop(data):
        judged.append(data)
        made = {o.name: o.dtype.name for o in Session(data).op_outputs}
        return float(sum(made[name] != "int16" for name in wide))

    found = fitted(done, drop, max_drop=0.0)
    assert found.mixed.met and found.mixed.nodes["a"] == "int16"
    assert sum(n.output.dtype == np.int16 for n in found.graph.nodes) <= 3
    assert len(judged) == len(set(judged)) <= 14
    assert all(p.drop is not None for p in found.mixed.pareto)
    assert None not in (found.mixed.int8.sqnr_db, found.mixed.chosen.sqnr_db)


def test_the_best_of_what_was_tried_is_taken_where_nothing_is_good(done):
    tried = {}

    def drop(data):
        return tried.setdefault(data, 9.0 - len(tried))

    found = fitted(done, drop, max_drop=0.5)
    assert not found.mixed.met and len(tried) >= 3
    assert found.mixed.chosen.drop == min(tried.values())


def test_judging_that_takes_long_is_done_less_often(done):
    counts = []
    for judged in (0, 1 << 40):
        calls = []
        drop = lambda data, calls=calls: calls.append(data) or float(len(calls) == 1)  # noqa: E731
        fit_budget(done, Budget(max_drop=0.0), pack, drop, judged=judged)
        counts.append(len(calls))
    assert counts[1] <= counts[0]


@pytest.mark.parametrize("limits", [{}, {"min_sqnr": 20.0}])
def test_rounding_for_the_mix_does_not_break_what_was_met(net, limits):
    done = quantize_model(net, noisy_samples(32), "minmax", rounding="gptq")
    mine = open_metric("mae")
    judge = Judge(net, noisy_samples(24, seed=8), mine)
    limit = judge.drop(pack(done.graph)) * 0.6
    found = fitted(done, judge.drop, max_drop=limit, **limits)
    assert found.mixed.met and found.mixed.nodes
    assert judge.drop(pack(found.graph)) == found.mixed.chosen.drop <= limit


def test_weights_are_rounded_for_the_mix_rather_than_float(net):
    done = quantize_model(net, noisy_samples(64), "minmax", rounding="nearest")
    judge = Judge(net, noisy_samples(24, seed=8), open_metric("mae"))
    assert not done.options.rounded
    wide = fitted(done, judge.drop, max_drop=0.0044)
    assert set(wide.mixed.nodes.values()) == {"int16"} and not wide.options.rounded
    budget = Budget(max_drop=0.0038)
    plain, found, flattered = (
        fit_budget(done, budget, pack, judge.drop, **more)
        for more in ({"rounding": "nearest"}, {}, {"unseen": False})
    )
    # The noisiest layer; of the small ones float32 may be the form of fewer bytes.
    assert plain.mixed.met and plain.mixed.nodes["a"] == "float32"
    assert found.mixed.met and found.mixed.nodes["a"] == "int16"
    assert judge.drop(pack(found.graph)) == found.mixed.chosen.drop
    assert len(pack(found.graph)) < len(pack(plain.graph))
    assert found.options.rounded and not flattered.options.rounded  # these samples round, and judge
    assert flattered.mixed == plain.mixed


def test_noise_too_is_less_by_rounding_rather_than_float(net):
    done = quantize_model(net, noisy_samples(128), "minmax", rounding="nearest")
    plain, found = (
        fit_budget(done, Budget(min_sqnr=41.0), pack, rounding=rounding)
        for rounding in ("nearest", "auto")
    )
    # The noisiest layer; of the small ones float32 may be the form of fewer bytes.
    assert plain.mixed.met and plain.mixed.nodes["a"] == "float32"
    assert found.mixed.met and found.mixed.nodes["a"] == "int16"
    assert found.held_out and not plain.held_out
    assert len(pack(found.graph)) < len(pack(plain.graph))
    fresh = noisy_samples(64, seed=11)
    assert sqnr(net, found.graph, fresh) > sqnr(net, plain.graph, fresh)


def test_weights_are_judged_by_samples_that_had_no_part_in_them(net, monkeypatch):
    done = quantize_model(net, noisy_samples(9), "minmax")
    weights = FoldWeights(done, True, silent)
    seen = []

    def round_weights(plan, ranges, inputs, *_):
        seen.append([float(x["x"].sum()) for x in inputs])
        return {}

    monkeypatch.setattr(cross_validation, "round_weights", round_weights)
    weights.add(PrecisionAssignment.of(done.options), True)
    every = [float(k.inputs["x"].sum()) for k in done.calibration.kept]
    for mine, (_, judging) in zip(seen, weights.folds, strict=True):
        assert sorted([*mine, *every[judging]]) == sorted(every)
    judged = [i for _, judging in weights.folds for i in range(9)[judging]]
    assert sorted(judged) == list(range(9))


def test_rows_are_rounded_once_each(done, monkeypatch):
    """Also where none gets good, whether there are steps or not."""
    rounded = []

    def rounded_for(self, assignment, anew):
        rounded.append((assignment, anew))
        return assignment

    monkeypatch.setattr(Evaluator, "rounded_for", rounded_for)
    for limits in {"min_sqnr": 1e9}, {"min_sqnr": 60.0, "max_bytes": len(pack(done.graph))}:
        rounded.clear()
        assert not fitted(done, **limits).mixed.met
        anew = [assignment for assignment, all_of_them in rounded if all_of_them]
        assert anew and len(anew) == len(set(anew))


def test_a_mix_is_rounded_for_once(net, monkeypatch):
    done = quantize_model(net, noisy_samples(128), "minmax", rounding="nearest")
    limit = fitted(done).mixed.int8.file_bytes - 600
    count = 0

    def counted(*given):
        nonlocal count
        count += 1
        return round_weights(*given)

    monkeypatch.setattr(cross_validation, "round_weights", counted)
    found = fitted(done, max_bytes=limit)
    assert found.mixed.met and found.options.rounded
    # With each size of groups all on 4 bits and a mix, for each half; in the end for all samples.
    assert count == 2 * (2 + 2) + 1


def test_top1_is_judged_by_labels(net, done):
    samples = noisy_samples(64, seed=8)
    judge = Judge(net, samples)
    truth = judge.references["logits"].argmax(1)
    exact = pack(net)
    assert judge.drop(exact) == 0.0
    wrong = labelled(net, samples, (truth + 1) % 6)
    assert wrong.drop(pack(done.graph)) <= 0.0  # what float gets wrong cannot be lost
    found = fitted(done, judge.drop, max_drop=0.0)
    assert found.mixed.met and judge.drop(pack(found.graph)) == 0.0
    assert found.mixed.chosen.drop == 0.0


def test_what_a_metric_loses_is_limited_in_its_unit_or_in_percent(net, done):
    def halves(outputs, references, data):
        noise = np.abs(outputs["logits"] - references["logits"]).mean()
        return -50.0 - 100 * float(noise)

    samples = noisy_samples(24, seed=8)
    own = Judge(net, samples, open_metric(halves))
    percent = Judge(net, samples, open_metric(halves), percent=True)
    int8 = pack(done.graph)
    assert (own.real, own.unit, percent.unit) == (-50.0, "", "%")
    assert percent.drop(int8) == pytest.approx(2 * own.drop(int8)) and own.drop(int8) > 0
    limit = percent.drop(int8) / 2
    found = fitted(done, percent.drop, max_drop=f"{limit}%")
    assert found.mixed.met and found.mixed.nodes
    assert found.mixed.chosen.drop == percent.drop(pack(found.graph)) <= limit
    said = percent.judged(found.mixed.chosen.drop)
    assert said.edge == pytest.approx(-50.0 - own.drop(pack(found.graph)))
    assert said.drop_percent == pytest.approx(found.mixed.chosen.drop)
    assert fitted(done, own.drop, max_drop=limit).mixed.chosen.drop <= limit


def labelled(net, samples, labels):
    others = {"label": np.asarray(labels)}
    return Judge(net, samples, open_metric("top1", "label"), others=others)


def test_pictures_have_no_top1(g):
    graph = g.output(g.conv(g.input("x", 1, 8, 8, 3), 4, name="y"))
    with pytest.raises(UserError, match=r"'y' \[1, 8, 8, 4\].*--metric.*--min-sqnr"):
        Judge(graph, noisy_samples())


@pytest.mark.parametrize("labels", [[0] * 15, [0] * 17, []])
def test_labels_are_one_a_sample(net, labels):
    with pytest.raises(UserError, match="labels"):
        labelled(net, noisy_samples(), labels)
