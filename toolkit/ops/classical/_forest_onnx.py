"""Forests as ai.onnx.ml writes them -> Forest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...format.schema import TreeAggregate
from .._opdef import OnnxNode, Unsupported
from ._forest import Forest, LeafRow, Split, Tree, question

MOST_FEATURES = 1 << 16
DOUBLE = 11

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ",
          "BRANCH_MEMBER")  # fmt: skip
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

Id = tuple[int, int]


def read_listed(node: OnnxNode, features: int, targets: int, prefix: str) -> Forest:
    """The forest of a TreeEnsembleClassifier or TreeEnsembleRegressor, versions 1 to 5.

    `prefix` is that of the leaves' attributes: "class" or "target".
    """
    a = node.attrs
    trees, ids = _ints(a, "nodes_treeids"), _ints(a, "nodes_nodeids")
    modes = [str(m) for m in a.get("nodes_modes", [])]
    values = _limits(node, _floats(a, "nodes_values"))
    columns = {k: _ints(a, f"nodes_{k}") for k in ("featureids", "truenodeids", "falsenodeids")}
    tracks = _ints(a, "nodes_missing_value_tracks_true") or [0] * len(ids)
    lists: list[Sequence[Any]] = [trees, modes, values, *columns.values(), tracks]
    if not ids or any(len(each) != len(ids) for each in lists):
        raise Unsupported("its nodes_* attributes differ in length", "export the model again")
    at = {(t, i): k for k, (t, i) in enumerate(zip(trees, ids, strict=True))}
    if len(at) < len(ids):
        raise Unsupported("two of its nodes have one id", "export the model again")
    aggregate = TreeAggregate[str(a.get("aggregate_function", "SUM")).title()]
    leaves = _Leaves(targets)
    rows = _leaf_rows(a, prefix)
    if aggregate in (TreeAggregate.Sum, TreeAggregate.Average):  # a sum is the same without zeros
        rows = {k: [e for e in row if e[1]] if len(row) > 1 else row for k, row in rows.items()}

    def same_answer(k: int) -> int | None:
        """The false node of an equality that asks its feature for another value to the same end.

        So converters write that a feature is in a set, and share the end.
        """
        f = at.get((trees[k], columns["falsenodeids"][k]))
        if f is None or f == k:
            return None
        alike = modes[k] == modes[f] == "BRANCH_EQ" and tracks[k] == tracks[f]
        names = ("featureids", "truenodeids")
        same = alike and all(columns[name][k] == columns[name][f] for name in names)
        return f if same else None

    def visit(k: int) -> tuple[Any, ...] | int:
        if modes[k] == "LEAF":
            return leaves(tuple(rows.get((trees[k], ids[k]), ())))
        _check(modes[k], columns["featureids"][k], features)
        limits, last = [values[k]], k
        while len(limits) < len(ids) and (follower := same_answer(last)) is not None:
            limits, last = [*limits, values[follower]], follower
        q, swapped = question(modes[k], columns["featureids"][k], limits, bool(tracks[k]))
        ends = [at.get((trees[k], columns[name][last])) for name in ("truenodeids", "falsenodeids")]
        if None in ends:
            raise Unsupported(f"tree {trees[k]} lacks a node that another names")
        return q, *(ends[::-1] if swapped else ends)

    children = {
        (t, i)
        for k, t in enumerate(trees)
        if modes[k] != "LEAF"
        for i in (columns["truenodeids"][k], columns["falsenodeids"][k])
    }
    roots: dict[int, int] = {}
    for k, name in enumerate(zip(trees, ids, strict=True)):
        if name not in children:
            roots.setdefault(name[0], k)
    for tree in dict.fromkeys(trees):
        if tree not in roots:
            raise Unsupported(f"tree {tree} has no root: its nodes form a cycle")
    made = [_tree(roots[tree], visit) for tree in dict.fromkeys(trees)]
    base = _base(_floats(a, "base_values"), targets)
    return Forest(features, targets, made, leaves.rows, base, aggregate)


def read_indexed(node: OnnxNode, features: int) -> tuple[Forest, str]:
    """The forest of a TreeEnsemble-5, and its post transform."""
    a = node.attrs
    targets = int(a.get("n_targets", 1))
    names = ("featureids", "truenodeids", "falsenodeids", "trueleafs", "falseleafs")
    columns = {name: _ints(a, f"nodes_{name}") for name in names}
    modes = [int(m) for m in np.ravel(a["nodes_modes"])]
    splits = _limits(node, [float(v) for v in np.ravel(a["nodes_splits"])])
    tracks = _ints(a, "nodes_missing_value_tracks_true") or [0] * len(modes)
    weights = [float(v) for v in np.ravel(a["leaf_weights"])]
    ids = _ints(a, "leaf_targetids")
    lists: list[Sequence[Any]] = [*columns.values(), splits, tracks]
    if any(len(each) != len(modes) for each in lists):
        raise Unsupported("its nodes_* attributes differ in length", "export the model again")
    sets = _member_sets(a.get("membership_values"), modes)
    sets = {k: _limits(node, values) for k, values in sets.items()}
    leaves = _Leaves(targets)

    def end(k: int, side: str) -> int:
        index, leaf = columns[f"{side}nodeids"][k], columns[f"{side}leafs"][k]
        if not 0 <= index < (len(weights) if leaf else len(modes)):
            raise Unsupported(f"node {k} names a node that is not there")
        return leaves(((ids[index], weights[index]),)) if leaf else index

    def visit(k: int) -> tuple[Any, ...] | int:
        mode = _MODES[modes[k]] if 0 <= modes[k] < len(_MODES) else str(modes[k])
        _check(mode, columns["featureids"][k], features)
        limits = sets[k] if k in sets else [splits[k]]
        q, swapped = question(mode, columns["featureids"][k], limits, bool(tracks[k]))
        ends = [end(k, "true"), end(k, "false")]
        return q, *(ends[::-1] if swapped else ends)

    roots = _ints(a, "tree_roots")
    if any(not 0 <= r < len(modes) for r in roots) or not roots:
        raise Unsupported("its tree_roots name a node that is not there")
    trees = [_tree(r, visit) for r in roots]
    aggregate = TreeAggregate[_AGGREGATES[int(a.get("aggregate_function", 1))].title()]
    forest = Forest(features, targets, trees, leaves.rows, _base([], targets), aggregate)
    return forest, _TRANSFORMS[int(a.get("post_transform", 0))]


class _Leaves:
    """Rows of leaves, identical ones once; a call gives ~ the index."""

    def __init__(self, targets: int) -> None:
        self.rows: list[LeafRow] = []
        self._known: dict[LeafRow, int] = {}
        self._targets = targets

    def __call__(self, row: Sequence[tuple[int, float]]) -> int:
        row = tuple(row)
        if row not in self._known:
            for target, value in row:
                if not 0 <= target < self._targets:
                    raise Unsupported(f"a leaf scores target {target} of {self._targets}")
                if not np.isfinite(np.float32(value)):
                    raise Unsupported(f"a leaf has the value {value}", "train the model again")
            self._known[row] = len(self.rows)
            self.rows.append(row)
        return ~self._known[row]


def _tree(root: int, visit: Callable[[int], tuple[Any, ...] | int]) -> Tree:
    """The tree below a node, whose parts `visit` tells: a question and two ends, or a leaf."""
    found = visit(root)
    if isinstance(found, int):
        return Tree((), found)
    parts, index, order = {root: found}, {root: 0}, [root]
    leaf_of: dict[int, int] = {}
    for k in order:  # which grows
        for child in parts[k][1:]:
            if child < 0:
                continue
            if child in index:
                raise Unsupported(
                    "a node of a tree has two parents: it has a cycle, or shares nodes"
                )
            below = visit(child)
            if isinstance(below, int):
                leaf_of[child] = below
            else:
                parts[child], index[child] = below, len(order)
                order.append(child)

    def end(child: int) -> int:
        return child if child < 0 else leaf_of.get(child, index.get(child, 0))

    return Tree([Split(parts[k][0], end(parts[k][1]), end(parts[k][2])) for k in order], 0)


def _leaf_rows(a: dict[str, Any], prefix: str) -> dict[Id, list[tuple[int, float]]]:
    names = ("treeids", "nodeids", "ids")
    trees, nodes, ids = (_ints(a, f"{prefix}_{name}") for name in names)
    weights = _floats(a, f"{prefix}_weights")
    if len({len(trees), len(nodes), len(ids), len(weights)}) != 1:
        raise Unsupported(f"its {prefix}_* attributes differ in length", "export the model again")
    rows: dict[Id, list[tuple[int, float]]] = {}
    for t, n, i, w in zip(trees, nodes, ids, weights, strict=True):
        rows.setdefault((t, n), []).append((i, w))
    return rows


def _member_sets(values: NDArray[Any] | None, modes: Sequence[int]) -> dict[int, list[float]]:
    """The values of each set membership node, which lie one behind the other, NaN between."""
    sets: list[list[float]] = [[]]
    for v in [] if values is None else np.ravel(values):
        if np.isnan(v):
            sets.append([])
        else:
            sets[-1].append(float(v))
    asking = [k for k, mode in enumerate(modes) if mode == _MODES.index("BRANCH_MEMBER")]
    if len(asking) > len(sets):
        raise Unsupported("its membership_values lack the set of a node")
    return dict(zip(asking, sets, strict=False))


def _limits(node: OnnxNode, values: list[float]) -> list[float]:
    """What features are compared with: doubles are rounded as double features are, so that what
    is equal stays so."""
    if node.element(0) != DOUBLE:
        return values
    with np.errstate(over="ignore"):
        return [float(v) for v in np.array(values).astype(np.float32)]


def _check(mode: str, feature: int, features: int) -> None:
    if mode not in _MODES:
        raise Unsupported(f"a node has the mode {mode}", f"use one of {', '.join(_MODES)}")
    if not 0 <= feature < features:
        raise Unsupported(f"a node asks for feature {feature} of an input of {features}")
    if feature >= MOST_FEATURES:
        raise Unsupported(f"its input has {features} features", f"at most {MOST_FEATURES}")


def _base(values: Sequence[float], targets: int) -> NDArray[np.float32]:
    if len(values) not in (0, 1, targets):
        raise Unsupported(f"it has {len(values)} base values for {targets} targets")
    base = np.zeros(targets, np.float32)
    if len(values) == targets:
        base[:] = values
    return base


def _ints(a: dict[str, Any], name: str) -> list[int]:
    return [int(v) for v in a.get(name, [])]


def _floats(a: dict[str, Any], name: str) -> list[float]:
    """A list of floats, or a tensor of doubles."""
    given = a.get(name)
    if given is None or len(given) == 0:
        given = a.get(f"{name}_as_tensor", ())
    return [float(v) for v in np.ravel(given)]
