from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from edgekit.toolkit.ir import constant
from edgekit.toolkit.quantize.outputs.evaluation_points import (
    EvaluationPoint,
    find_evaluation_points,
)
from edgekit.toolkit.quantize.outputs.signals import variations
from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.quantize.ranges.candidate_evaluation import Score


def test_a_softmax_is_probed_at_its_input_whatever_moves_between(g):
    logits = g.conv(g.input("x", 1, 1, 1, 2), 5, name="logits")
    flat = g.emit("Reshape", logits, shape=(1, 5), name="flat")
    p = g.emit("Reshape", g.emit("Softmax", flat, axis=1), shape=(5,))
    assert find_evaluation_points(g.output(p, logits)) == [
        EvaluationPoint("flat", 1),
        EvaluationPoint("logits"),
    ]


def test_what_others_read_too_is_not_clipped(g):
    z = g.conv(g.input("x", 1, 1, 1, 2), 5, name="z")
    soft, plain = find_evaluation_points(g.output(g.emit("Softmax", z, axis=3), z))
    assert (soft, plain) == (EvaluationPoint("z", 3, shared=True), EvaluationPoint("z"))
    assert soft.fitted([np.eye(5)[None, None]])[0].lowest == -np.inf


def test_an_index_is_probed_by_what_it_compares(g):
    x = g.conv(g.input("x", 1, 1, 1, 5), 5, name="logits")
    y = g.emit("ArgMax", x, axis=3, keepdims=0, select_last_index=0)
    assert find_evaluation_points(g.output(g.emit("Cast", y, to=np.dtype(np.uint8)))) == [
        EvaluationPoint("logits", 3)
    ]


def test_an_index_of_probabilities_is_probed_at_the_logits(g):
    logits = g.conv(g.input("x", 1, 1, 1, 2), 5, name="logits")
    p = g.emit("Softmax", logits, axis=3, name="p")
    y = g.emit("ArgMax", p, axis=3, keepdims=0, select_last_index=0)
    assert find_evaluation_points(g.output(y)) == [EvaluationPoint("logits", 3)]
    assert find_evaluation_points(g.output(p)) == [EvaluationPoint("logits", 3)]


def test_a_comparison_is_probed_at_the_floats_before_it(g):
    x = g.input("x", 1, 1, 1, 2)
    a, b = g.conv(x, 5, name="a"), g.conv(x, 5, name="b")
    less = g.emit("Cast", g.emit("Less", a, b), to=np.dtype(np.int32))
    assert find_evaluation_points(g.output(less)) == [EvaluationPoint("a"), EvaluationPoint("b")]


def test_an_output_of_floats_stands_for_the_index_of_it(g):
    x = g.conv(g.input("x", 1, 1, 1, 2), 5, name="logits")
    y = g.emit("ArgMax", x, axis=3, keepdims=0, select_last_index=0)
    assert find_evaluation_points(g.output(x, y)) == [EvaluationPoint("logits")]


def test_scores_beside_boxes_are_probed_apart(g):
    """Pixels are nearly all of the signal of both."""
    x = g.input("x", 1, 2, 2, 2)
    boxes = g.emit("Mul", g.conv(x, 4), g.const(320.0), name="boxes")
    scores = g.emit("Reshape", g.emit("Sigmoid", g.conv(x, 5)), shape=(4, 5), name="scores")
    both = g.emit("Concat", g.emit("Reshape", boxes, shape=(4, 4), name="b"), scores, axis=1)
    graph = g.output(g.emit("Transpose", both, perm=(1, 0), name="both"))
    assert [p.tensor for p in find_evaluation_points(graph)] == ["b", "scores"]
    assert [p.tensor for p in find_evaluation_points(graph, inside=False)] == ["both"]


