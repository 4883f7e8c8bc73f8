"""Without a budget what is good stays int8; what is broken is promoted by as little as mends it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.format.schema import DistanceFn
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import (
    CandidateEvaluator,
    Options,
    Plan,
    calibrate,
    quantize_model,
)
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import (
    FREE,
    REPAIR,
    keep_floor,
    other_ranges_may_help,
    quality_of,
)
from edgekit.toolkit.quantize.mixed_precision.floor_criteria import Growth
from edgekit.toolkit.quantize.mixed_precision.output_promotion import TAIL_GAIN_DB
from edgekit.toolkit.quantize.mixed_precision.search import FIRST_LOOK, PrecisionSearch
from edgekit.toolkit.quantize.quality import FLOOR_DB, GOOD_DB
from edgekit.toolkit.quantize.ranges.held_out import held_out
from edgekit.toolkit.runtime import Session

FLOOR = "edgekit.toolkit.quantize.mixed_precision.accuracy_floor"
NONE = {"act_min": -np.inf, "act_max": np.inf}


def pack(graph):
    return build_file(graph, None, remove_constant_channels(graph))


def samples(*shape, count=24, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": rng.normal(size=shape).astype(np.float32)} for _ in range(count)]


def cancelling(g, scale):
    """A small signal that rides on a large one, which is taken away again."""
    x = g.input("x", 1, 8, 8, 3)
    small = g.conv(x, 4, name="small")
    large = g.emit("Mul", g.conv(x, 4, name="large"), g.const([scale]), name="scaled", **NONE)
    both = g.emit("Add", small, large, name="both", **NONE)
    left = g.emit("Sub", both, large, name="left", **NONE)
    return g.output(g.conv(left, 4, name="y"))


def fast(graph, feeds):
    return quantize_model(graph, feeds, "minmax", rounding="nearest")


def kept(done):
    return keep_floor(done, pack, silent, rounding="nearest")


@pytest.mark.parametrize(("scale", "level"), [(0.1, "good"), (30.0, "broken")])
def test_histograms_stay_only_for_another_start_of_a_broken_one(g, scale, level):
    done = quantize_model(cancelling(g, scale), samples(1, 8, 8, 3), "percentile")
    before = quality_of(done, pack, silent)
    keep_floor(done, pack, silent)
    assert before.level == level
    assert all((s.bins > 0) == (level == "broken") for s in done.given.stats.values())


def test_what_is_good_is_not_touched(g):
    x = g.input("x", 1, 8, 8, 3)
    done = fast(g.output(g.conv(x, 4)), samples(1, 8, 8, 3))
    found, promotion, quality = kept(done)
    assert found is done and promotion is None and quality.level == "good"
    plans, trials = [done.plan], CandidateEvaluator(done.calibration)
    unseen = held_out(plans, done.ranges, done.calibration, trials)
    assert quality.worst[1] == pytest.approx(unseen.mean_db, abs=0.01)


def test_samples_that_are_all_the_same_judge_no_better_than_one(g):
    x = g.input("x", 1, 8, 8, 3)
    graph, feeds = g.output(g.conv(x, 4)), samples(1, 8, 8, 3)
    one, same = (quality_of(fast(graph, feeds[:1] * n), pack, silent) for n in (1, 24))
    assert one.level == same.level == "usable"
    assert same.samples == 1 and not same.held_out
    almost = quality_of(fast(graph, [*feeds[:1] * 23, feeds[1]]), pack, silent)
    assert almost.samples == 24 and almost.held_out


def test_a_broken_one_is_mended_by_the_fewest_changes(g):
    done = fast(cancelling(g, 30.0), samples(1, 8, 8, 3))
    before = quality_of(done, pack, silent)
    assert before.level == "broken" and before.worst[1] < FLOOR_DB
    found, promotion, quality = kept(done)
    assert quality.level == "good" and found.sqnr_db >= GOOD_DB
    assert promotion.before == before and promotion.after == quality
    assert "float32" not in promotion.nodes and promotion.nodes["int16"] < len(found.graph.nodes)
    assert len(pack(found.graph)) == promotion.chosen.file_bytes
    cost = promotion.chosen.file_bytes - promotion.int8.file_bytes
    assert cost <= max(REPAIR.least_bytes, REPAIR.file * promotion.int8.file_bytes)


@pytest.mark.parametrize(("scale", "precision"), [(30.0, "int16"), (30_000.0, "float32")])
def test_a_first_look_mends_it_without_measuring_single_changes(g, monkeypatch, scale, precision):
    monkeypatch.setattr(PrecisionSearch, "rank", None)
    done = fast(cancelling(g, scale), samples(1, 8, 8, 3))
    found, promotion, quality = keep_floor(done, pack, silent, rounding="nearest", fast=True)
    assert quality.level == "good" and precision in promotion.nodes
    assert found.trials - done.trials < 12
    assert precision == "float32" or {d.why for d in found.decisions} == {FIRST_LOOK}


def test_a_first_look_leaves_a_usable_one(g):
    done = fast(cancelling(g, 14.0), samples(1, 8, 8, 3))
    found, promotion, quality = keep_floor(done, pack, silent, rounding="nearest", fast=True)
    assert found is done and promotion is None and quality.level == "usable"


def test_where_int16_is_too_coarse_float32_is_taken(g):
    done = fast(cancelling(g, 30_000.0), samples(1, 8, 8, 3))
    _, promotion, quality = kept(done)
    assert quality.level == "good" and "float32" in promotion.nodes


def test_float32_that_takes_next_to_nothing_more_needs_no_search(g, monkeypatch):
    """A sum of features of very different scales, all of which count."""
    monkeypatch.setattr(PrecisionSearch, "run", None)
    scales = np.logspace(-3, 3, 10)
    product = g.emit("Mul", g.input("x", 1, 10), g.const(scales), name="raw", **NONE)
    y = g.emit("FullyConnected", product, g.const(1 / scales[None]), None, name="y", **NONE)
    _, promotion, quality = kept(fast(g.output(y), samples(1, 10)))
    assert promotion.before.level == "broken" and quality.level == "good"
    assert set(promotion.nodes) == {"float32"}
    limits = FREE.limits(promotion.int8.file_bytes, promotion.int8.arena_bytes, promotion.int8.work)
    chosen = promotion.chosen
    assert (chosen.file_bytes, chosen.arena_bytes, chosen.work) <= limits


def test_numbers_that_follow_an_input_are_int16_where_that_is_free(g):
    """A forecast: the input's last value, around 50, and a little more."""
    x = g.input("x", 1, 24)
    last = g.emit("FullyConnected", x, g.const(np.eye(24)[None, -1]), None, name="last", **NONE)
    more = g.emit("FullyConnected", x, g.const(g.rng.normal(size=(8, 24)) / 99), None, name="more",
                  **NONE)  # fmt: skip
    graph = g.output(g.emit("Add", last, more, name="y", **NONE))
    feeds = [{"x": 50 + s["x"]} for s in samples(1, 24)]
    found, promotion, quality = kept(fast(graph, feeds))
    assert quality.worst[1] > promotion.before.worst[1] + TAIL_GAIN_DB
    assert set(promotion.nodes) == {"int16"} and found.plan.outputs


