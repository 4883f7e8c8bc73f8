from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.quantize import quantize_graph, quantize_model
from edgekit.toolkit.quantize.scheme.detection_head import detection_head, distances
from edgekit.toolkit.quantize.scheme.options import Options
from edgekit.toolkit.runtime import Session


def test_box_decoding_is_a_tail(g):
    raw = g.conv(g.input("x", 1, 4, 4, 2), 4)
    offset = g.emit("Add", raw, g.const(np.arange(64).reshape(1, 4, 4, 4)), name="offset")
    size = g.emit("Exp", offset, name="size")
    graph = g.output(g.emit("Mul", offset, size, name="box"))
    assert detection_head(graph) == {"offset", "size", "box"}


def test_what_feeds_weights_is_not_a_tail(g):
    a = g.conv(g.input("x", 1, 4, 4, 2), 2)
    b = g.emit("Add", a, g.graph.inputs[0].value)
    assert detection_head(g.output(g.conv(b, 2))) == frozenset()


def test_softmax_movement_and_single_functions_are_no_tail(g):
    a = g.conv(g.input("x", 1, 4, 4, 2), 2)
    b = g.emit("Softmax", g.emit("Reshape", a, shape=(16, 2)), axis=1)
    graph = g.output(b, g.emit("Sigmoid", g.emit("Mul", a, g.const(2.0))))
    assert detection_head(graph) == frozenset()


def test_the_shares_of_an_expectation_belong_to_the_tail(g):
    """Place by place on int8 they round to 0 where a map is flat."""
    a = g.emit("Reshape", g.conv(g.input("x", 1, 4, 4, 2), 2), shape=(1, 32))
    shares = g.emit("Softmax", a, axis=1, name="shares")
    moved = g.emit("Reshape", shares, shape=(4, 8), name="moved")
    at = g.emit("Mul", moved, g.const(np.arange(32).reshape(4, 8)), name="at")
    graph = g.output(g.emit("ReduceSum", at, axes=(0, 1), keepdims=False, name="sum"))
    assert detection_head(graph) == {"shares", "moved", "at", "sum"}


def test_a_product_of_shares_and_constants_belongs_to_the_tail(g):
    a = g.emit("Reshape", g.conv(g.input("x", 1, 4, 4, 2), 2), shape=(1, 4, 4, 2))
    shares = g.emit("Softmax", a, axis=3, name="shares")
    expected = g.conv(shares, 1)
    assert detection_head(g.output(expected)) == {"shares", expected.name}


@pytest.mark.parametrize(("scale", "wide"), [(0.1, True), (0.001, False)])
def test_a_tail_runs_on_int16_where_that_gains(g, scale, wide):
    """Sizes are exponentials of raw values, smaller than the positions beside them; the smallest
    would have few steps of int16 for both."""
    raw = g.conv(g.input("x", 1, 4, 4, 2), 4)
    sizes = scale * np.array([1, 2, 1, 3])
    size = g.emit("Mul", g.emit("Exp", raw), g.const(sizes), name="size")
    graph = g.output(g.emit("Concat", size, g.emit("Mul", raw, g.const([3, 5, 7, 9])), axis=3))
    rng = np.random.default_rng(0)
    samples = [{"x": rng.normal(size=(1, 4, 4, 2)).astype(np.float32)} for _ in range(8)]
    done = quantize_model(graph, samples, "minmax")
    assert ("size" in done.options.wide) == wide and not done.options.precision
    plain, _ = quantize_graph(done.floats, done.ranges)
    assert np.dtype(np.int16) not in {v.dtype for v in plain.values()}


@pytest.mark.parametrize(
    ("size", "wide", "held"),
    [(1, False, np.int8), (30, False, np.float32), (30, True, np.int16), (900, True, np.float32)],
)
def test_scores_beside_boxes_keep_their_steps(g, size, wide, held):
    """Joined in one output, scores of [0, 1] would have the steps of the coordinates."""
    raw = g.conv(g.input("x", 1, 4, 4, 2), 4)
    scores, boxes = g.emit("Sigmoid", raw), g.emit("Mul", raw, g.const(float(size)))
    joined = g.emit("Concat", boxes, scores, axis=3)
    graph = g.output(g.emit("Reshape", joined, shape=(16, 8), name="both"))
    seen = {v.name: (-3.0, 3.0) for v in (graph.inputs[0].value, raw)} | {scores.name: (0.0, 1.0)}
    seen |= {v: (-float(size), float(size)) for v in (boxes.name, joined.name, "both")}
    options = Options(wide=frozenset(["both"] if wide else []))
    made, decisions = quantize_graph(graph, seen, options)
    assert made.outputs[0].value.dtype == held
    assert any("concatenates probabilities" in d.why for d in decisions) == (held == np.float32)


