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
import onnx

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


def refuse_changed(op: str, version: int) -> None:
    """Raises Unsupported for an operator of an opset below OLDEST that meant something else then,
    unless an adapter here knows what."""
    if version >= OLDEST or op in _UNCHANGED or any(op == known for known, *_ in _ADAPTERS):
        return
    try:
        then, now = onnx.defs.get_schema(op, version), onnx.defs.get_schema(op, OLDEST)
    except onnx.defs.SchemaError:
        raise Unsupported(f"opset {version} has no such operator", _EXPORT_AGAIN) from None
    if then.since_version != now.since_version:
        raise Unsupported(
            f"version {then.since_version} of the operator is not supported", _EXPORT_AGAIN
        )


def _aligned(b: Builder, node: OnnxNode) -> OnnxNode:
    """Before opset 7, the second tensor is broadcast on request, from `axis` on."""
    x, y = node.inputs
    assert x is not None and y is not None
    attrs = {k: v for k, v in node.attrs.items() if k not in ("broadcast", "axis")}
    if node.attrs.get("broadcast", 0) != 1:
        if x.shape != y.shape:
            raise Unsupported(f"its inputs {list(x.shape)} and {list(y.shape)} differ in shape")
        return replace(node, attrs=attrs)
    axis = int(node.attrs.get("axis", len(x.shape) - len(y.shape)))
    axis += len(x.shape) if axis < 0 else 0
    behind = len(x.shape) - axis - len(y.shape)
    fits = axis >= 0 and behind >= 0
    if not fits or any(d not in (1, x.shape[axis + i]) for i, d in enumerate(y.shape)):
        raise Unsupported(
            f"its input {list(y.shape)} cannot be broadcast to {list(x.shape)} from axis {axis} on"
        )
    return replace(node, inputs=[x, b.reshape(y, (*y.shape, *[1] * behind))], attrs=attrs)


def _slope_of_channels(b: Builder, node: OnnxNode) -> OnnxNode:
    """Before opset 7, a slope of several numbers belongs to the channels."""
    x, slope = node.inputs
    assert x is not None and slope is not None
    if slope.type.size == 1 or len(slope.shape) != 1:
        return node
    return replace(node, inputs=[x, b.reshape(slope, (*slope.shape, *[1] * (len(x.shape) - 2)))])


def _cast_to_name(b: Builder, node: OnnxNode) -> OnnxNode:
    """Before opset 6, the element type is written as a word."""
    to = node.attrs["to"]
    known = onnx.TensorProto.DataType.keys()
    if str(to).upper() not in known:
        raise Unsupported(f"it casts to {to!r}", _EXPORT_AGAIN)
    attrs = {**node.attrs, "to": onnx.TensorProto.DataType.Value(str(to).upper())}
    return replace(node, attrs=attrs)


def _concat_axis(b: Builder, node: OnnxNode) -> OnnxNode:
    """Before opset 4, the axis is 1 by default."""
    return replace(node, attrs={"axis": 1, **node.attrs})


def _at_inference(b: Builder, node: OnnxNode) -> OnnxNode:
    """Before opset 7, is_test says that the model is no longer trained."""
    if not node.attrs.get("is_test", 0) and len([o for o in node.outputs if o]) > 1:
        raise Unsupported("it is in training mode", "export the model for inference")
    return node


def _upsample(b: Builder, node: OnnxNode) -> OnnxNode:
    scales: Array | None = node.attrs.get("scales")
    if "width_scale" in node.attrs:
        scales = np.array([1, 1, node.attrs["height_scale"], node.attrs["width_scale"]])
    value = node.inputs[1] if scales is None else b.constant(np.asarray(scales, np.float32))
    attrs = {k: v for k, v in node.attrs.items() if k not in _SCALES}
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


OLDEST = 7
"""The first opset that is read as a whole; of older ones, what has not changed or is known here."""

_EXPORT_AGAIN = "convert the model with onnx.version_converter to opset 13 or newer"
_SCALES = ("scales", "width_scale", "height_scale")
_BROADCAST = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")

_UNCHANGED = frozenset((
    "Abs", "Ceil", "Clip", "Elu", "Exp", "Floor", "Gemm", "HardSigmoid", "InstanceNormalization",
    "LeakyRelu", "Log", "Max", "Mean", "Min", "Neg", "Reciprocal", "Relu", "Reshape", "Sigmoid",
    "Sqrt", "Sum", "Tanh", "AveragePool", "GlobalLpPool", "Selu", "LSTM", "GRU", "RNN",
))  # fmt: skip
"""Changed before OLDEST, but for the better: more types, consumed_inputs gone, attributes that
became inputs, defaults that are the same."""

_ADAPTERS: tuple[tuple[str, int, Adapter], ...] = (
    *((op, 7, _aligned) for op in _BROADCAST),
    ("PRelu", 7, _slope_of_channels),
    ("Cast", 6, _cast_to_name),
    ("Concat", 4, _concat_axis),
    ("BatchNormalization", 7, _at_inference),
    ("Dropout", 7, _at_inference),
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
