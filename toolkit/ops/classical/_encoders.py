"""Values to other values by tables: LabelEncoder, CategoryMapper, OneHotEncoder, ZipMap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ...ir import Value
from .._opdef import Builder, OnnxNode, Unsupported

_FLOAT, _INT32 = np.dtype(np.float32), np.dtype(np.int32)
_MOST_DENSE = 4
"""A table by integer keys has at most so many entries a key."""

Keys = list[str] | list[int] | list[float]


def zip_map(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.ZipMap-1: its input [N, classes], each column with the name of its class."""
    x = _given(node)
    labels = node.attrs.get("classlabels_strings") or node.attrs.get("classlabels_int64s") or []
    if len(labels) != x.shape[-1]:
        raise Unsupported(f"it names {len(labels)} of {x.shape[-1]} columns")
    return [b.label(x, [str(v) for v in labels])]


def label_encoder(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.LabelEncoder-1..4: what each value is in the table of keys and values."""
    x, a = _given(node), node.attrs
    if "classes_strings" in a:
        return [_by_classes(b, x, [str(v) for v in a["classes_strings"]], a)]
    keys, values = (_listed(a, what) for what in ("keys", "values"))
    if len(keys) != len(values):
        raise Unsupported(f"it has {len(keys)} keys and {len(values)} values")
    default = _default(a, values)
    if node.version < 4:  # where NaN equals nothing
        pairs = [(k, v) for k, v in zip(keys, values, strict=True) if k == k]
        keys, values = [k for k, _ in pairs], [v for _, v in pairs]  # type: ignore[assignment]
    return [_looked_up(b, x, keys, values, default)]


def category_mapper(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.CategoryMapper-1: strings to integers, or back."""
    x, a = _given(node), node.attrs
    texts, numbers = [str(v) for v in a["cats_strings"]], [int(v) for v in a["cats_int64s"]]
    if len(texts) != len(numbers):
        raise Unsupported(f"it has {len(texts)} strings and {len(numbers)} integers")
    if b.labels_of(x) is not None:
        return [_looked_up(b, x, texts, numbers, int(a.get("default_int64", -1)))]
    return [_looked_up(b, x, numbers, texts, str(a.get("default_string", "_Unused")))]


def one_hot_encoder(b: Builder, node: OnnxNode) -> list[Value]:
    """ai.onnx.ml.OneHotEncoder-1: for each value 1.0 at its category; 0.0 where it has none."""
    x, labels = _given(node), b.labels_of(_given(node))
    if labels is not None:
        known = {text: i for i, text in enumerate(labels)}
        cats = [known.get(str(v), -1) for v in node.attrs.get("cats_strings", [])]
    else:
        cats = [int(v) for v in node.attrs.get("cats_int64s", [])]
    if not cats:
        raise Unsupported(f"it has no categories for an input of {x.dtype}")
    wide = b.reshape(x, (*x.shape, 1))
    keys = b.constant(np.array(cats, _FLOAT if x.dtype == _FLOAT else np.int64))
    return [b.emit("Cast", [b.emit("Equal", [wide, keys])], to=_FLOAT)]


def _given(node: OnnxNode) -> Value:
    x = node.inputs[0]
    assert x is not None
    return x


def _listed(a: Mapping[str, Any], what: str) -> Keys:
    """keys_* or values_*: strings, int64s, floats, or a tensor of them."""
    for kind, of in (("strings", str), ("int64s", int), ("floats", float)):
        if a.get(f"{what}_{kind}"):
            return [of(v) for v in a[f"{what}_{kind}"]]  # type: ignore[return-value]
    tensor = a.get(f"{what}_tensor")
    if tensor is None:
        raise Unsupported(f"it has no {what}")
    given = np.ravel(tensor)
    if given.dtype.kind in "iu":
        return [int(v) for v in given]
    return [float(v) for v in given] if given.dtype.kind == "f" else [_text(v) for v in given]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _default(a: Mapping[str, Any], values: Keys) -> str | int | float:
    tensor = a.get("default_tensor")
    if tensor is not None:
        found: Any = np.ravel(tensor)[0]
        return _text(found) if isinstance(values[0], str) else type(values[0])(found)
    if isinstance(values[0], str):
        return str(a.get("default_string", "_Unused"))
    if isinstance(values[0], int):
        return int(a.get("default_int64", -1))
    return float(a.get("default_float", -0.0))


def _by_classes(b: Builder, x: Value, classes: list[str], a: Mapping[str, Any]) -> Value:
    """Version 1: a class's index in the list, or the class of an index."""
    indices = list(range(len(classes)))
    if b.labels_of(x) is not None:
        return _looked_up(b, x, classes, indices, int(a.get("default_int64", -1)))
    return _looked_up(b, x, indices, classes, str(a.get("default_string", "_Unused")))


def _looked_up(b: Builder, x: Value, keys: Keys, values: Keys, default: str | int | float) -> Value:
    """Of each of x the value at its key, or the default."""
    table: dict[Any, Any] = {}
    for key, value in zip(keys, values, strict=True):
        table.setdefault("nan" if isinstance(key, float) and np.isnan(key) else key, value)
    labels = b.labels_of(x)
    if (labels is not None) != isinstance(keys[0], str):
        raise Unsupported(f"its keys are {type(keys[0]).__name__}, and its input is not")
    if labels is not None:
        entries = [table.get(text, default) for text in labels]
        return _entry(b, x, [*entries, default])
    if x.dtype == _FLOAT:
        return _by_equality(b, x, table, default)
    low, high = min(table), max(table)
    if high - low < _MOST_DENSE * len(table) + 64:
        entries = [table.get(k, default) for k in range(low - 1, high + 2)]
        return _entry(b, _clipped(b, x, low - 1, high + 1), entries)
    return _by_equality(b, x, table, default)


def _clipped(b: Builder, x: Value, low: int, high: int) -> Value:
    """x - low, of x between the two."""
    for op, limit in (("Max", low), ("Min", high), ("Sub", low)):
        x = b.emit(op, [x, b.constant(np.array(limit, np.int64))])
    return x


def _entry(b: Builder, index: Value, entries: Sequence[Any]) -> Value:
    """The entry at each index; strings become the numbers of labels."""
    if isinstance(entries[0], str):
        texts = list(dict.fromkeys(entries))
        numbers = [texts.index(e) for e in entries]
        return b.label(_entry(b, index, numbers), texts)
    if list(entries) == list(range(len(entries))):
        return index
    kind: type = np.float32 if isinstance(entries[0], float) else np.int64
    return b.emit("Gather", [b.constant(np.array(entries, kind)), index], axis=0)


def _by_equality(b: Builder, x: Value, table: Mapping[Any, Any], default: Any) -> Value:
    """The first key that equals, by an ArgMax over all of them; NaN equals NaN."""
    rows = b.reshape(x, (prod(x.shape), 1))
    kind: type = np.float32 if x.dtype == _FLOAT else np.int64
    plain = [k for k in table if k != "nan"]
    columns = [b.emit("Equal", [rows, b.constant(np.array([plain], kind))])] if plain else []
    if "nan" in table:
        same = b.emit("Equal", [rows, rows])
        columns.append(b.emit("Equal", [same, b.constant(np.array(0, np.uint8))]))
    found = [b.emit("Cast", [c], to=_FLOAT) for c in columns]
    half = b.constant(np.full((rows.shape[0], 1), 0.5, np.float32))
    which = b.emit("Concat", [*found, half], axis=1)
    index = b.emit("ArgMax", [which], axis=1, keepdims=False, select_last_index=False)
    order = [*plain, *(["nan"] if "nan" in table else [])]
    entry = _entry(b, index, [*(table[k] for k in order), default])
    texts, shaped = b.labels_of(entry), b.reshape(entry, x.shape)
    return shaped if texts is None else b.label(shaped, texts)


ENCODERS: dict[str, Callable[[Builder, OnnxNode], list[Value]]] = {
    "ZipMap": zip_map,
    "LabelEncoder": label_encoder,
    "CategoryMapper": category_mapper,
    "OneHotEncoder": one_hot_encoder,
}