def picked(g, boxes):
    """The boxes of the two best scores, in pixels, their places, and the scores."""
    x = g.input("x", 1, 1, 4, 3)
    scores = g.emit("Reshape", g.conv(x, 1, name="logits"), shape=(1, 4), name="scores")
    best = g.emit("TopK", scores, axis=1, k=2, smallest=False)
    at = g.emit("Reshape", g.graph.nodes[-1].outputs[1], shape=(2,))
    found = g.emit("Gather", boxes(g, x), at, axis=0, name="found")
    return g.emit("Mul", found, g.const(320.0), name="pixels"), at, best


def computed(g, x):
    return g.emit("Reshape", g.conv(x, 4, name="b"), shape=(4, 4), name="boxes")


def test_what_a_ranking_picks_is_probed_by_what_it_ranks_and_picks_from(g):
    """Two that change places exchange their boxes, however alike their scores are."""
    pixels, at, _ = picked(g, computed)
    graph = g.output(pixels, at)
    assert [p.tensor for p in find_evaluation_points(graph)] == ["boxes", "scores"]
    assert find_evaluation_points(graph, inside=False)[0] == EvaluationPoint("pixels")


def test_sorted_scores_are_probed_themselves(g):
    *_, best = picked(g, computed)
    assert find_evaluation_points(g.output(best)) == [EvaluationPoint(best.name)]


def test_layers_behind_what_is_picked_are_probed_at_the_output(g):
    pixels, _, _ = picked(g, computed)
    y = g.emit("FullyConnected", pixels, g.const(np.eye(4)), None, name="y")
    assert find_evaluation_points(g.output(y)) == [EvaluationPoint("y")]


def test_constants_of_the_nearest_are_probed_at_the_output(g):
    """As a vote of neighbours: its class counts."""
    shares, _, _ = picked(g, lambda g, _: g.const(np.eye(4)))
    assert find_evaluation_points(g.output(shares)) == [EvaluationPoint("pixels")]


def test_peaks_are_probed_themselves(g):
    """int8 makes neighbours alike, and then both are peaks."""
    x = g.conv(g.input("x", 1, 4, 4, 2), 1, name="heat")
    pool = {"kernel": (3, 3), "stride": (1, 1), "pads": (1, 1, 1, 1), "dilation": (1, 1)}
    top = g.emit("MaxPool2d", x, **pool, out_hw=(4, 4), act_min=-np.inf, act_max=np.inf)
    mask = g.emit("Cast", g.emit("Equal", top, x), to=np.dtype(np.float32))
    assert find_evaluation_points(g.output(g.emit("Mul", x, mask, name="peaks"))) == [
        EvaluationPoint("peaks")
    ]


def test_scores_alone_are_probed_together(g):
    x = g.input("x", 1, 2, 2, 2)
    scores = [g.emit("Sigmoid", g.conv(x, n)) for n in (3, 4)]
    graph = g.output(g.emit("Concat", *scores, axis=3, name="both"))
    assert [p.tensor for p in find_evaluation_points(graph)] == ["both"]


def voting(g, weights=None):
    """The class with most of the votes of the signs of scores."""
    scores = g.conv(g.input("x", 1, 1, 1, 2), 3, name="scores")
    signs = g.emit("Cast", g.emit("Less", g.const(0.0), scores), to=np.dtype(np.float32))
    matrix = np.eye(3)[:, ::-1] - np.eye(3) if weights is None else weights
    votes = g.emit("FullyConnected", signs, g.const(matrix), None, name="votes")
    return g.emit("ArgMax", votes, axis=3, keepdims=0, select_last_index=0)


def test_votes_are_probed_by_their_class_and_by_what_is_compared(g):
    votes, scores = find_evaluation_points(g.output(voting(g)))
    assert (votes, scores) == (EvaluationPoint("votes", 3, votes=True), EvaluationPoint("scores"))
    assert votes.fitted([np.eye(3)[None, None]]) == [votes]


def test_layers_behind_signs_make_no_votes(g):
    label = voting(g, np.full((3, 3), 0.5))
    assert find_evaluation_points(g.output(label)) == [EvaluationPoint("votes", 3)]