def kernel_machine(g, centres=150):
    """Sums of a Gaussian kernel with weights of 1e4 and more that cancel: float32 alone does."""
    places = g.rng.normal(size=(centres, 4))
    apart = ((places[:, None] - places) ** 2).sum(axis=2)
    weights = np.linalg.solve(np.exp(-0.02 * apart) + 1e-5 * np.eye(centres), places[:, 0] ** 3)
    far = g.emit("Distance", g.input("x", 1, 4), g.const(places), fn=DistanceFn.SquaredEuclidean)
    near = g.emit("Exp", g.emit("Mul", far, g.const(-0.02), **NONE))
    y = g.emit("FullyConnected", near, g.const(weights[None]), None, name="y", **NONE)
    return g.output(y)


def test_a_float_network_is_taken_that_is_little_larger(g):
    done = fast(kernel_machine(g), samples(1, 4))
    _, promotion, quality = kept(done)
    assert promotion.before.level == "broken" and quality.level == "good"
    more = promotion.chosen.file_bytes - promotion.int8.file_bytes
    assert 0 < more <= REPAIR.file * promotion.int8.file_bytes


def test_what_cannot_be_mended_within_the_limits_stays_below(g, monkeypatch):
    monkeypatch.setattr(f"{FLOOR}.REPAIR", Growth(0.0, 0.0, 0.0, 0, 0, 0))
    _, promotion, quality = kept(fast(cancelling(g, 30.0), samples(1, 8, 8, 3)))
    assert promotion is None and quality.level == "broken"


