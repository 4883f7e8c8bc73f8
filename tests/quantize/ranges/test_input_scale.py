"""Inputs that are plainly too large or too small for the first layer are told."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import Port, TensorType, Value, constant
from edgekit.toolkit.quantize.ranges.input_scale import wrong_scale

NONE = {"act_min": -np.inf, "act_max": np.inf}


def pixels(count=8, scale=1.0, shape=(1, 8, 8, 3)):
    rng = np.random.default_rng(3)
    some = rng.integers(0, 256, size=(count, *shape))
    some[:, ..., 0] = 255
    return [{"x": (x * scale).astype(np.float32)} for x in some]


@pytest.fixture
def net(g):
    """Made for 0 to 1: biases are of the size of what the first layer makes of that."""
    x = g.input("x", 1, 8, 8, 3)
    a = g.conv(g.emit("Transpose", x, perm=(0, 2, 1, 3)), 8, act_min=0.0, act_max=6.0, name="a")
    return g.output(g.emit("Softmax", g.conv(a, 4, name="b"), axis=3))


def test_inputs_on_the_right_scale(net):
    assert wrong_scale(net, pixels(scale=1 / 255)) is None
    assert wrong_scale(net, pixels(scale=2 / 255)) is None


def test_pixels_that_were_not_divided(net):
    found = wrong_scale(net, pixels())
    assert found.pixels and found.plain and found.layer == "a" and found.ratio > 100
    assert "divide them by 255" in str(found)


def test_inputs_divided_twice(net):
    found = wrong_scale(net, pixels(scale=1e-6))
    assert found.ratio < 0.04 and not found.pixels and "too small" in str(found)


def behind_a_layer_without_bias(g, **clamp):
    """A convolution without a bias, as a depthwise one has none in front of a normalization."""
    x = g.input("x", 1, 8, 8, 3)
    w = g.const(0.2 * g.rng.normal(size=(3, 1, 1, 3)))
    given = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "pads": (0,) * 4}
    first = g.emit("Conv2d", x, w, g.const(np.zeros(3)), name="first", **given, **NONE | clamp)
    a = g.conv(first, 8, act_min=0.0, act_max=6.0, name="a")
    return g.output(g.emit("Softmax", g.conv(a, 4, name="b"), axis=3))


def test_the_first_bias_may_lie_behind_a_layer_without_one(g):
    net = behind_a_layer_without_bias(g)
    assert wrong_scale(net, pixels(scale=1 / 255)) is None
    assert wrong_scale(net, pixels()).layer == "a"
    assert wrong_scale(net, pixels(scale=1e-6)).ratio < 0.04


def test_a_clamp_between_hides_the_scale(g):
    assert wrong_scale(behind_a_layer_without_bias(g, act_min=0.0, act_max=6.0), pixels()) is None


def test_a_scale_that_makes_no_difference(g):
    """A network without biases but one that hardly counts answers alike on any scale; its ranges
    do not."""
    x = g.input("x", 1, 8, 8, 3)
    w = g.const(g.rng.normal(size=(4, 3, 3, 3)))
    given = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "pads": (1,) * 4, **NONE}
    y = g.emit("Conv2d", x, w, g.const(np.full(4, 1e-6)), name="y", **given)
    found = wrong_scale(g.output(y), pixels())
    assert found.alike and not found.plain
    assert "up to 255" in str(found) and "must have the scale of these samples" in str(found)


def test_small_biases_are_no_fault_of_small_inputs(g):
    """A wide layer whose biases training hardly moved from 0 sums a hundred times as much."""
    x = g.input("x", 1, 8, 8, 3)
    flat = g.emit("Reshape", x, shape=(1, 192))
    w, b = g.rng.normal(size=(16, 192)), 0.01 * g.rng.normal(size=16)
    a = g.emit("FullyConnected", flat, g.const(w), g.const(b), name="a", act_min=0.0,
               act_max=np.inf)  # fmt: skip
    net = g.output(g.emit("Softmax", g.emit("Add", a, g.const(np.arange(16.0)), **NONE), axis=1))
    normalized = [{"x": s["x"] - 1} for s in pixels(scale=2 / 255)]
    assert wrong_scale(net, normalized) is None
    assert wrong_scale(net, pixels()) is not None


def test_a_bias_as_training_found_it_says_little_of_many_inputs(g):
    """A classifier of 256 features up to 66, which its first layer has as they are."""
    x, bound = g.input("x", 1, 16, 16), 1 / 16
    w, b = (bound * g.rng.uniform(-1, 1, size) for size in ((8, 256), 8))
    flat = g.emit("Reshape", x, shape=(1, 256))
    a = g.emit("FullyConnected", flat, g.const(w), g.const(b), name="a", act_min=0.0,
               act_max=np.inf)  # fmt: skip
    z = g.emit("FullyConnected", a, g.const(0.05 * np.eye(8)), g.const(-0.1 * np.ones(8)), **NONE)
    net = g.output(g.emit("Tanh", z))
    rng = np.random.default_rng(0)
    some = [(22 * rng.normal(size=(1, 16, 16))).astype(np.float32) for _ in range(8)]
    assert wrong_scale(net, [{"x": x} for x in some]) is None
    assert wrong_scale(net, [{"x": 255 * x} for x in some]).ratio > 2560
    recorded = [np.rint(4 * x) for x in some]
    assert wrong_scale(net, [{"x": x} for x in recorded]).ratio > 60
    assert wrong_scale(net, [{"x": x / np.float32(255) * 255} for x in recorded]).ratio > 60


def test_features_of_a_table_may_have_any_scale(g):
    x = g.input("x", 1, 6)
    a = g.emit("FullyConnected", x, g.const(g.rng.normal(size=(8, 6))), g.const(np.ones(8)),
               name="a", act_min=0.0, act_max=6.0)  # fmt: skip
    net = g.output(g.emit("Softmax", a, axis=1))
    found = wrong_scale(net, pixels(shape=(1, 6)))
    assert found is None or not found.plain


def test_a_row_that_a_window_slides_over_is_no_table(g):
    """A sound [1, n] that the network reshapes is on one scale, as one that has that shape."""
    row = g.emit("Reshape", g.input("x", 1, 192), shape=(1, 8, 8, 3))
    a = g.conv(row, 8, act_min=0.0, act_max=6.0, name="a")
    net = g.output(g.emit("Softmax", g.conv(a, 4, name="b"), axis=3))
    assert wrong_scale(net, pixels(scale=1 / 255, shape=(1, 192))) is None
    assert wrong_scale(net, pixels(shape=(1, 192))).plain


def test_one_sample_or_the_same_again_says_nothing(net):
    assert wrong_scale(net, pixels(1)) is None
    assert wrong_scale(net, pixels(1) * 8) is None


def test_features_behind_a_scaler_are_on_one_scale(g):
    x = g.input("x", 1, 6)
    sizes = np.geomspace(1, 1000, 6)
    offset = g.emit("Add", x, g.const(-3 * sizes), name="offset", **NONE)
    scaled = g.emit("Mul", offset, g.const(1 / sizes), name="scaled", **NONE)
    w, b = g.rng.normal(size=(8, 6)), g.rng.normal(size=8)
    a = g.emit("FullyConnected", scaled, g.const(w), g.const(b), name="a", act_min=0.0,
               act_max=np.inf)  # fmt: skip
    net = g.output(g.emit("Softmax", a, axis=1))
    rng = np.random.default_rng(0)
    right = [(sizes * (3 + rng.normal(size=(1, 6)))).astype(np.float32) for _ in range(8)]
    assert wrong_scale(net, [{"x": x} for x in right]) is None
    found = wrong_scale(net, [{"x": 255 * x} for x in right])
    assert found.plain and found.layer == "a"


def test_centred_features_leave_no_bias_to_compare_with(g):
    """As a principal component analysis behind a scaler has: its mean is 0, but for rounding."""
    x, sizes = g.input("x", 1, 6), np.geomspace(1, 1000, 6)
    offset = g.emit("Add", x, g.const(-3 * sizes), name="offset", **NONE)
    scaled = g.emit("Mul", offset, g.const(1 / sizes), name="scaled", **NONE)
    a = g.emit("FullyConnected", scaled, g.const(g.rng.normal(size=(3, 6))),
               g.const(np.full(3, 1e-7)), name="a", **NONE)  # fmt: skip
    net = g.output(g.emit("Softmax", a, axis=1))
    rng = np.random.default_rng(0)
    rows = [(sizes * (3 + rng.normal(size=(1, 6)))).astype(np.float32) for _ in range(8)]
    assert wrong_scale(net, [{"x": x} for x in rows]) is None
    assert wrong_scale(net, [{"x": 255 * x} for x in rows]).plain


def test_one_sample_a_hundred_times_as_large_is_an_outlier(net):
    data = pixels(scale=1 / 255)
    data[3]["x"] *= 100
    assert wrong_scale(net, data) is None


@pytest.mark.parametrize("selected", [False, True])
def test_features_far_below_what_a_scaler_subtracts(g, selected):
    """Divided once more in front of a scaler they are all about its offset."""
    mean, deviation = np.float32([1, 20, 300, 4000]), np.float32([1, 5, 50, 1000])
    x, at = g.input("x", 1, 6 if selected else 4), np.array([4, 0, 5, 2])
    if selected:
        x = g.emit("Gather", x, constant(at.astype(np.int32), "at"), axis=1)
    x = g.emit("Sub", x, g.const(mean), **NONE)
    x = g.emit("Div", x, g.const(deviation), **NONE)
    w = g.const(g.rng.normal(size=(3, 4)))
    y = g.emit("FullyConnected", x, w, g.const(g.rng.normal(size=3)), name="y", **NONE)
    net = g.output(g.emit("Softmax", y, axis=1))
    rows = mean + deviation * np.random.default_rng(0).normal(size=(8, 1, 4)).astype(np.float32)
    alike = mean + 0.01 * (rows - mean)
    if selected:
        rows, alike = rows[..., [1, 1, 3, 3, 0, 2]], alike[..., [1, 1, 3, 3, 0, 2]]
    assert wrong_scale(net, [{"x": r} for r in rows]) is None
    assert wrong_scale(net, [{"x": r} for r in alike]) is None
    found = wrong_scale(net, [{"x": r / 255} for r in rows])
    assert found.plain and found.ratio < 0.01
    assert "They are 0.004 times what the scaler in front of 'y' subtracts" in str(found)


def scaled_by_training(g, x, mean=50.0, deviation=10.0):
    return g.emit("Div", g.emit("Sub", x, g.const(mean), **NONE), g.const(deviation), **NONE)


def test_features_behind_a_scaler_may_be_joined_with_others(g):
    """Numbers beside embedded categories: no layer reads them alone."""
    x, other = g.input("x", 1, 4), g.input("other", 1, 2)
    both = g.emit("Concat", scaled_by_training(g, x), other, axis=1, name="both")
    y = g.emit("FullyConnected", both, g.const(g.rng.normal(size=(3, 6))), g.const(np.ones(3)),
               **NONE)  # fmt: skip
    check_scales(g.output(y), (1, 4), other=np.ones((1, 2), np.float32))


def test_a_series_behind_a_scaler_may_have_several_readers(g):
    """A convolution and what it skips."""
    x = scaled_by_training(g, g.input("x", 1, 1, 8, 2))
    y = g.emit("Add", x, g.conv(x, 2, name="a"), **NONE)
    check_scales(g.output(y), (1, 1, 8, 2))


def check_scales(net, shape, **others):
    rng = np.random.default_rng(0)
    rows = [(50 + 10 * rng.normal(size=shape)).astype(np.float32) for _ in range(8)]
    for by in (1, 255, 1 / 255):
        found = wrong_scale(net, [{"x": x * np.float32(by), **others} for x in rows])
        assert found is None if by == 1 else found.ratio == pytest.approx(by, rel=0.2)
        assert found is None or "what the scaler in front of" in str(found)


def test_an_integer_input_is_on_no_scale(g):
    """A length, of which that of a window is subtracted."""
    i = Value("i", TensorType(np.dtype(np.int32), (1, 1)))
    g.graph.inputs.append(Port("i", i, 6, (1, 1)))
    left = g.emit("Sub", i, constant(np.full((1, 1), 25, np.int32), "window"), **NONE)
    x = g.emit("Cast", left, to=np.dtype(np.float32))
    y = g.emit("FullyConnected", x, g.const([[1.0]]), g.const([1.0]), **NONE)
    lengths = [{"i": np.full((1, 1), 9000 + n, np.int32)} for n in range(8)]
    assert wrong_scale(g.output(y), lengths) is None


def test_a_series_about_zero_is_no_fault_of_a_scaler(g):
    """Temperatures of a winter, of a scaler that knows the year."""
    x = scaled_by_training(g, g.input("x", 1, 1, 8, 2), mean=15.0, deviation=8.0)
    net = g.output(g.conv(x, 2, name="a"))
    rng = np.random.default_rng(0)
    winter = [(3 * rng.normal(size=(1, 1, 8, 2))).astype(np.float32) for _ in range(8)]
    assert wrong_scale(net, [{"x": x - np.mean(winter)} for x in winter]) is None


@pytest.mark.parametrize("beside", [True, False])
def test_a_count_does_not_hide_that_answers_beside_it_change(g, beside):
    """It grows with the input, and is nearly all of the variation of the output."""
    x = g.input("x", 1, 8, 8, 3)
    a = g.emit("Reshape", g.conv(x, 8, name="a", **NONE), shape=(1, 512))
    y = g.emit("FullyConnected", a, g.const(np.full((1, 512), 1e3)), None, **NONE)
    if beside:
        w = g.const(0.05 * g.rng.normal(size=(6, 512)))
        answers = g.emit("Tanh", g.emit("FullyConnected", a, w, g.const(np.ones(6)), **NONE))
        y = g.emit("Concat", answers, y, axis=1)
    found = wrong_scale(g.output(y), pixels())
    assert (found.plain, found.alike) == (beside, not beside)


@pytest.mark.parametrize("lost", [0.1, 0.0])
def test_a_scale_at_which_a_classifier_knows_nothing_is_not_the_right_one(g, monkeypatch, lost):
    """Trained on pixels from 0 to 255; biases began at 0."""
    monkeypatch.setattr("edgekit.toolkit.quantize.ranges.input_scale.LOST", lost)
    x = g.input("x", 1, 8, 8, 3)
    w, b = 0.02 * g.rng.normal(size=(16, 192)), 0.001 * g.rng.normal(size=16)
    flat = g.emit("Reshape", x, shape=(1, 192))
    a = g.emit(
        "FullyConnected", flat, g.const(w), g.const(b), name="a", act_min=0.0, act_max=np.inf
    )
    z = g.emit("FullyConnected", a, g.const(0.1 * g.rng.normal(size=(10, 16))), None, **NONE)
    net = g.output(g.emit("Softmax", z, axis=1, name="y"))
    assert (wrong_scale(net, pixels()) is None) == (lost > 0)
