"""Forests of decision trees."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...format.schema import OpKind, TreeAggregate
from ...ir import Array, Node, TensorType, Value
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef
from ._forest import Forest, leaf_sqnr_db, quantized, scores
from ._forest_onnx import read_indexed, read_listed
from ._forest_table import Table, encode
from ._scores import (
    best_of,
    class_labels,
    labelled,
    rows_of,
    transform_of,
    transformed,
    two_classes,
)

LEAST_LEAF_DB = 50.0
"""Of scores with int8 leaves, over what their rounding adds; with less, leaves are int16."""

# A search for precisions writes the same forests hundreds of times.
_TABLES: WeakKeyDictionary[Forest, Table] = WeakKeyDictionary()
_COMPACT: WeakKeyDictionary[Forest, tuple[Forest, int]] = WeakKeyDictionary()


class TreeEnsemble(OpDef):
    """ONNX TreeEnsembleClassifier-1..5, TreeEnsembleRegressor-1..5, TreeEnsemble-5 of ai.onnx.ml.

    attrs: forest. float32 rows [N, features] to scores [N, targets]; int32 rows become float32. All
    modes, set membership, missing values, aggregate functions and post transforms. Decisions are
    those of float32 thresholds; of double inputs, features and thresholds are rounded alike.
    """

    name = "TreeEnsemble"
    onnx = (
        "ai.onnx.ml.TreeEnsemble",
        "ai.onnx.ml.TreeEnsembleClassifier",
        "ai.onnx.ml.TreeEnsembleRegressor",
    )
    float_only = "features become ranks among the thresholds, which decide as the floats do"

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = rows_of(b, node)
        if node.op == "TreeEnsembleClassifier":
            return _classified(b, node, x)
        if node.op == "TreeEnsembleRegressor":
            targets, transform = int(node.attrs.get("n_targets", 1)), transform_of(node)
            forest = read_listed(node, x.shape[1], targets, "target")
        else:
            forest, transform = read_indexed(node, x.shape[1])
        y = b.emit("TreeEnsemble", [x], forest=forest)
        if forest.targets == 1 and transform != "PROBIT":
            return [y]  # as onnxruntime does
        return [transformed(b, y, transform)]

    def takes_missing(self, node: Node) -> bool:
        return True

    def infer(self, node: Node) -> list[TensorType]:
        x, forest = node.input(0), node.attrs["forest"]
        if x.dtype != np.float32 or len(x.shape) != 2 or x.shape[1] != forest.features:
            raise ValueError(f"a forest of {forest.features} features has the input {x.type}")
        return [TensorType(x.dtype, (x.shape[0], forest.targets))]

    def compacted(self, node: Node) -> tuple[dict[str, Any], str] | None:
        """Leaves of 8 bits, or of 16 if rounding would affect the scores; for sums only."""
        forest: Forest = node.attrs["forest"]
        if forest.step or forest.aggregate not in (TreeAggregate.Sum, TreeAggregate.Average):
            return None
        if forest not in _COMPACT:
            bits = 8 if leaf_sqnr_db(forest, 8) >= LEAST_LEAF_DB else 16
            _COMPACT[forest] = quantized(forest, bits), bits
        compact, bits = _COMPACT[forest]
        return {
            "forest": compact
        }, f"stored with int{bits} leaves and {forest.split_count} exact thresholds"

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        assert inputs[0] is not None
        return [scores(node.attrs["forest"], inputs[0]).astype(np.float32)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x = node.input(0)
        forest: Forest = node.attrs["forest"]
        if forest not in _TABLES:
            _TABLES[forest] = encode(forest)
        table = _TABLES[forest]
        params: dict[str, int | float] = {
            "rows": x.shape[0],
            "features": forest.features,
            "targets": forest.targets,
            "table": blob.add(np.frombuffer(table.data, np.uint8)),
            "scratch": table.scratch,
        }
        return Lowered(OpKind.TreeEnsemble, params, [x])


def _classified(b: Builder, node: OnnxNode, x: Value) -> list[Value]:
    labels, transform = class_labels(node), transform_of(node)
    scored = sorted({int(i) for i in node.attrs.get("class_ids", [])})
    if len(labels) <= 2 and len(scored) == 1:
        return _classified_by_one(b, node, x, labels, transform)
    forest = read_listed(node, x.shape[1], max(len(labels), 1), "class")
    y = b.emit("TreeEnsemble", [x], forest=forest)
    return [labelled(b, best_of(b, y), labels), transformed(b, y, transform)]


def _classified_by_one(
    b: Builder, node: OnnxNode, x: Value, labels: list[int] | list[str], transform: str
) -> list[Value]:
    """Of two classes, whose leaves score one alone."""
    weights = [float(v) for v in np.ravel(_weights(node))]
    base = [float(v) for v in np.ravel(node.attrs.get("base_values") or [])]
    attrs = node.attrs | {"class_ids": [0] * len(weights), "base_values": base[-1:]}
    renamed = OnnxNode(
        node.op, node.domain, node.version, node.name, node.inputs, node.outputs, attrs
    )
    forest = read_listed(renamed, x.shape[1], 1, "class")
    p = b.emit("TreeEnsemble", [x], forest=forest)
    limit = 0.5 if all(w >= 0 for w in weights) else 0.0
    index, both = two_classes(b, p, transform, limit)
    return [labelled(b, index, labels if len(labels) == 2 else [0, 1]), both]


def _weights(node: OnnxNode) -> Array | list[float]:
    found: Array | list[float] = node.attrs.get("class_weights") or node.attrs.get(
        "class_weights_as_tensor", []
    )
    return found


OPS: tuple[OpDef, ...] = (TreeEnsemble(),)