def cancelling_weights(g):
    """The difference of two sums that are almost the same: 8 bits are too few for the weights."""
    x = g.input("x", 1, 32)
    rows = g.rng.normal(size=(8, 32))
    near = rows + 0.01 * g.rng.normal(size=rows.shape)
    sums = [
        g.emit("FullyConnected", x, g.const(w), None, name=name, **NONE)
        for name, w in (("one", rows), ("other", near))
    ]
    return g.output(g.emit("Sub", *sums, name="y", **NONE))


def test_weights_that_are_too_coarse_need_no_search_if_there_is_no_room_for_float32(g, monkeypatch):
    monkeypatch.setattr(PrecisionSearch, "run", None)
    monkeypatch.setattr(f"{FLOOR}.REPAIR", replace(REPAIR, least_work=0))
    found, promotion, quality = keep_floor(
        fast(cancelling_weights(g), samples(1, 32)), pack, silent
    )
    assert quality.level == "broken" and set(promotion.nodes) == {"int16"}
    assert quality.loss() < promotion.before.loss()
    assert {n.output.dtype.name for n in found.graph.nodes} == {"int16"}


def test_weights_that_are_too_coarse_are_rounded_once_for_int16(g, monkeypatch):
    monkeypatch.setattr(f"{FLOOR}.REPAIR", replace(REPAIR, least_work=0))
    graph, mix = cancelling_weights(g), g.rng.normal(size=(4, 32)).astype(np.float32)
    correlated = [{"x": few["x"] @ mix} for few in samples(1, 4, count=64)]
    near, _, nearest = kept(fast(graph, correlated))
    done = quantize_model(graph, correlated, "minmax", promotes=True)
    never = replace(done, finish=lambda: pytest.fail("rounded for int8"))
    found, promotion, quality = keep_floor(never, pack, silent)
    assert promotion.weights_alone and not other_ranges_may_help(promotion, quality)
    assert {n.output.dtype.name for n in found.graph.nodes} == {"int16"}
    assert found.options.rounded and not near.options.rounded
    assert quality.loss() < nearest.loss()


def test_weights_of_a_mix_are_rounded_though_int8_did_not_gain_from_it(g, monkeypatch):
    """There is room for the last layer on float32, which mends nothing."""
    monkeypatch.setattr(f"{FLOOR}.REPAIR", replace(REPAIR, file=0.0, least_bytes=500))
    graph, mix = cancelling_weights(g), g.rng.normal(size=(4, 32)).astype(np.float32)
    last = g.emit("FullyConnected", graph.outputs[0].value, g.const(np.eye(2, 8)), None, **NONE)
    graph.outputs.clear()
    correlated = [{"x": few["x"] @ mix} for few in samples(1, 4, count=64)]
    done = fast(g.output(last), correlated)
    near, _, nearest = kept(done)
    found, promotion, quality = keep_floor(done, pack, silent)
    assert not near.options.rounded and found.options.rounded
    assert quality.loss() < 0.9 * nearest.loss()
    assert set(promotion.nodes) == {"int16"}


def test_weights_that_are_too_coarse_are_float32_if_there_is_room(g):
    _, promotion, quality = kept(fast(cancelling_weights(g), samples(1, 32, count=32)))
    assert quality.level == "good" and promotion.nodes["float32"]


def classifier(g, gap):
    """Classes in pairs that differ by less than a step of int8."""
    x = g.input("x", 1, 16)
    w = g.rng.normal(size=(5, 16))
    rows = np.concatenate([w, w + gap * g.rng.normal(size=w.shape)])
    logits = g.emit("FullyConnected", x, g.const(rows), None, name="logits", **NONE)
    return g.output(g.emit("Softmax", logits, axis=1, name="p"))


def test_ties_of_answers_are_broken_by_outputs_on_int16(g, monkeypatch):
    monkeypatch.setattr(f"{FLOOR}.SMALL_WORK", 0)
    done = fast(classifier(g, 0.12), samples(1, 16, count=100))
    before = quality_of(done, pack, silent)
    assert before.answers.tied + before.answers.changed > 0.1
    found, promotion, quality = kept(done)
    assert quality.answers.in_doubt < 0.5 * before.answers.in_doubt
    assert {n.output.dtype.name for n in found.graph.nodes if n.op == "Softmax"} == {"int16"}
    extra = promotion.chosen.file_bytes - promotion.int8.file_bytes
    assert extra <= max(FREE.least_bytes, FREE.file * promotion.int8.file_bytes)
    assert promotion.chosen.arena_bytes <= promotion.int8.arena_bytes + FREE.least_arena


