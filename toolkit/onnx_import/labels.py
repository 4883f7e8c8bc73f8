"""The strings that a model knows: what its string inputs may hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx

_NAMED = ("keys_strings", "cats_strings", "classes_strings", "keys_tensor")
"""Attributes of ai.onnx.ml with the strings that an operator tells apart."""


def vocabulary(graph: onnx.GraphProto) -> tuple[str, ...]:
    """All strings by which operators of the graph tell their inputs apart, each once."""
    return tuple(dict.fromkeys(_texts(graph)))


def _texts(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        for a in node.attribute:
            if a.name in _NAMED:
                yield from (s.decode("utf-8", "replace") for s in a.strings)
                yield from _of(a.t)
            if node.op_type == "Constant" and a.name == "value":
                yield from _of(a.t)
    for tensor in graph.initializer:
        yield from _of(tensor)


def _of(tensor: onnx.TensorProto) -> Iterator[str]:
    if tensor.data_type == onnx.TensorProto.STRING:
        for text in np.ravel(onnx.numpy_helper.to_array(tensor)):
            yield text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
