"""Old forms of nodes -> the form of today, one adapter a change of ONNX.

onnx.version_converter works on whole models and fails on the whole model; shapes are static here,
so each node is brought up by itself. Where only attributes became inputs (Clip, Pad, Reduce*,
Slice, Split, Squeeze, Unsqueeze), the operators read both forms and need no adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from ..ir import Array, Value
from ..ops._opdef import Builder, OnnxNode, Unsupported

Adapter = Callable[[Builder, OnnxNode], OnnxNode]
Finish = Callable[[list[Value]], list[Value]]


def upgrade(b: Builder, node: OnnxNode) -> tuple[OnnxNode, Finish]:
    """The node in today's form, and what to do with the results of its from_onnx."""
    if node.domain == "":
        for op, until, adapter in _ADAPTERS:
            if node.op == op and node.version < until:
                node = adapter(b, node)
        if node.op in ("Softmax", "LogSoftmax", "Hardmax") and node.version < 13:
            return _flattened(b, node)
    return node, lambda values: values


def _upsample(b: Builder, node: OnnxNode) -> OnnxNode:
    scales: Array | None = node.attrs.get("scales")
    value = node.inputs[1] if scales is None else b.constant(np.asarray(scales, np.float32))
    attrs = {k: v for k, v in node.attrs.items() if k != "scales"}
    return _resize_10(b, replace(node, op="Resize", inputs=[node.inputs[0], value], attrs=attrs))


def _resize_10(b: Builder, node: OnnxNode) -> OnnxNode:
    attrs = {
        "mode": node.attrs.get("mode", "nearest"),
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    inputs = [node.inputs[0], None, *node.inputs[1:2]]
    return replace(node, inputs=inputs, attrs=attrs, version=max(node.version, 11))


def _batch_norm(b: Builder, node: OnnxNode) -> OnnxNode:
    if node.attrs.get("spatial", 1) != 1:
        raise Unsupported("spatial=0 normalises each position by itself")
    return node


_ADAPTERS: tuple[tuple[str, int, Adapter], ...] = (
    ("Upsample", 10, _upsample),
    ("Resize", 11, _resize_10),
    ("BatchNormalization", 9, _batch_norm),
)
"""(operator, first opset that has the new form, adapter)."""

RENAMED = {"Upsample"}
"""Operators that only adapters know."""


def _flattened(b: Builder, node: OnnxNode) -> tuple[OnnxNode, Finish]:
    """Before opset 13, Softmax works on the input seen as [before axis][axis and behind]."""
    x = node.inputs[0]
    assert x is not None
    axis = int(node.attrs.get("axis", 1))
    axis += len(x.shape) if axis < 0 else 0
    if prod(x.shape[axis + 1 :]) == 1:
        attrs = {**node.attrs, "axis": axis}
        return replace(node, attrs=attrs, version=13), lambda values: values
    flat = b.reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
    attrs = {**node.attrs, "axis": 1}
    node = replace(node, inputs=[flat], attrs=attrs, version=13)
    return node, lambda values: [b.reshape(v, x.shape) for v in values]
