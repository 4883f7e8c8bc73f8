"""What is computed of a tree's leaf becomes the leaf, and sums of trees one forest."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.model_files import load
from edgekit.toolkit.runtime import Session


def tree(name, limits, leaves):
    """A node: leaves[i] where x[0] > limits[:i] and x[0] <= limits[i]."""
    count = len(limits)
    splits, ends = range(count), range(count, 2 * count + 1)
    ids = [*splits, *ends]
    return helper.make_node(
        "TreeEnsembleRegressor", ["x"], [name], domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=[0] * len(ids), nodes_nodeids=ids, nodes_featureids=[0] * len(ids),
        nodes_modes=["BRANCH_LEQ"] * count + ["LEAF"] * (count + 1),
        nodes_values=[*limits, *[0.0] * (count + 1)],
        nodes_truenodeids=[*ends[:-1], *[0] * (count + 1)],
        nodes_falsenodeids=[*list(splits)[1:], ends[-1], *[0] * (count + 1)],
        target_treeids=[0] * (count + 1), target_nodeids=list(ends),
        target_ids=[0] * (count + 1), target_weights=leaves, base_values=[0.25],
    )  # fmt: skip


def looked_up(name, of):
    """Nodes for table[int(of)] * log(max(of, 1)), as [1, 1]."""
    n = [f"{name}.{i}" for i in range(4)]
    return [
        helper.make_node("Cast", [of], [n[0]], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", n[0]], [n[1]], axis=0),
        helper.make_node("Max", [of, "one"], [n[2]]),
        helper.make_node("Log", [n[2]], [n[3]]),
        helper.make_node("Mul", [n[1], n[3]], [name]),
    ]


TABLE = np.random.default_rng(0).normal(size=9).astype(np.float32)


def model(nodes, outputs, rows=1):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 2])
    made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    consts = [
        numpy_helper.from_array(np.float32(1), "one"),
        numpy_helper.from_array(TABLE, "table"),
    ]
    graph = helper.make_graph(nodes, "g", [x], made, consts)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def operators(made, rows=1):
    """What is left of a model, which answers as onnxruntime does."""
    graph = load(made.SerializeToString())
    ours, theirs = (
        Session(build_file(graph)),
        onnxruntime.InferenceSession(made.SerializeToString()),
    )
    for at in np.arange(-1, 9, 0.5, np.float32):
        x = np.full((rows, 2), at, np.float32)
        found = ours.run({"x": x})
        for name, want in zip(found, theirs.run(list(found), {"x": x}), strict=True):
            np.testing.assert_allclose(found[name], want, 1e-5, 1e-6)
    return [n.op for n in graph.nodes]


LIMITS, LEAVES = [1.0, 2.5, 4.0, 6.0], [3.0, 7.0, 0.0, 8.0, 1.0]


def two_trees(*end):
    return [
        tree("a", LIMITS, LEAVES), *looked_up("fa", "a"),
        tree("b", LIMITS[::-1], LEAVES[::-1]), *looked_up("fb", "b"),
        tree("c", LIMITS[1:], LEAVES[1:]), *end,
    ]  # fmt: skip


def test_functions_of_leaves_and_their_sum_are_one_forest():
    end = [helper.make_node("Add", ["fa", "fb"], ["s"]), helper.make_node("Add", ["s", "c"], ["y"])]
    assert operators(model(two_trees(*end), ["y"])) == ["TreeEnsemble"]


def test_a_tree_that_is_read_twice_stays():
    nodes = two_trees(helper.make_node("Add", ["fa", "fb"], ["y"]))
    made = operators(model(nodes, ["y", "a", "fb"]))
    assert made.count("TreeEnsemble") == 2 and "Gather" in made and "Add" in made


def test_several_rows_stay():
    nodes = two_trees(helper.make_node("Add", ["fa", "fb"], ["y"]))
    assert "Log" in operators(model(nodes, ["y"], rows=3), rows=3)


def test_leaves_stay_finite():
    """1 / 0 of a leaf that no sample may reach: quantization could not take it."""
    nodes = [
        tree("a", LIMITS, [-0.25, *LEAVES[1:]]),
        helper.make_node("Reciprocal", ["a"], ["r"]),
        helper.make_node("Exp", ["r"], ["y"]),
    ]
    assert "Exp" in operators(model(nodes, ["y"]))


@pytest.mark.parametrize("same", [True, False])
def test_forests_of_other_rows_are_no_sum(same):
    other = helper.make_node("Neg", ["x"], ["z"])
    second = tree("b", LIMITS, LEAVES)
    second.input[0] = "x" if same else "z"
    nodes = [
        tree("a", LIMITS, LEAVES),
        *([] if same else [other]),
        second,
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    assert operators(model(nodes, ["y"])).count("TreeEnsemble") == (1 if same else 2)
