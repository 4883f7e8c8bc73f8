"""Forests of ai.onnx.ml against onnxruntime, and against the meaning of a forest in numpy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import edgekit
from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.ir import Node, TensorType, Value
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.classical._forest import (
    Forest,
    LeafRow,
    Question,
    Split,
    Tree,
    keys,
    question,
)
from edgekit.toolkit.ops.classical.tree_ensemble import LEAST_LEAF_DB
from edgekit.toolkit.runtime import Session

ML = {"domain": "ai.onnx.ml"}
BACKEND_OPS = {"TreeEnsemble"}
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
LIMITS = [-1.5, -0.0, 0.0, 0.25, 1.0, 1e-40, -1e-40, np.inf, -np.inf, 3.4e38]


def test_node_cases(backend_case):
    backend_case.check(rtol=1e-6)


def grown(rng, depth, modes, tracks=False, features=4, limits=None):
    """One random tree: the lists of its nodes, and the indices of its leaves."""
    limits = LIMITS if limits is None else limits
    nodes, todo = [], [(0, 0)]
    while todo:
        at, level = todo.pop()
        while len(nodes) <= at:
            nodes.append(None)
        if level == depth or (level and rng.random() < 0.2):
            nodes[at] = ("LEAF", 0, 0.0, 0, 0, 0)
            continue
        low, high = len(nodes), len(nodes) + 1
        nodes += [None, None]
        mode, limit = str(rng.choice(modes)), float(rng.choice(limits))
        track = int(tracks and rng.random() < 0.5)
        nodes[at] = (mode, int(rng.integers(features)), limit, low, high, track)
        todo += [(low, level + 1), (high, level + 1)]
    return nodes


def attributes(rng, trees, prefix, targets, several=False, positive=False):
    """The nodes_* and leaf attributes of an ensemble of `grown` trees."""
    found = {k: [] for k in ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids",
                             "falsenodeids", "missing_value_tracks_true")}  # fmt: skip
    leaf = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for t, nodes in enumerate(trees):
        for i, (mode, feature, limit, low, high, track) in enumerate(nodes):
            row = (t, i, mode, feature, limit, low, high, track)
            for k, v in zip(found, row, strict=True):
                found[k].append(v)
            if mode != "LEAF":
                continue
            for target in range(targets) if several else [t % targets]:
                weight = float(np.float32(rng.normal()))
                values = (t, i, target, abs(weight) if positive else weight)
                for k, v in zip(leaf, values, strict=True):
                    leaf[k].append(v)
    return {f"nodes_{k}": v for k, v in found.items()} | {
        f"{prefix}_{k}": v for k, v in leaf.items()
    }


def rows(rng, n=40, features=4):
    x = rng.choice(
        np.array([*LIMITS, np.nan, 0.3, -7, 2e-40, np.float32(0.1)], np.float32), (n, features)
    )
    near = np.nextafter(x, np.float32(rng.choice([-9, 9])), dtype=np.float32)
    return np.where(rng.random(x.shape) < 0.3, near, x).astype(np.float32)


def compare(op, x, outputs, rtol=1e-5, **attrs):
    """One node by us and by onnxruntime on one thread."""
    ports = [onnx.ValueInfoProto(name=n) for n in outputs]
    for port, code in zip(ports, outputs.values(), strict=True):
        port.type.tensor_type.elem_type = code
    node = helper.make_node(op, ["x"], list(outputs), **ML, **attrs)
    code = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node], "forest", [helper.make_tensor_value_info("x", code, x.shape)], ports
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    ours = Session(build_file(load(model))).run({"x": x})
    for name, want in zip(outputs, theirs, strict=True):
        assert ours[name].dtype == want.dtype and ours[name].shape == want.shape
        if want.dtype.kind == "i":
            np.testing.assert_array_equal(ours[name], want)
        else:
            largest = float(np.abs(want[np.isfinite(want)]).max(initial=0))
            np.testing.assert_allclose(ours[name], want, rtol=rtol, atol=rtol * largest)
    return ours


@pytest.mark.parametrize("mode", [*MODES, "mixed"])
@pytest.mark.parametrize("tracks", [False, True])
def test_every_mode_decides_as_onnxruntime(mode, tracks):
    rng = np.random.default_rng(len(mode) + tracks)
    modes = MODES if mode == "mixed" else [mode]
    trees = [grown(rng, 5, modes, tracks) for _ in range(6)]
    attrs = attributes(rng, trees, "target", 1)
    compare("TreeEnsembleRegressor", rows(rng), {"y": 1}, n_targets=1, **attrs)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("several", [False, True])
def test_scores_are_aggregated(aggregate, targets, several):
    rng = np.random.default_rng(targets)
    trees = [grown(rng, 4, MODES[:1]) for _ in range(7)]
    attrs = attributes(rng, trees, "target", targets, several)
    base = [0.5, -1.0, 2.0][:targets]
    compare(
        "TreeEnsembleRegressor", rows(rng), {"y": 1}, n_targets=targets,
        aggregate_function=aggregate, base_values=base, **attrs,
    )  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("targets", [1, 3])
def test_scores_are_transformed(transform, targets):
    rng = np.random.default_rng(3)
    trees = [grown(rng, 4, MODES[:1]) for _ in range(6)]
    attrs = attributes(rng, trees, "target", targets, positive=True)
    if transform == "PROBIT":  # of probabilities
        attrs["target_weights"] = [w % 0.4 + 0.02 for w in attrs["target_weights"]]
    compare(
        "TreeEnsembleRegressor", rows(rng), {"y": 1}, rtol=1e-4, n_targets=targets,
        post_transform=transform, **attrs,
    )  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("labels", [[0, 1, 2], [5, -3, 9]])
@pytest.mark.parametrize("several", [False, True])
def test_classes_are_told(transform, labels, several):
    rng = np.random.default_rng(5)
    trees = [grown(rng, 4, MODES[:1]) for _ in range(9)]
    attrs = attributes(rng, trees, "class", 3, several)
    base = [0.1, 0.2, 0.3]
    compare(
        "TreeEnsembleClassifier", rows(rng), {"label": 7, "p": 1}, base_values=base,
        classlabels_int64s=labels, post_transform=transform, **attrs,
    )  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("base", [None, [0.4]])
def test_one_score_tells_two_classes(transform, positive, base):
    rng = np.random.default_rng(6)
    trees = [grown(rng, 4, MODES[:1]) for _ in range(5)]
    attrs = attributes(rng, trees, "class", 1, positive=positive)
    attrs |= {"base_values": base} if base else {}
    compare(
        "TreeEnsembleClassifier", rows(rng), {"label": 7, "p": 1},
        classlabels_int64s=[3, 8], post_transform=transform, **attrs,
    )  # fmt: skip


def test_integer_features_and_trees_that_are_leaves():
    rng = np.random.default_rng(7)
    limits = [-3.0, 0.0, 2.5, 7.0]
    trees = [[("LEAF", 0, 0.0, 0, 0, 0)], grown(rng, 4, MODES, limits=limits)]
    x = rng.integers(-8, 9, (30, 4))
    attrs = attributes(rng, trees, "class", 3)
    compare("TreeEnsembleClassifier", x, {"l": 7, "p": 1}, classlabels_int64s=[0, 1, 2], **attrs)


def test_columns_of_many_cuts_and_trees_of_many_leaves():
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.normal(size=2000).astype(np.float32))
    nodes = []
    for i, cut in enumerate(cuts):  # a chain: the deepest that 2000 nodes can be
        nodes += [("BRANCH_LEQ", 0, float(cut), 2 * i + 1, 2 * i + 2, 0), ("LEAF", 0, 0.0, 0, 0, 0)]
    trees = [[*nodes, ("LEAF", 0, 0.0, 0, 0, 0)]] * 2
    x = np.concatenate([cuts[::7], rng.normal(size=50).astype(np.float32)])[:, None]
    attrs = attributes(rng, trees, "target", 1)
    compare("TreeEnsembleRegressor", x, {"y": 1}, n_targets=1, **attrs)


@pytest.mark.parametrize("mode", MODES)
def test_doubles_that_equal_a_threshold_are_equal_in_floats(mode):
    limit = 1.2  # which is no float
    nodes = [(mode, 0, limit, 1, 2, 0), *[("LEAF", 0, 0.0, 0, 0, 0)] * 2]
    attrs = attributes(np.random.default_rng(0), [nodes], "target", 1)
    given = {k: attrs.pop(k) for k in ("nodes_values", "target_weights")}
    for k, v in given.items():
        attrs[f"{k}_as_tensor"] = helper.make_tensor(k, 11, [len(v)], v)
    x = np.array([[limit], [limit - 1e-5], [limit + 1e-5]])
    compare("TreeEnsembleRegressor", x, {"y": 1}, n_targets=1, **attrs)


def test_thresholds_between_floats_decide_as_doubles():
    near = [0.1, np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1))]
    for low, high in pairwise(float(v) for v in near):
        q, swapped = question("BRANCH_LT", 0, [(low + high) / 2], False)
        x = np.float32([low, high])
        np.testing.assert_array_equal(keys(x) <= q.cut, x.astype(float) < (low + high) / 2)
        assert not swapped


def graph_of(nodes, **changed):
    attrs = attributes(np.random.default_rng(0), [nodes], "target", 1) | changed
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], **ML, n_targets=1, **attrs)
    x, y = (helper.make_tensor_value_info(n, 1, [1, 4]) for n in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=opsets)


LEAF = ("LEAF", 0, 0.0, 0, 0, 0)


@pytest.mark.parametrize(
    ("nodes", "changed", "why"),
    [
        ([("BRANCH_LEQ", 0, 1.0, 0, 1, 0), LEAF], {}, "form a cycle"),
        (
            [("BRANCH_LEQ", 0, 1.0, 1, 2, 0), ("BRANCH_LEQ", 0, 1.0, 1, 2, 0), LEAF],
            {},
            "two parents",
        ),
        ([("BRANCH_LEQ", 9, 1.0, 1, 2, 0), LEAF, LEAF], {}, "feature 9 of an input of 4"),
        ([("BRANCH_LEQ", 0, 1.0, 1, 7, 0), LEAF, LEAF], {}, "lacks a node"),
        ([("BRANCH_LEQ", 0, 1.0, 1, 2, 0), LEAF, LEAF], {"target_ids": [0, 5]}, "target 5 of 1"),
        (
            [("BRANCH_LEQ", 0, 1.0, 1, 2, 0), LEAF, LEAF],
            {"nodes_values": [1.0]},
            "differ in length",
        ),
    ],
)
def test_damaged_forests_are_refused(nodes, changed, why):
    with pytest.raises(UnsupportedError, match=why):
        load(graph_of(nodes, **changed))


def test_a_quantized_model_has_integer_leaves_and_exact_thresholds(tmp_path):
    rng = np.random.default_rng(4)
    limits = [float(v) for v in rng.normal(size=40).astype(np.float32)]
    trees = [grown(rng, 6, MODES[:1], limits=limits) for _ in range(30)]
    attrs = attributes(rng, trees, "class", 3)
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "p"], **ML,
                            classlabels_int64s=[0, 1, 2], **attrs)  # fmt: skip
    x = rng.normal(size=(64, 4)).astype(np.float32)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "g", [info("x", 1, ["N", 4])], [info("label", 7, ["N"]), info("p", 1, ["N", 3])]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    np.savez(tmp_path / "calib.npz", x=x)
    made = edgekit.quantize(tmp_path / "m.onnx", tmp_path / "calib.npz", tmp_path / "m.edge")
    (told,) = [d for d in made.decisions if d.op == "TreeEnsemble"]
    assert told.what.startswith("stored with int16 leaves") and "exact thresholds" in told.what
    assert made.sqnr_db > LEAST_LEAF_DB
    edgekit.convert(tmp_path / "m.onnx", tmp_path / "float.edge")
    floats, integers = (Session(tmp_path / f"{n}.edge").run({"x": x}) for n in ("float", "m"))
    np.testing.assert_array_equal(floats["label"], integers["label"])
    assert (tmp_path / "m.edge").stat().st_size < (tmp_path / "float.edge").stat().st_size


def test_leaves_of_very_different_sizes_are_int16():
    def forest(last):
        tree = Tree([Split(Question(0, False, 0), ~0, ~1)], 0)
        rows_: list[LeafRow] = [((0, 0.011),), ((0, -0.013),), ((0, last),)]
        return Forest(1, 1, [tree] * 9 + [Tree((), ~2)], rows_, np.zeros(1, np.float32))

    v = Value("x", TensorType(np.dtype(np.float32), (1, 1)))
    for last, bits in ((0.013, 8), (5.0, 16)):
        node = Node("TreeEnsemble", [v], [v], {"forest": forest(last)})
        compacted = definition("TreeEnsemble").compacted(node)
        assert compacted is not None and compacted[0]["forest"].leaf_bits == bits