def test_classes_that_int8_weights_make_alike_are_told_apart_on_float32(g, monkeypatch):
    """Classes closer than a step of their weights: int16 logits do not tell them apart."""
    monkeypatch.setattr(f"{FLOOR}.SMALL_WORK", 0)
    done = fast(classifier(g, 0.02), samples(1, 16, count=100))
    before = quality_of(done, pack, silent)
    assert before.level == "usable" and before.changes_too_many
    _, promotion, quality = kept(done)
    assert promotion.nodes["float32"] and quality.answers.in_doubt < 0.2 * before.answers.in_doubt
    assert promotion.chosen.arena_bytes <= promotion.int8.arena_bytes + FREE.least_arena
    assert quality.chosen and quality.level == "good"
    changed = replace(quality.answers, changed=0.015)  # on the samples that chose the precisions
    assert replace(quality, answers=changed).level == "usable"


def test_outputs_behind_int16_are_int16_where_int8_makes_the_noise(g):
    x = g.input("x", 1, 16)
    a, b = g.const(g.rng.normal(size=(64, 16))), g.const(g.rng.normal(size=(8, 64)))
    y = g.emit("FullyConnected", x, a, None, name="a", **NONE)
    net = g.output(g.emit("FullyConnected", y, b, None, name="y", **NONE))
    calibration = calibrate(net, samples(1, 16, count=32))
    rest = quantize_model(net, samples(1, 16, count=32), "minmax", rounding="nearest")
    assert kept(rest)[1] is None  # nothing is on int16
    options = Options(wide=frozenset("x"), means=calibration.means())
    plan = Plan(net, rest.ranges, options)
    score = CandidateEvaluator(calibration).score(plan, rest.ranges)
    done = replace(
        rest, graph=plan.emit(rest.ranges)[0], options=plan.options, plan=plan, score=score
    )
    found, promotion, _ = kept(done)
    assert {n.output.dtype.name for n in found.graph.nodes} == {"int16"}
    assert found.sqnr_db > score.mean_db + 3
    assert promotion.chosen.arena_bytes <= promotion.int8.arena_bytes + FREE.least_arena


def test_a_small_model_is_searched_until_its_answers_are_those_of_the_float_model(g):
    done = fast(classifier(g, 0.02), samples(1, 16, count=100))
    found, promotion, quality = kept(done)
    assert quality.level == "good" and quality.answers.changed <= 0.02
    floats = promotion.nodes.get("float32", 0)
    assert floats == len(found.graph.nodes) and len(pack(found.graph)) <= len(pack(done.graph))


def test_a_usable_one_gets_what_costs_next_to_nothing(g, monkeypatch):
    """However large it is, within the limits of a good one; here they are wide."""
    monkeypatch.setattr(f"{FLOOR}.SMALL_WORK", 0)
    free = Growth(0.02, 0.0, 0.02, 4 << 10, 4 << 10, 100_000)
    monkeypatch.setattr(f"{FLOOR}.FREE", free)
    done = fast(cancelling(g, 14.0), samples(1, 8, 8, 3))
    before = quality_of(done, pack, silent)
    assert before.level == "usable"
    _, promotion, quality = kept(done)
    assert quality.level == "good" and promotion.limits == free.in_words()
    extra = promotion.chosen.work - promotion.int8.work
    assert 0 < extra <= free.least_work


def test_a_small_number_beside_a_large_one_is_kept(g):
    """An angle of int8 steps for a distance has few values."""
    x = g.input("x", 1, 12)
    w = g.rng.normal(size=(4, 12)) * np.array([[0.1], [0.1], [0.1], [30.0]])
    net = g.output(g.emit("FullyConnected", x, g.const(w), None, name="pose", **NONE))
    done = fast(net, samples(1, 12, count=40))
    promoted, promotion, quality = keep_floor(done, pack, silent)
    assert promotion.before.level == "broken" and quality.level == "good"
    floats, edge, feeds = Session(build_file(net)), Session(pack(promoted.graph)), samples(1, 12)
    truth, got = (np.concatenate([s.run(f)["pose"] for f in feeds]) for s in (floats, edge))
    error, varied = np.square(got - truth).sum(axis=0), np.square(truth - truth.mean(axis=0))
    assert (error < 0.01 * varied.sum(axis=0)).all()
