"""The table of a forest: every size of a node, leaf and link means what the forest means."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.schema import TreeAggregate
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops.classical._forest import (
    Forest,
    LeafRow,
    Question,
    Split,
    Tree,
    keys,
    quantized,
    scores,
)
from edgekit.toolkit.ops.classical._forest_table import NODE_BYTES, encode
from edgekit.toolkit.runtime import Session

from .test_tree_ensemble import ML, MODES, attributes, compare, grown


def of_forest(forest, x, monkeypatch, node_bytes):
    """What the runtime answers for a forest with nodes of a size."""
    v = Value("x", TensorType(np.dtype(np.float32), x.shape))
    y = Value("y", TensorType(np.dtype(np.float32), (len(x), forest.targets)))
    node = Node("TreeEnsemble", [v], [y], {"forest": forest}, "y")
    graph = Graph([node], [Port("x", v, 1, v.shape)], [Port("y", y, 1, y.shape)])
    monkeypatch.setattr(
        "edgekit.toolkit.ops.classical.tree_ensemble.encode", lambda f: encode(f, [node_bytes])
    )
    return Session(build_file(graph)).run({"x": x})["y"]


def random_forest(rng, targets, leaves, several, splits=15, count=8):
    trees = []
    for _ in range(count):
        made = []
        for i in range(splits):
            members = tuple(sorted({int(k) for k in rng.integers(-9, 9, 3)}))
            q = Question(int(rng.integers(4)), bool(rng.random() < 0.5), int(rng.integers(-9, 9)))
            q = q._replace(cut=0, members=members) if rng.random() < 0.2 else q
            ends = [2 * i + 1 if 2 * i + 1 < splits else ~int(rng.integers(leaves)),
                    2 * i + 2 if 2 * i + 2 < splits else ~int(rng.integers(leaves))]  # fmt: skip
            made.append(Split(q, *rng.permutation(ends).tolist()))
        trees.append(Tree(made, 0))

    def row(i: int) -> LeafRow:
        chosen = range(targets) if several else [0]
        return tuple((t, float(np.float32(rng.normal()))) for t in chosen)

    rows_ = [row(i) for i in range(leaves)]
    return Forest(4, targets, trees, rows_, np.zeros(targets, np.float32), TreeAggregate.Sum)


def test_features_with_the_same_cuts_share_one_list():
    """As whole numbers do; those with few cuts of their own do not."""
    at = np.arange(40, dtype=np.int64)
    splits = [Split(Question(i % 8, False, int(at[i // 2 % 20])), i + 1, ~0) for i in range(319)]
    splits.append(Split(Question(7, True, 5), ~0, ~1))
    made = encode(Forest(8, 1, [Tree(splits, 0)], [((0, 1.0),), ((0, 2.0),)], np.zeros(1, "f")))
    assert made.head["cuts"] == 20
    splits = [Split(Question(i, False, 10 * i), i + 1 if i < 3 else ~1, ~0) for i in range(4)]
    made = encode(Forest(4, 1, [Tree(splits, 0)], [((0, 1.0),), ((0, 2.0),)], np.zeros(1, "f")))
    words = np.frombuffer(made.data, "<u4", made.head["columns"], 32)
    assert made.head["cuts"] == 4 and not np.any(words >> 31)


def test_guesses_change_no_rank():
    """Pixels 0 to 16 in 64 columns: each rank is looked for from a guess on."""
    rng = np.random.default_rng(1)
    limits = [float(v) for v in np.arange(0, 17, 0.5)]
    trees = [grown(rng, 7, MODES[:1], features=64, limits=limits) for _ in range(20)]
    attrs = attributes(rng, trees, "target", 1)
    x = rng.choice(np.array([*limits, -3, 40, np.inf, -np.inf, np.nan, 1e-40, 7.3], "f"), (80, 64))
    near = np.nextafter(x, np.float32(9), dtype=np.float32)
    x = np.where(rng.random(x.shape) < 0.3, near, x)
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], **ML, n_targets=1, **attrs)
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [info("x", 1, x.shape)], [info("y", 1, [80, 1])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    (made,) = load(helper.make_model(graph, opset_imports=opsets)).nodes
    assert encode(made.attrs["forest"]).head["guess_bits"]
    compare("TreeEnsembleRegressor", x, {"y": 1}, n_targets=1, **attrs)


def test_high_leaves_and_near_distances_are_links(monkeypatch):
    """And what is no link of a narrow node is written behind it; more than 64 KB is wide."""
    rng = np.random.default_rng(3)
    forest = random_forest(rng, 3, 20, True, splits=400, count=2)
    narrow, wide = encode(forest, [2]), encode(forest, [4])
    assert narrow.head["node_bytes"] == 2 and wide.head["node_bytes"] == 4
    assert len(narrow.data) < len(wide.data) and encode(forest).data == narrow.data
    x = rng.integers(-12, 12, (40, 4)).astype(np.int32).view(np.float32)
    want = scores(forest, x).astype(np.float32)
    np.testing.assert_array_equal(of_forest(forest, x, monkeypatch, 2), want)
    large = random_forest(rng, 3, 20, True, splits=30_000, count=1)
    assert encode(large).head["node_bytes"] > 2
    with pytest.raises(ValueError, match="does not fit"):
        encode(large, [2])
    want = scores(large, x).astype(np.float32)
    np.testing.assert_array_equal(of_forest(large, x, monkeypatch, 3), want)


def test_a_tree_too_deep_to_verify_is_refused():
    low = Split(Question(0, False, 0), ~0, ~1)
    count = 4000  # each with a low subtree: the verifier goes down to every high one
    splits = [Split(Question(0, False, i), count + i, i + 1 if i + 1 < count else ~0)
              for i in range(count)]  # fmt: skip
    tree = Tree([*splits, *[low] * count], 0)
    with pytest.raises(ValueError, match="too deep"):
        encode(Forest(1, 1, [tree], [((0, 1.0),), ((0, 2.0),)], np.zeros(1, np.float32)))


@pytest.mark.parametrize("node_bytes", NODE_BYTES)
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("bits", [32, 16, 8])
def test_nodes_of_every_size_mean_the_same(monkeypatch, node_bytes, several, bits):
    rng = np.random.default_rng(node_bytes)
    forest = random_forest(rng, 3 if several else 1, 20, several)
    forest = forest if bits == 32 else quantized(forest, bits)
    near = np.arange(-12, 12).astype(np.int32)
    x = np.where(near < 0, -near | np.int32(-(2**31)), near).astype(np.int32).view(np.float32)
    np.testing.assert_array_equal(keys(x), near)
    x = rng.choice(np.array([*x, np.nan], np.float32), (50, 4))
    got = of_forest(forest, x, monkeypatch, node_bytes)
    np.testing.assert_array_equal(got, scores(forest, x).astype(np.float32))