def test_classes_as_floats_are_probed_by_the_scores_that_pick_them(g):
    """As in classifiers of scikit-learn: an ArgMax picks of a table, by way of float32."""
    scores = g.conv(g.input("x", 1, 1, 1, 2), 3, name="scores")
    place = g.emit("ArgMax", scores, axis=3, keepdims=0, select_last_index=0)
    classes = constant(np.array([4, 7, 9], np.int32), "classes")
    picked = g.emit("Cast", g.emit("Gather", classes, place, axis=0), to=np.dtype(np.float32))
    label = g.emit("Cast", picked, to=np.dtype(np.int32))
    assert find_evaluation_points(g.output(label)) == [EvaluationPoint("scores", 3)]


def test_the_side_of_a_threshold_is_probed_by_its_score(g):
    scores = g.conv(g.input("x", 1, 1, 1, 2), 1, name="scores")
    label = g.emit("Cast", g.emit("Sign", scores, name="sides"), to=np.dtype(np.int32))
    assert find_evaluation_points(g.output(label)) == [EvaluationPoint("scores")]


def test_votes_have_no_sqnr():
    score = Score(np.array([[1.0], [1.0]]), np.array([1.0, 100.0]), None)
    points = [EvaluationPoint("votes", 1, votes=True), EvaluationPoint("scores")]
    assert Quality.of(score, points).sqnr_db == {"scores": 20.0}


def test_an_index_of_what_is_given_is_not_probed(g):
    y = g.emit("ArgMax", g.input("x", 1, 1, 1, 5), axis=3, keepdims=0, select_last_index=0)
    assert find_evaluation_points(g.output(y)) == []


def test_confident_samples_are_softened_and_the_lowest_values_clipped():
    samples = [np.array([[20.0, 0.0, -30.0]]), np.array([[-25.0, 15.0, 1.0]])]
    hard, soft = EvaluationPoint("z", 1).fitted(samples)
    assert hard.temperature == 1.0 and soft.temperature > 5
    for x in samples:
        assert np.allclose(hard.view(x), softmax(x, axis=1), atol=1 / 512)
    assert 2 < hard.lowest < 4  # 6.2 below the best class of 15, and half of what is above that


def test_samples_of_less_confidence_are_not_clipped():
    seen = [np.array([[20.0, 0.0, -30.0]]), np.array([[-25.0, 15.0, 1.0]])]
    hard, _ = EvaluationPoint("z", 1).fitted(seen)
    for x in np.array([[10.0, 7.0, 4.0]]), np.array([[40.0, 39.0, 0.0]]):
        assert np.allclose(hard.view(x), softmax(x, axis=1), atol=1 / 512)


def test_doubtful_samples_are_not_softened():
    (point,) = EvaluationPoint("z", 1).fitted([np.array([[0.3, 0.1]]), np.array([[0.0, 0.5]])])
    assert point.temperature == 1.0


def rows(*scales, count=20, offset=0.0):
    rng = np.random.default_rng(3)
    return [rng.normal(size=(1, len(scales))) * scales + offset for _ in range(count)]


def test_numbers_of_unlike_magnitudes_are_evaluated_each():
    point = EvaluationPoint("y")
    points = point.fitted(rows(0.3, 0.0, 30.0))
    assert [p.number for p in points] == [0, 1, 2]
    many = np.arange(12.0).reshape(4, 1, 3)
    assert points[2].view(many, of_many=True).tolist() == [[2.0], [5.0], [8.0], [11.0]]
    assert points[2].view(many[0]).tolist() == [2.0]


@pytest.mark.parametrize("along", [1, 3])
def test_channels_of_unlike_magnitudes_are_evaluated_each(along):
    rng = np.random.default_rng(3)
    maps = rng.normal(size=(20, 1, 12, 12, 2)) * (1.0, 50.0)
    maps = np.moveaxis(maps, 4, along + 1)
    points = EvaluationPoint("y").fitted(iter(maps))
    assert [(p.number, p.along) for p in points] == [(0, along), (1, along)]
    wanted = maps.take([1], along + 1)
    assert np.array_equal(points[1].view(maps, of_many=True), wanted)
    assert np.array_equal(points[1].view(maps[3]), wanted[3])
    alike = [x / x.std(axis=tuple({0, 1, 2, 3} - {along}), keepdims=True) for x in maps]
    assert EvaluationPoint("y").fitted(alike) == [EvaluationPoint("y")]
    assert EvaluationPoint("y").fitted(maps[:5]) == [EvaluationPoint("y")]


