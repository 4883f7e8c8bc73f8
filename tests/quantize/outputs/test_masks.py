"""Masks are maps of probabilities or logits, of one class or several; of each the IoU counts."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import Graph
from edgekit.toolkit.quantize import calibrate, prepare
from edgekit.toolkit.quantize.outputs.answers import Answers, Compared
from edgekit.toolkit.quantize.outputs.kept_samples import KeptSample
from edgekit.toolkit.quantize.outputs.masks import Masks
from edgekit.toolkit.quantize.quality import Quality

NONE = {"act_min": -np.inf, "act_max": np.inf}
SIDE = 32


def feeds(count=8, side=SIDE):
    rng = np.random.default_rng(3)
    return [{"x": rng.normal(size=(1, side, side, 1)).astype(np.float32)} for _ in range(count)]


def scaled(g, scale, offset=0.0, side=SIDE):
    x = g.input("x", 1, side, side, 1)
    moved = g.emit("Add", g.emit("Mul", x, g.const([scale]), **NONE), g.const([offset]), **NONE)
    return g.emit("Sigmoid", moved, name="mask")


def found(net, samples):
    net = prepare(net)
    known = calibrate(net, samples)
    return Masks(net, {p.tensor for p in known.points if p.axis is None}, known.kept)


def test_a_map_of_certain_probabilities_is_a_mask_behind_a_reshape_too(g):
    y = g.emit("Reshape", scaled(g, 50.0), name="y", shape=(1, 1, SIDE, SIDE))
    assert found(g.output(y), feeds()).tensors == ["y"]


@pytest.mark.parametrize(
    ("scale", "offset", "side"),
    [
        (1.0, 0.0, SIDE),  # half sure everywhere: an image
        (50.0, -170.0, SIDE),  # single peaks: a heat map
        (50.0, 0.0, SIDE // 2),  # as few places as an attention gate has
    ],
)
def test_images_heat_maps_and_small_maps_are_no_masks(g, scale, offset, side):
    net = g.output(scaled(g, scale, offset, side))
    assert found(net, feeds(side=side)).tensors == []


def test_a_map_that_no_sigmoid_makes_is_no_mask(g):
    x = g.input("x", 1, SIDE, SIDE, 1)
    net = g.output(g.emit("Mul", x, g.const([50.0]), name="y", **NONE))
    assert found(net, feeds()).tensors == []


@pytest.mark.parametrize(("scale", "masks"), [(50.0, ["y"]), (1.0, [])])
def test_a_map_of_logits_is_a_mask_if_it_is_certain(g, scale, masks):
    z = pointwise(g, g.input("x", 1, SIDE, SIDE, 1), [[scale]])
    y = g.emit("Reshape", z, name="y", shape=(1, 1, SIDE, SIDE))
    masks_of = found(g.output(y), feeds())
    assert masks_of.tensors == masks
    if masks:
        rng = np.random.default_rng(1)
        z, q = (rng.normal(scale=3.0, size=(1, 1, SIDE, SIDE)) for _ in range(2))
        inside, found_there = z > 0, q > 0
        rows = masks_of.row({"y": z}, {"y": q})[None]
        kept = expected([~inside, inside], [~found_there, found_there])
        assert masks_of.kept(rows) == {"y": pytest.approx(kept)}


def pointwise(g, x, weights, name="", bias=0.0):
    w = np.asarray(weights, np.float32)[:, None, None, :]
    how = {"stride": (1, 1), "pads": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1} | NONE
    return g.emit("Conv2d", x, g.const(w), g.const(np.full(len(w), bias)), name=name, **how)


def expected(likely, answers):
    """The mean over the classes of the expected intersection over union, by counting."""
    scores = []
    for p, a in zip(likely, answers, strict=True):
        both = (p * a).sum()
        scores.append(both / (p.sum() + a.sum() - both))
    return np.mean(scores)


def test_of_one_mask_the_figure_is_the_mean_iou_of_both_sides(g):
    masks = found(g.output(scaled(g, 50.0)), feeds())
    rng = np.random.default_rng(1)
    truth, got = (rng.random((3, 1, SIDE, SIDE, 1)) for _ in range(2))
    rows = [masks.row({"mask": t}, {"mask": q}) for t, q in zip(truth, got, strict=True)]
    mine, its = got > 0.5, truth > 0.5
    inside = (mine & its).sum() / (mine | its).sum()
    outside = (~mine & ~its).sum() / (~mine | ~its).sum()
    assert masks.kept(np.array(rows)) == {"mask": pytest.approx((inside + outside) / 2)}
    same = [masks.row({"mask": t}, {"mask": t}) for t in truth]
    assert masks.kept(np.array(same)) == {"mask": 1.0}


@pytest.mark.parametrize("softmax", [True, False])
def test_each_class_has_a_mask_where_classes_are_compared(g, softmax):
    x = g.input("x", 1, 8, 8, 3)
    z = pointwise(g, x, 6 * np.eye(4, 3) - 3, "z")
    z = g.emit("Transpose", z, perm=(0, 3, 1, 2), name="y")
    if softmax:
        z = g.emit("Softmax", z, axis=1, name="likely")
    net, rng = prepare(g.output(z)), np.random.default_rng(3)
    samples = [{"x": rng.normal(size=(1, 8, 8, 3)).astype(np.float32)} for _ in range(20)]
    known = calibrate(net, samples)
    answers = Answers(net, known.points, known.kept)
    assert [c.axis for c in answers.compared] == [1]
    masks = Masks(net, set(), known.kept, answers.compared)
    assert masks.classes == 4 and masks.tensors == ["y"]
    truth = [s.at_points["y"] for s in known.kept]
    got = [t + rng.normal(size=t.shape) for t in truth]
    rows = np.array([masks.row({"y": t}, {"y": q}) for t, q in zip(truth, got, strict=True)])
    z, q = (np.concatenate(x).swapaxes(0, 1) for x in (truth, got))
    likely = np.exp(z) / np.exp(z).sum(axis=0)
    real, now = (expected(likely, [x.argmax(axis=0) == c for c in range(4)]) for x in (z, q))
    assert masks.kept(rows) == {"y": pytest.approx(now / real)}


def test_rare_classes_count_as_much_unless_they_are_too_rare_to_tell():
    truth = np.full((1, 3, 1000), -9.0)
    truth[0, 0] = 0.0
    truth[0, 1, :60], truth[0, 2, -20:] = 9.0, 9.0
    kept = [KeptSample({}, {"y": truth})]
    masks = Masks(Graph([], [], []), set(), kept, [Compared("y", "y", 1)])
    lacking = truth.copy()
    lacking[0, 1, :30], lacking[0, 2, -20:] = -9.0, -9.0
    row = masks.row({"y": truth}, {"y": lacking})[None]
    assert masks.kept(row)["y"] == pytest.approx((1 + 0.5) / 2, abs=0.03)
    flat = masks.row({"y": truth}, {"y": lacking.ravel()})[None]  # as a port may have it
    assert np.array_equal(flat, row)
    assert masks.kept(np.repeat(row, 3, axis=0))["y"] == pytest.approx((1 + 0.5 + 0) / 3, abs=0.03)


@pytest.mark.parametrize(("kept", "level"), [(0.995, "good"), (0.985, "usable"), (0.88, "broken")])
def test_the_verdict_is_that_of_the_mask_that_is_kept_least(kept, level):
    quality = Quality({"y": 30.0}, None, 24, held_out=True, masks={"a": 0.999, "y": kept})
    assert quality.level == level
    assert f"masks keep {kept:.1%} of their IoU" in quality.in_words()
