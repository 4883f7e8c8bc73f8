"""Support vector machines, distances and neighbours against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops.classical.svm import coupled
from edgekit.toolkit.runtime import Session

from .test_features import model_of, run

ML = {"domain": "ai.onnx.ml"}
KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5)).astype(np.float32)


def numbers(*shape, rng=None, scale=1.0):
    return [float(v) for v in (rng or RNG).normal(0, scale, shape).astype(np.float32).ravel()]


def machine(kernel, counts, degree=3.0):
    """The attributes of a classifier, or of a regressor with one count."""
    rng, total, k = np.random.default_rng(len(counts)), sum(counts), max(len(counts), 2)
    return {
        "kernel_type": kernel, "kernel_params": [0.1, 0.5, degree],
        "support_vectors": numbers(total, 5, rng=rng),
        "coefficients": numbers((k - 1) * total, rng=rng),
        "rho": numbers(k * (k - 1) // 2, rng=rng),
    }  # fmt: skip


def agree(op, outputs, **attrs):
    node = helper.make_node(op, ["x"], list(outputs), **ML, **attrs)
    ours, theirs = run([node], {"x": X}, outputs)
    for name, code in outputs.items():
        assert ours[name].shape == theirs[name].shape
        if code == 1:
            largest = float(np.abs(theirs[name]).max())
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, atol=1e-5 * largest)
        else:
            np.testing.assert_array_equal(ours[name].astype(object), theirs[name].astype(object))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_values_are_predicted(kernel, one_class):
    attrs = machine(kernel, [7])
    agree("SVMRegressor", {"y": 1}, n_supports=7, one_class=one_class, **attrs)


@pytest.mark.parametrize("degree", [1.0, 2.0, 4.0])
def test_polynomials_of_every_degree(degree):
    agree("SVMRegressor", {"y": 1}, n_supports=7, **machine("POLY", [7], degree))


def test_a_regressor_without_vectors_is_linear():
    attrs = {"coefficients": numbers(5), "rho": [0.25], "kernel_params": [0.0, 0.0, 0.0]}
    agree("SVMRegressor", {"y": 1}, n_supports=0, **attrs)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("counts", [[4, 6], [3, 5, 4], [2, 1, 3, 4]])
@pytest.mark.parametrize("probabilities", [False, True])
def test_classes_are_told(kernel, counts, probabilities):
    pairs = len(counts) * (len(counts) - 1) // 2
    attrs = machine(kernel, counts) | {"classlabels_ints": [7, 3, 5, 4][: len(counts)]}
    if probabilities:
        attrs |= {"prob_a": numbers(pairs, scale=0.5), "prob_b": numbers(pairs, scale=0.1)}
    agree("SVMClassifier", {"l": 7, "p": 1}, vectors_per_class=counts, **attrs)


def test_classes_are_strings():
    attrs = machine("RBF", [3, 5, 4]) | {"classlabels_strings": ["a", "b", "c"]}
    agree("SVMClassifier", {"l": 8, "p": 1}, vectors_per_class=[3, 5, 4], **attrs)


@pytest.mark.parametrize("k", [2, 3])
def test_a_classifier_without_vectors_is_linear(k):
    attrs = {"coefficients": numbers(5 * k), "rho": [0.25], "kernel_params": [0.0, 0.0, 0.0]}
    agree("SVMClassifier", {"l": 7, "p": 1}, classlabels_ints=[4, 2, 9][:k], **attrs)


def test_coupled_pairs_are_probabilities():
    p = np.array([0.6, 0.3, 0.1])
    pairs = [p[i] / (p[i] + p[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(coupled(np.array(pairs), 3), p, atol=0.005)


def neighbours(body, x, y):
    """The distances of a Scan over the rows y with this body, as skl2onnx writes it."""
    scan = helper.make_node("Scan", ["x", "y"], ["", "d"], body=body, num_scan_inputs=1)
    turn = helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0])
    model = model_of([scan, turn], {"x": x}, {"t": 1})
    model.graph.node[0].output[0] = "state"
    model.graph.initializer.append(numpy_helper.from_array(y, "y"))
    return model


def body_of(*lines):
    ports = "(float[N,F] a, float[F] r) => (float[N,F] same, float[N] out)"
    return onnx.parser.parse_graph(f"body {ports} {{ {' '.join(lines)} }}")


SQUARES = ("same = Identity(a)", "d = Sub(a, r)",
           "out = ReduceSumSquare <axes: ints = [1], keepdims: int = 0> (d)")  # fmt: skip


def test_a_scan_of_distances_is_one_operator():
    y = RNG.normal(size=(9, 5)).astype(np.float32)
    model = neighbours(body_of(*SQUARES), X, y)
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": X})[0]
    graph = load(model)
    assert [n.op for n in graph.nodes if n.op not in ("Transpose", "Copy")] == ["Distance"]
    np.testing.assert_allclose(Session(build_file(graph)).run({"x": X})["t"], want, rtol=1e-5)


@pytest.mark.parametrize(
    "other",
    [("same = Identity(a)", "d = Add(a, r)", SQUARES[2]), ("same = Neg(a)", *SQUARES[1:])],
)
def test_another_scan_is_no_distance(other):
    model = neighbours(body_of(*other), X[:6], X[:3])
    feed = {"x": X[:6]}
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)[0]
    graph = load(model)
    assert all(n.op != "Distance" for n in graph.nodes)
    np.testing.assert_allclose(Session(build_file(graph)).run(feed)["t"], want, rtol=1e-5)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_cdist(metric):
    y = RNG.normal(size=(9, 5)).astype(np.float32)
    node = helper.make_node("CDist", ["x", "y"], ["d"], domain="com.microsoft", metric=metric)
    model = model_of([node], {"x": X}, {"d": 1})
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    model.graph.initializer.append(numpy_helper.from_array(y, "y"))
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": X})[0]
    np.testing.assert_allclose(
        Session(build_file(load(model))).run({"x": X})["d"], want, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [1, 4, 6])
def test_the_few_largest_in_order_equal_ones_as_they_come(largest, k):
    x = RNG.integers(0, 5, (12, 6)).astype(np.float32)
    node = helper.make_node("TopK", ["x", "k"], ["v", "i"], largest=largest)
    model = model_of([node], {"x": x}, {"v": 1, "i": 7})
    model.graph.initializer.append(numpy_helper.from_array(np.array([k]), "k"))
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    got = Session(build_file(load(model))).run({"x": x})
    np.testing.assert_array_equal(got["v"], want[0])
    np.testing.assert_array_equal(got["i"], want[1])
