"""Masks are maps by a sigmoid, judged by their overlap with the float model's."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import calibrate, prepare
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


def test_the_overlap_is_the_mean_intersection_over_union_of_both_sides(g):
    masks = found(g.output(scaled(g, 50.0)), feeds())
    rng = np.random.default_rng(1)
    truth, got = (rng.random((3, 1, SIDE, SIDE, 1)) for _ in range(2))
    rows = [masks.row({"mask": t}, {"mask": q}) for t, q in zip(truth, got, strict=True)]
    mine, its = got > 0.5, truth > 0.5
    inside = (mine & its).sum() / (mine | its).sum()
    outside = (~mine & ~its).sum() / (~mine | ~its).sum()
    assert masks.overlap(np.array(rows)) == {"mask": pytest.approx((inside + outside) / 2)}


@pytest.mark.parametrize(
    ("overlap", "level"), [(0.995, "good"), (0.985, "usable"), (0.88, "broken")]
)
def test_the_verdict_is_that_of_the_mask_that_overlaps_least(overlap, level):
    quality = Quality({"y": 30.0}, None, 24, held_out=True, overlap={"a": 0.999, "y": overlap})
    assert quality.level == level
    assert f"masks overlap by {overlap:.1%}" in quality.in_words()