def values(common, count=40, actions=3):
    """Values of actions, whose mean varies by `common` times as much as they differ."""
    rng = np.random.default_rng(6)
    apart = rng.normal(size=(count, actions))
    apart -= apart.mean(axis=1, keepdims=True)
    return list(apart / apart.std() + common * rng.normal(size=(count, 1)))


def test_numbers_that_rise_and_fall_together_are_evaluated_by_what_they_differ_by_too():
    point = EvaluationPoint("q")
    assert point.fitted(values(8.0)) == [point, replace(point, between=True)]
    of_many = np.array(values(8.0))
    wanted = of_many - of_many.mean(axis=1, keepdims=True)
    assert np.array_equal(replace(point, between=True).view(of_many, of_many=True), wanted)
    assert np.array_equal(replace(point, between=True).view(of_many[3]), wanted[3])


def test_numbers_that_a_mask_lowers_do_not_differ_from_others():
    masked = np.array(values(8.0))
    masked[::2, 1] = -1e9
    found = replace(EvaluationPoint("q"), fill=0.5, between=True).view(masked, of_many=True)
    filled = np.where(masked < -1e6, 0.5, masked)
    assert np.array_equal(found, filled - filled.mean(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param(values(2.0), id="differ by as much"),
        pytest.param([x[[0, 0, 0]] for x in values(8.0)], id="one number, repeated"),
        pytest.param(values(8.0, count=7), id="few samples"),
        pytest.param(values(8.0, actions=17), id="many numbers"),
    ],
)
def test_other_numbers_are_evaluated_as_they_are(samples):
    assert EvaluationPoint("q").fitted(samples) == [EvaluationPoint("q")]


@pytest.mark.parametrize(
    ("scales", "count"), [((1.0, 3.0), 20), ((1.0, 30.0), 5), ((1.0, 30.0) * 17, 20)]
)
def test_numbers_of_like_magnitude_few_samples_and_many_numbers_are_evaluated_together(
    scales, count
):
    assert EvaluationPoint("y").fitted(rows(*scales, count=count)) == [EvaluationPoint("y")]


def test_numbers_of_a_vector_are_evaluated_alone_if_they_have_other_units():
    """Logits of so many classes vary by less."""
    for apart, count in ((7.0, 1), (40.0, 18)):
        points = EvaluationPoint("y").fitted(rows(*(1.0, apart) * 9, count=20))
        assert len(points) == count
    points = EvaluationPoint("y").fitted(rows(0.05, 1400.0, *(3.0,) * 18, count=20))
    assert [p.number for p in points] == list(range(20))


def test_outputs_of_several_sizes_are_evaluated_whole():
    few = [np.ones((1, 2 + i % 2)) * i for i in range(20)]
    many = [1013.0 + np.random.default_rng(i).normal(size=(1, 30 + i % 2, 3)) for i in range(20)]
    for samples in few, many:
        (point,) = EvaluationPoint("y").fitted(samples)
        assert point == EvaluationPoint("y")
        (found,) = variations([point], [samples])
        assert found == pytest.approx(sum(np.square(x).sum() for x in samples))


@pytest.mark.parametrize(("offset", "of_variation"), [(1013.0, True), (5.0, False)])
def test_an_output_that_hardly_varies_is_measured_by_its_variation(offset, of_variation):
    x = rows(*[8.0] * 24, count=200, offset=offset)
    (found,) = variations([EvaluationPoint("y")], [x])
    energy = sum(np.square(v).sum() for v in x)
    wanted = 200 * 24 * 64 if of_variation else energy
    assert found == pytest.approx(wanted, rel=0.1)