@pytest.mark.parametrize(
    ("size", "wide", "held"),
    [(10, False, np.int8), (50, False, np.float32), (50, True, np.int16), (9000, True, np.float32)],
)
def test_tensors_of_different_sizes_in_one_output_keep_their_steps(g, size, wide, held):
    raw = g.conv(g.input("x", 1, 4, 4, 2), 4)
    large = g.emit("Mul", raw, g.const(float(size)))
    graph = g.output(g.emit("Concat", large, raw, axis=3, name="both"))
    seen = {v.name: (-3.0, 3.0) for v in (graph.inputs[0].value, raw)}
    seen |= {v: (-3.0 * size, 3.0 * size) for v in (large.name, "both")}
    options = Options(wide=frozenset(["both"] if wide else []))
    made, decisions = quantize_graph(graph, seen, options)
    assert made.outputs[0].value.dtype == held
    assert any("different magnitude" in d.why for d in decisions) == (held == np.float32)


@pytest.mark.parametrize("reduced", [True, False])
def test_distances_of_inputs_from_what_is_made_of_them_are_float(g, reduced):
    """Samples without anomalies end where the scores of anomalies begin."""
    x = g.input("x", 1, 4, 4, 2)
    scaled = g.emit("Mul", x, g.const([0.5, 2.0]), name="scaled")
    made = g.conv(g.conv(scaled, 4, act_min=0.0), 2)
    off = g.emit("Sub", made, scaled, name="off")
    square = g.emit("Mul", off, off, name="square")
    y = g.emit("ReduceMean", square, axes=(1, 2, 3), keepdims=False) if reduced else square
    graph = g.output(y)
    names = {node.output.name for node, _ in distances(graph)}
    assert names == ({"scaled", "off", "square", y.name} if reduced else set())
    rng = np.random.default_rng(0)
    samples = [{"x": rng.normal(size=(1, 4, 4, 2)).astype(np.float32)} for _ in range(8)]
    done = quantize_model(graph, samples, "minmax", rounding="nearest")
    far = {"x": samples[0]["x"] * 9}
    (real,), (got,) = (
        Session(build_file(net)).run(far).values() for net in (done.floats, done.graph)
    )
    assert (got.max() > 0.25 * real.max()) == reduced


@pytest.mark.parametrize("numbers", [1, 2])
def test_sums_of_squares_of_features_are_float_if_they_are_the_output(g, numbers):
    """The logarithm of a density, as of a normalizing flow: -6 for normal samples, -5000 for
    others."""
    x = g.input("x", 1, 6)
    weights = g.const(g.rng.normal(size=(6, 6)) / 6)
    factors = g.emit("Tanh", g.emit("FullyConnected", x, weights, None), name="factors")
    z = g.emit("Mul", x, g.emit("Exp", factors, name="exp"), name="z")
    square = g.emit("Pow", z, g.const(2.0), name="square")
    if numbers == 2:
        square = g.emit("Reshape", square, shape=(2, 3))
    total = g.emit("ReduceSum", square, axes=(1,), keepdims=False, name="total")
    graph = g.output(g.emit("Mul", total, g.const(-0.5), name="y"))
    names = {node.output.name for node, _ in distances(graph)}
    assert names == ({"factors", "exp", "z", "square", "total", "y"} if numbers == 1 else set())
    samples = [{"x": g.rng.normal(size=(1, 6)).astype(np.float32)} for _ in range(16)]
    done = quantize_model(graph, samples, "minmax", rounding="nearest")
    far = {"x": samples[0]["x"] * 30}
    (real,), (got,) = (
        Session(build_file(net)).run(far).values() for net in (done.floats, done.graph)
    )
    assert (got.min() < 0.25 * real.min()) == (numbers == 1)
