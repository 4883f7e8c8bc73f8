"""Sequences and optional values: lists of tensors that are known when the model is read.

No tensor of the runtime is a sequence. What makes one, takes one apart or changes it is done here,
and the tensors in it go where they went.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from ..ir import Array, TensorType, Value
from ..ops import FROM_ONNX
from ..ops._opdef import OnnxNode, Unsupported
from ..ops.move.movement import axis_of, take
from .attributes import python_attributes
from .builder import GraphBuilder

_NO_SEQUENCES = "sequences and optional values are not supported here"


@dataclass(frozen=True)
class Items:
    """A sequence, or an optional value of one item or none."""

    values: tuple[Any, ...]
    optional: bool = False


class Sequences:
    """Reads the operators of sequences and optional values."""

    def __init__(self, build: GraphBuilder) -> None:
        self._build = build
        self._read: Mapping[str, Callable[[onnx.NodeProto, Sequence[Any]], Any]] = {
            "SequenceEmpty": lambda node, given: Items(()),
            "SequenceConstruct": lambda node, given: Items(tuple(given)),
            "SequenceInsert": self._insert,
            "SequenceErase": self._erase,
            "SequenceAt": self._at,
            "SequenceLength": lambda node, given: _constant(np.array(len(_items(given[0])))),
            "ConcatFromSequence": self._concat,
            "SplitToSequence": self._split,
            "Optional": lambda node, given: Items(tuple(given), optional=True),
            "OptionalHasElement": self._has_element,
            "OptionalGetElement": self._element,
        }

    def visit(self, node: onnx.NodeProto, inputs: Sequence[Any]) -> Any:
        """What the node gives: a Value, or Items; None if the node is not about sequences. Raises
        Unsupported."""
        if node.domain not in ("", "ai.onnx"):
            return None
        if node.op_type == "Identity" and isinstance(inputs[0], Items):
            return inputs[0]
        if node.op_type not in self._read:
            if any(isinstance(v, Items) for v in inputs):
                raise Unsupported(_NO_SEQUENCES, "export the model without them")
            return None
        self._build.scope = next((name for name in node.output if name), node.name)
        return self._read[node.op_type](node, inputs)

    def _insert(self, node: onnx.NodeProto, given: Sequence[Any]) -> Items:
        values = list(_items(given[0]))
        at = len(values)
        if len(given) > 2 and int(_known(given[2], "its position").ravel()[0]) != at:
            at = _position(given[2], at)
        return Items((*values[:at], given[1], *values[at:]))

    def _erase(self, node: onnx.NodeProto, given: Sequence[Any]) -> Items:
        values = _items(given[0])
        at = _position(given[1], len(values)) if len(given) > 1 else len(values) - 1
        return Items((*values[:at], *values[at + 1 :]))

    def _at(self, node: onnx.NodeProto, given: Sequence[Any]) -> Any:
        values = _items(given[0])
        return values[_position(given[1], len(values))]

    def _has_element(self, node: onnx.NodeProto, given: Sequence[Any]) -> Value:
        absent = not given or given[0] is None
        if not absent and isinstance(given[0], Items) and given[0].optional:
            absent = not given[0].values
        return _constant(np.array(not absent))

    def _element(self, node: onnx.NodeProto, given: Sequence[Any]) -> Any:
        if not isinstance(given[0], Items) or not given[0].optional:
            return given[0]
        if not given[0].values:
            raise Unsupported("its optional value is empty", "give it one")
        return given[0].values[0]

    def _concat(self, node: onnx.NodeProto, given: Sequence[Any]) -> Value:
        attrs, values = python_attributes(node), [_tensor(v) for v in _items(given[0])]
        if not values:
            raise Unsupported("its sequence is empty", "remove it")
        axis = int(attrs["axis"])
        if attrs.get("new_axis", 0):
            axis = axis_of(axis, len(values[0].shape) + 1)
            values = [self._build.reshape(v, (*v.shape[:axis], 1, *v.shape[axis:])) for v in values]
        arrays = [v.const for v in values if v.const is not None]
        if len(arrays) == len(values):
            return _constant(np.concatenate(arrays, axis))
        plain = OnnxNode("Concat", "", 13, node.name, list(values), ["y"], {"axis": axis})
        return FROM_ONNX["Concat"].from_onnx(self._build, plain)[0]

    def _split(self, node: onnx.NodeProto, given: Sequence[Any]) -> Items:
        attrs, x = python_attributes(node), _tensor(given[0])
        axis = axis_of(int(attrs.get("axis", 0)), len(x.shape))
        d, sizes = x.shape[axis], None
        if len(given) > 1 and given[1] is not None:
            sizes = _known(given[1], "its split")
        if sizes is None or not sizes.shape:
            step = 1 if sizes is None else int(sizes)
            if step < 1:
                raise Unsupported(f"it splits into parts of {step}")
            parts = [min(step, d - i) for i in range(0, d, step)]
        else:
            parts = [int(n) for n in sizes]
        if sum(parts) != d or min(parts, default=0) < 0:
            raise Unsupported(f"an axis of {d} does not split into {parts}")
        found, start = [], 0
        for size in parts:
            part = self._part(x, axis, start, size)
            if sizes is None and not attrs.get("keepdims", 1):
                part = self._build.reshape(part, (*x.shape[:axis], *x.shape[axis + 1 :]))
            found.append(part)
            start += size
        return Items(tuple(found))

    def _part(self, x: Value, axis: int, start: int, size: int) -> Value:
        if x.const is not None:
            return _constant(np.take(x.const, range(start, start + size), axis))
        ranges = [range(start, start + size) if i == axis else range(d)
                  for i, d in enumerate(x.shape)]  # fmt: skip
        return take(self._build, x, ranges)


def _constant(array: Array) -> Value:
    return Value("", TensorType(array.dtype, array.shape), array)


def _items(given: Any) -> tuple[Any, ...]:
    if isinstance(given, Items) and given.optional and given.values:
        given = given.values[0]
    if not isinstance(given, Items):
        raise Unsupported(_NO_SEQUENCES, "export the model without them")
    return given.values


def _tensor(given: Any) -> Value:
    if not isinstance(given, Value):
        raise Unsupported(_NO_SEQUENCES, "export the model without them")
    return given


def _known(given: Any, what: str) -> Array:
    if not isinstance(given, Value) or given.const is None:
        raise Unsupported(f"{what} is computed by the model", "make it a constant")
    return given.const


def _position(given: Any, count: int) -> int:
    at = int(_known(given, "its position").ravel()[0])
    if not -count <= at < count:
        raise Unsupported(f"its position {at} is outside of a sequence of {count}")
    return at % count
