"""A usable quantization becomes good by few int16 tensors, or stays as it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest

from edgekit.toolkit.build import build_file, open_once
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.quantize.mixed_precision import accuracy_floor, activation_promotion
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import MODERATE, keep_floor
from edgekit.toolkit.quantize.mixed_precision.floor_criteria import Growth
from edgekit.toolkit.quantize.reconstruction.layer_rounding import round_weights

NONE = {"act_min": -np.inf, "act_max": np.inf}
SIDE = 32


def pack(graph):
    return build_file(graph, None, remove_constant_channels(graph))


def smooth(count, seed):
    """Images of few waves, so that a threshold divides each into areas."""
    rng = np.random.default_rng(seed)
    at = np.arange(SIDE) / SIDE
    found = []
    for _ in range(count):
        image = np.zeros((1, SIDE, SIDE, 2), np.float32)
        for c in range(2):
            a, b, p, q = rng.uniform(0.5, 2.0, 2).tolist() + rng.uniform(0, 6, 2).tolist()
            rows = np.sin(2 * np.pi * a * at + p)[:, None]
            image[0, :, :, c] = rows + np.sin(2 * np.pi * b * at + q)
        found.append({"x": image})
    return found


def segmenter(g, offset):
    """A mask by the difference of two tensors, which share an offset that takes their steps; most
    of the work is elsewhere."""
    x = g.input("x", 1, SIDE, SIDE, 2)
    work = g.emit("Mul", g.conv(g.conv(x, 8), 1), g.const([0.02]), name="work", **NONE)
    both = []
    for name in "ab":
        w = g.const(g.rng.normal(size=(1, 1, 1, 2)))
        attrs = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "pads": (0,) * 4, **NONE}
        both.append(g.emit("Conv2d", x, w, g.const([offset]), name=name, **attrs))
    left = g.emit("Add", g.emit("Sub", *both, **NONE), work, name="left", **NONE)
    sharp = g.emit("Mul", left, g.const([20.0]), name="sharp", **NONE)
    return g.output(g.emit("Sigmoid", sharp, name="mask"))


def quantized(g, offset=20.0):
    return quantize_model(segmenter(g, offset), smooth(24, 5), "minmax", rounding="nearest")


def waiting(g):
    """A quantization whose weights are not rounded yet."""
    done = quantize_model(segmenter(g, 20.0), smooth(24, 5), "minmax", promotes=True)
    assert done.finish is not None and not done.options.rounded
    return done


def overlap(graph, floats, samples):
    """Mean intersection over union of both sides, computed apart from masks.py."""
    sessions = open_once(graph), open_once(floats)
    mine, its = (
        np.concatenate([s.run(feed)["mask"].ravel() for feed in samples]) > 0.5 for s in sessions
    )
    ious = [np.mean(a & b) / np.mean(a | b) for a, b in ((mine, its), (~mine, ~its))]
    return float(np.mean(ious))


def test_few_tensors_on_int16_make_masks_good_on_other_samples_too(g):
    done = quantized(g)
    found, promotion, quality = keep_floor(done, pack, silent, rounding="nearest")
    assert promotion is not None and promotion.before.level == "usable"
    assert promotion.before.least_kept < 0.99 and quality.level == "good"
    assert promotion.limits == MODERATE.in_words()
    others = smooth(16, 6)
    before, after = (overlap(d.graph, d.floats, others) for d in (done, found))
    assert before < 0.99 <= after
    limits = MODERATE.limits(
        promotion.int8.file_bytes, promotion.int8.arena_bytes, promotion.int8.work
    )
    chosen = promotion.chosen
    assert (chosen.file_bytes, chosen.arena_bytes, chosen.work) <= limits


def rounds_for_int8():
    raise AssertionError


def test_weights_are_rounded_once_for_the_promoted_tensors(g):
    """Where rounding alone would leave the masks as they are."""
    done = replace(waiting(g), finish=rounds_for_int8)
    found, promotion, quality = keep_floor(done, pack, silent)
    assert promotion is not None and quality.level == "good" and quality.held_out
    assert found.finish is None and found.held_out and len(found.by_halves) == 2
    samples = [kept.inputs for kept in done.calibration.kept]
    again = round_weights(found.plan.with_rounded({}), found.ranges, samples)
    rounded = found.options.rounded
    assert rounded.keys() == again.keys() != set()
    assert all(np.array_equal(again[key].z, rounded[key].z) for key in again)
    assert overlap(found.graph, found.floats, smooth(16, 6)) >= 0.99


@pytest.mark.parametrize(("hope", "finished"), [(0.3, False), (0.001, True)])
def test_a_mix_that_only_rounding_makes_good_is_tried(g, monkeypatch, hope, finished):
    """Nearest weights leave masks below the aim; with too much hope the mix is not good either, and
    weights are rounded for int8."""
    monkeypatch.setattr(activation_promotion, "KEPT_AIM", 0.9995)
    left = chain([1.0], repeat(hope))
    monkeypatch.setattr(accuracy_floor, "_after_rounding", lambda *_: next(left))
    done = waiting(g)
    for_int8 = []
    seen = replace(done, finish=lambda: for_int8.append(True) or done.finished())
    found, promotion, quality = keep_floor(seen, pack, silent)
    assert bool(for_int8) == finished
    if not finished:
        assert promotion.limits == MODERATE.in_words() and quality.level == "good"
        assert found.options.rounded and overlap(found.graph, found.floats, smooth(16, 6)) >= 0.99


def test_weights_are_rounded_for_int8_where_that_may_do(g, monkeypatch):
    monkeypatch.setattr(accuracy_floor, "_after_rounding", lambda *_: 0.1)
    found, promotion, _ = keep_floor(waiting(g), pack, silent)
    done = quantize_model(segmenter(type(g)(), 20.0), smooth(24, 5), "minmax")
    assert done.finish is None
    other, its, _ = keep_floor(done, pack, silent)
    assert pack(found.graph) == pack(other.graph)
    assert promotion == its


@pytest.mark.parametrize(
    ("int8", "weights", "part"), [(20.0, 20.0, 0.6), (20.0, 50.0, 1.0), (20.0, 23.01, 0.825)]
)
def test_rounding_leaves_the_error_of_activations(int8, weights, part):
    both = (SimpleNamespace(worst=("y", db)) for db in (int8, weights))
    assert accuracy_floor._after_rounding(*both) == pytest.approx(part, abs=0.001)


def test_where_int16_is_not_enough_nothing_is_promoted(g, monkeypatch):
    monkeypatch.setattr(activation_promotion, "KEPT_AIM", 1.1)
    done = quantized(g)
    found, promotion, quality = keep_floor(done, pack, silent, rounding="nearest")
    assert found is done and promotion is None and quality.level == "usable"


def test_nothing_is_promoted_beyond_the_limits(g, monkeypatch):
    monkeypatch.setattr(accuracy_floor, "MODERATE", Growth(0, 0, 0, 0, 0, 0))
    done = quantized(g)
    found, promotion, _ = keep_floor(done, pack, silent, rounding="nearest")
    assert found is done and promotion is None


def test_a_first_look_leaves_what_is_usable(g):
    done = quantized(g)
    found, promotion, _ = keep_floor(done, pack, silent, rounding="nearest", fast=True)
    assert found is done and promotion is None


class Counted:
    """A configuration that is a number of changes."""

    def __init__(self, count=0):
        self.count, self.changes = count, ()

    def plus(self, changes):
        return Counted(len(changes))


def chosen_with(monkeypatch, with_margin, without, fits, once=None):
    """How many of 32 changes are made if it is good from so many on, from `once` on if answers that
    change count once, and fewer fit; and whether answers have a part in that."""

    def is_good(_, configuration, *, left, margin=True, chosen=True):
        least = with_margin if margin else without
        return configuration.count >= (least if chosen or once is None else once)

    monkeypatch.setattr(activation_promotion, "_is_good", is_good)
    monkeypatch.setattr(activation_promotion, "_by_worth", lambda *given: given[2])
    evaluator = SimpleNamespace(changes_to=lambda _: list(range(32)), progress=silent)
    criteria = SimpleNamespace(
        fits=lambda configuration: configuration.count <= fits,
        affords=lambda configuration: configuration.count <= fits + 3,
    )
    found = activation_promotion.promote_activations(evaluator, criteria, Counted())
    return None if found is None else (found[0].count, found[1])


def test_the_most_that_fit_may_do_without_the_margin(monkeypatch):
    count, by_answers = chosen_with(monkeypatch, with_margin=20, without=18, fits=32)
    assert count in (20, 21) and by_answers
    assert chosen_with(monkeypatch, with_margin=24, without=18, fits=19) == (19, False)
    assert chosen_with(monkeypatch, with_margin=24, without=18, fits=17) is None
    assert chosen_with(monkeypatch, with_margin=24, without=0, fits=0) is None


def test_answers_count_once_where_they_do_not_choose(monkeypatch):
    never = {"with_margin": 33, "without": 33}
    assert chosen_with(monkeypatch, **never, fits=32) is None
    assert chosen_with(monkeypatch, **never, fits=19, once=18) == (19, False)
    assert chosen_with(monkeypatch, **never, fits=17, once=18) is None
    assert chosen_with(monkeypatch, with_margin=20, without=20, fits=32, once=1)[1]
