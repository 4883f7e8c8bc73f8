"""Inputs that are to have one value for ever: they become constants of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import prod

import numpy as np
import onnx
from onnx import numpy_helper

from ..errors import UserError
from ..ir import Array
from ..numerics import BY_ONNX
from .source import OnnxModel

Values = Mapping[str, float | Sequence[float]]
"""The elements of inputs in order, or one for all; a number, a list or an array."""


def fix_constant_inputs(model: OnnxModel, values: Values) -> dict[str, Array]:
    """Make constants of these inputs; the arrays, by name, as the model takes them.

    A dimension that is open is 1, or what the number of values makes it. Raises UserError for a
    name that is no input, values that do not fit, or if no input would be left.
    """
    inputs = {i.name: i for i in model.real_inputs()}
    found: dict[str, Array] = {}
    for name, given in values.items():
        numbers: Sequence[float] = np.ravel(given).tolist()
        where = f"{model.label}: --constant {name}={','.join(f'{v:g}' for v in numbers)}"
        if name not in inputs:
            near = get_close_matches(name, inputs, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"inputs: {', '.join(inputs)}"
            raise UserError(f"{where}: no input '{name}'; {hint}")
        found[name] = _array(inputs[name], numbers, where)
    if found and len(found) == len(inputs):
        raise UserError(f"{model.label}: --constant replaces every input; at least one must remain")
    graph = model.proto.graph
    for name, array in found.items():
        graph.input.remove(inputs[name])
        graph.initializer.append(numpy_helper.from_array(array, name))
    return found


def _array(info: onnx.ValueInfoProto, numbers: Sequence[float], where: str) -> Array:
    tensor = info.type.tensor_type
    element = BY_ONNX.get(tensor.elem_type)
    if element is None:
        raise UserError(f"{where}: the input is not of numbers")
    dims = [d.dim_value for d in tensor.shape.dim]
    many = len(numbers) // max(prod(d for d in dims if d > 0), 1) if dims else 1
    opened = [i for i, d in enumerate(dims) if d < 1]
    shape = [d if d > 0 else 1 for d in dims]
    if opened and many > 1:
        shape[opened[0]] = many
    if len(numbers) not in (1, prod(shape)):
        raise UserError(
            f"{where}: {len(numbers)} values; the input has {prod(shape)} ({shape}): give as many, "
            "or one for all"
        )
    given = np.array(numbers, np.float64)
    array = given.astype(element.numpy)
    if element.numpy.kind in "iub" and not np.array_equal(array.astype(np.float64), given):
        raise UserError(f"{where}: the input takes {element.name}, which cannot represent that")
    whole: Array = np.broadcast_to(array.reshape(-1), (prod(shape),)) if len(array) == 1 else array
    return np.ascontiguousarray(whole.reshape(shape))
