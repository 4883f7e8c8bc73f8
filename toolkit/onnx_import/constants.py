"""The value of nodes whose inputs are all known: of a Constant its attribute, of others by ONNX's
reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx

from ..ir import Array, TensorType, Value
from ..numerics import is_real
from ..ops._opdef import Unsupported
from .attributes import runtime_array
from .limits import LARGE_TENSOR, MOST_FOLDED
from .onnx_process import FoldedTooLarge, Onnx, OnnxError

_RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"}
_RANDOM |= {"RandomUniformLike"}
_CONTROL = {"If", "Loop", "Scan", "SequenceMap"}
_NUMBERS = {"value_int": "i8", "value_ints": "i8", "value_float": "f4", "value_floats": "f4"}
"""Attributes of a Constant that are numbers, and its element type then."""


def can_fold(node: onnx.NodeProto) -> bool:
    """Whether the node's value depends on nothing but its inputs and attributes."""
    return (
        node.domain in ("", "ai.onnx", "ai.onnx.ml")
        and node.op_type not in _RANDOM
        and node.op_type not in _CONTROL
    )


def as_cast(node: onnx.NodeProto, element: int) -> onnx.NodeProto:
    """The Cast that a CastLike is whose second input has this element type."""
    cast = onnx.helper.make_node("Cast", node.input[:1], node.output[:1], to=element)
    cast.attribute.extend(a for a in node.attribute if a.name == "saturate")
    return cast


def fold(
    onnx_of: Onnx,
    node: onnx.NodeProto,
    opsets: Sequence[onnx.OperatorSetIdProto],
    inputs: dict[str, Array],
) -> list[Array] | None:
    """The outputs of a node on constants; None if the evaluator cannot tell.

    Raises Unsupported when the model's folded constants would be larger than its limit.
    """
    if (given := _given(node)) is not None:
        return [given]
    _check_size(node, [inputs.get(name) for name in node.input])
    try:
        infos = [
            onnx.helper.make_tensor_value_info(
                name, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape
            )
            for name, a in inputs.items()
        ]
    except (KeyError, ValueError):
        return None
    kept = [name for name in node.output if name]
    outs = [onnx.helper.make_tensor_value_info(name, 0, None) for name in kept]
    graph = onnx.helper.make_graph([node], "fold", infos, outs)
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    try:
        results = onnx_of.fold(model, list(inputs.values()))
    except OnnxError:  # the evaluator raises whatever its numpy code does
        return None
    except FoldedTooLarge as why:
        raise Unsupported(
            f"it makes a constant of {why.size} bytes; {why.limit} are left for the constants that "
            "this model computes",
            "keep it an input, or simplify the model",
        ) from why
    found = dict(zip(kept, results, strict=True))
    return [found[name] if name else np.empty(0) for name in node.output]


def _given(node: onnx.NodeProto) -> Array | None:
    """The value of a Constant; None of strings and sparse tensors, and of what is damaged."""
    if node.op_type != "Constant" or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    try:
        value: Any = onnx.helper.get_attribute_value(attribute)
        if attribute.name in _NUMBERS:
            return np.array(value, _NUMBERS[attribute.name])
        if attribute.name != "value" or value.data_type == onnx.TensorProto.STRING:
            return None
        found: Array = onnx.numpy_helper.to_array(value)
        return found
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None


def _check_size(node: onnx.NodeProto, inputs: Sequence[Array | None]) -> None:
    a = inputs[0] if inputs else None
    b = inputs[1] if len(inputs) > 1 else None
    size = 0
    if node.op_type == "ConstantOfShape" and a is not None:
        size = prod(int(d) for d in a)
    elif node.op_type == "Expand" and b is not None:
        size = prod(int(d) for d in b)
    elif node.op_type == "Tile" and a is not None and b is not None:
        size = a.size * prod(int(d) for d in b)
    elif node.op_type == "Range" and a is not None and b is not None and inputs[2] is not None:
        start, limit, step = (float(np.ravel(v)[0]) for v in (a, b, inputs[2]))
        size = int(abs((limit - start) / step)) if step else 0
    if size > MOST_FOLDED:
        raise Unsupported(
            f"its constant result has {size} elements; the limit is {MOST_FOLDED}",
            "compute it at run time, or simplify the model",
        )


def one_node(
    node: onnx.NodeProto,
    opsets: Sequence[onnx.OperatorSetIdProto],
    inputs: Mapping[str, Value],
) -> onnx.ModelProto:
    """A model of the node alone: its small constants are initializers, all else is an input."""
    infos, constants = [], []
    for name, v in inputs.items():
        if v.const is not None and v.const.nbytes < LARGE_TENSOR:
            constants.append(onnx.numpy_helper.from_array(v.const, name))
        else:
            code = onnx.helper.np_dtype_to_tensor_dtype(v.dtype)
            infos.append(onnx.helper.make_tensor_value_info(name, code, v.shape))
    outs = [onnx.helper.make_tensor_value_info(name, 0, None) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "one", infos, outs, constants)
    return onnx.helper.make_model(graph, opset_imports=opsets)


def in_float32(v: Value | None) -> Value | None:
    """Constants of other float types become float32; integers keep 64 bits (axes, limits)."""
    if v is None or v.const is None or not is_real(v.dtype) or v.dtype == np.float32:
        return v
    array = runtime_array(v.const)
    return Value(v.name, TensorType(array.dtype, array.shape), array)
