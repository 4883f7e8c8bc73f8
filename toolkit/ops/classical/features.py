"""Features of ai.onnx.ml made ready: encoded, filled in, put together. They are other operators."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ...ir import Node, TensorType, Value
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from ._encoders import ENCODERS

_FLOAT = np.dtype(np.float32)
_OF_MAPS = ("DictVectorizer", "CastMap")  # onnx_import/maps.py


class Features(OpDef):
    """ai.onnx.ml: LabelEncoder-1..4, CategoryMapper-1, OneHotEncoder-1, ZipMap-1, Imputer-1,
    Binarizer-1, FeatureVectorizer-1; DictVectorizer-1 and CastMap-1 of an input of the model.

    Strings are int32 numbers of labels, which the file names. A ZipMap's output is its input, whose
    columns have names.
    """

    name = "Features"
    onnx = tuple(
        f"ai.onnx.ml.{op}"
        for op in (*ENCODERS, "Imputer", "Binarizer", "FeatureVectorizer", *_OF_MAPS)
    )

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        if node.op in ENCODERS:
            return ENCODERS[node.op](b, node)
        if node.op == "Imputer":
            return [_imputed(b, node)]
        if node.op == "Binarizer":
            return [_binarized(b, node)]
        if node.op in _OF_MAPS:
            raise Unsupported("what it reads is no map that the model takes", "export it alone")
        return [_joined(b, node)]

    def infer(self, node: Node) -> list[TensorType]:
        return self._absent(node)

    def lower(self, node: Node, blob: Blob) -> Lowered:
        return self._absent(node)

    def _absent(self, node: Node) -> NoReturn:
        raise ValueError(f"{node.op} '{node.name}' is other operators in the IR")


def _imputed(b: Builder, node: OnnxNode) -> Value:
    """Imputer-1: x, but in place of the value that stands for a missing one the column's own."""
    x, a = node.inputs[0], node.attrs
    assert x is not None
    if x.dtype == _FLOAT:
        new = np.asarray(a.get("imputed_value_floats") or [], np.float32)
        old: Value = b.constant(np.array(a.get("replaced_value_float", 0.0), np.float32))
    else:
        new = np.asarray(a.get("imputed_value_int64s") or [], np.int64)
        old = b.constant(np.array(a.get("replaced_value_int64", 0), np.int64))
    if new.size not in (1, x.shape[-1]):
        raise Unsupported(f"it has {new.size} values for {x.shape[-1]} columns")
    if x.dtype == _FLOAT and old.const is not None and np.isnan(old.const):
        kept, missing = x, b.constant(new)
        return b.emit("Where", [b.emit("Equal", [x, x]), kept, missing])
    return b.emit("Where", [b.emit("Equal", [x, old]), b.constant(new), x])


def _binarized(b: Builder, node: OnnxNode) -> Value:
    """Binarizer-1: 1 above the threshold, else 0; of x's element type."""
    x = node.inputs[0]
    assert x is not None
    limit = np.asarray(node.attrs.get("threshold", 0.0), np.float32)
    if x.dtype != _FLOAT:
        whole = b.constant(np.array(np.floor(limit), np.int64))
        return b.emit("Cast", [b.emit("Less", [whole, x])], to=x.dtype)
    return b.emit("Cast", [b.emit("Less", [b.constant(limit), x])], to=_FLOAT)


def _joined(b: Builder, node: OnnxNode) -> Value:
    """FeatureVectorizer-1: the columns of all inputs, as float32."""
    parts = []
    for x in node.inputs:
        assert x is not None
        x = x if x.dtype == _FLOAT else b.emit("Cast", [x], to=_FLOAT)
        parts.append(x if len(x.shape) == 2 else b.reshape(x, (1, x.type.size)))
    return parts[0] if len(parts) == 1 else b.emit("Concat", parts, axis=1)


OPS: tuple[OpDef, ...] = (Features(),)
