"""Runs a quantized graph by its operators' integer references.

This is the meaning of a model on integers: every kernel table of the C runtime, on every target,
gives these bytes. It is written to be read, not to be fast.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .ir import Array, Graph, Node, Value
from .ops import definition, is_a
from .ops.convert.quantize import Dequantize, Quantize


def interpret(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Raw outputs by port name, from raw inputs by port name: integers where the graph says so.

    The arrays have the shapes of the graph's values (its own layout). Raises ValueError when an
    input is missing or of another type, and for graphs that compute in float32.
    """
    known: dict[Value, Array] = {}
    for port in graph.inputs:
        if port.name not in inputs:
            raise ValueError(f"input '{port.name}' is missing")
        known[port.value] = _checked(port.name, np.asarray(inputs[port.name]), port.value)
    for node in graph.nodes:
        operands = [_operand(v, known) for v in node.inputs]
        _refuse_float(node)
        results = definition(node.op).integer(node, operands)
        for v, array in zip(node.outputs, results, strict=True):
            known[v] = _checked(v.name, array, v)
    return {p.name: _read(p.value, known) for p in graph.outputs}


def _operand(v: Value | None, known: Mapping[Value, Array]) -> Array | None:
    return None if v is None else _read(v, known)


def _read(v: Value, known: Mapping[Value, Array]) -> Array:
    return v.const if v.const is not None else known[v]


def _checked(name: str, array: Array, v: Value) -> Array:
    if array.dtype != v.dtype or array.shape != v.shape:
        raise ValueError(
            f"'{name}' is {array.dtype}{list(array.shape)}; it must be {v.dtype}{list(v.shape)}"
        )
    return array


def _refuse_float(node: Node) -> None:
    floats = [v for v in [*node.dynamic_inputs, *node.outputs] if v.dtype == np.float32]
    if floats and not is_a(node, Quantize, Dequantize):
        raise ValueError(
            f"{node.op} '{node.name}' computes '{floats[-1].name}' in float32: only integer graphs "
            "have one meaning bit for bit"
        )
