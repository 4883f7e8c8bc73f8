"""Tensors whose values say how many of their indices are in use, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import onnx

from ..ir import Graph, Port, Value
from ..ops._formula import Term, stacked
from .attributes import python_attributes
from .builder import GraphBuilder

_SAME_PLACES = frozenset(
    ("Abs", "Add", "And", "Cast", "Ceil", "Clip", "Cos", "Div", "Equal", "Exp", "Floor", "Greater",
     "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Log", "Max", "Min", "Mod", "Mul", "Neg",
     "Not", "Or", "Pow", "Reciprocal", "Relu", "Round", "Sigmoid", "Sin", "Slice", "Sqrt", "Sub",
     "Tanh", "Where")
)  # fmt: skip
_ALONG = {"Concat": 0, "LogSoftmax": -1, "Softmax": -1, "Split": 0, "TopK": -1}
"""What keeps every other axis than its own, and which that is if the node does not say."""
_REDUCES = frozenset(
    ("ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin",
     "ReduceProd", "ReduceSum", "ReduceSumSquare")
)  # fmt: skip
_COMPUTES = frozenset(("Add", "Cast", "Concat", "Div", "Identity", "Max", "Min", "Mul", "Sub"))
_PARTS = frozenset(("Gather", "ReduceProd", "Slice", "Squeeze", "Unsqueeze"))
"""What may be made of sizes, and of a first input that is some, and still be one."""
_COMPARES = frozenset(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"))
_RESHAPED = frozenset(("Flatten", "Reshape", "Squeeze", "Unsqueeze"))
_INT32 = onnx.TensorProto.INT32


class Bounds:
    """Follows the bounds that a builder knows through a graph; `notes` says where they are lost."""

    def __init__(self, build: GraphBuilder) -> None:
        self._build, self.lost = build, ""

    def follow(
        self, node: onnx.NodeProto, inputs: Sequence[Value | None], outputs: Sequence[Value]
    ) -> None:
        """What `node` makes of values that are bounded."""
        known = self._build.bounds
        for i, v in enumerate(inputs):
            if v not in known or v is None:
                continue
            count, axis = known[v]
            for y in outputs:
                found = _axis_behind(node.op_type, python_attributes(node), i, inputs, axis, y)
                if y in known or y.const is not None:
                    continue
                if found is None:
                    self.lost = self.lost or node.name or node.output[0]
                else:
                    self._build.bounded(y, count, found)

    def measured(
        self, node: onnx.NodeProto, inputs: Sequence[Any], graph: onnx.GraphProto,
        outputs: Sequence[onnx.ValueInfoProto],
    ) -> Value | None:  # fmt: skip
        """The Shape or Size of a bounded tensor, where the model takes it for a number; None where
        it sizes tensors by it, which then have the longest. The nodes of `graph` read it; `outputs`
        are the model's that are there."""
        if node.op_type not in ("Shape", "Size") or inputs[0] not in self._build.bounds:
            return None
        if not _is_a_number(graph, {o.name for o in outputs}, node.output[0]):
            self.lost = self.lost or node.name or node.output[0]
            return None
        x: Value = inputs[0]
        b, attrs = self._build, python_attributes(node)
        count, axis = b.bounds[x]
        counted = Term(b, count).reshape(1)
        if node.op_type == "Size":
            return (counted * (x.type.size // x.shape[axis])).reshape().value
        sizes = [counted if i == axis else Term(b, np.array([d])) for i, d in enumerate(x.shape)]
        return stacked(sizes[slice(attrs.get("start"), attrs.get("end"))], 0).value

    def notes(self) -> list[str]:
        if not self.lost:
            return []
        return [
            f"'{self.lost}' reads a tensor of data-dependent length: it computes on the maximum "
            "length, padded with zeros or copies of the first entry"
        ]

    def count(self, graph: Graph) -> None:
        """Mark the bounded outputs of a graph, and make their counts outputs as well."""
        ports: dict[Value, str] = {}
        for port in list(graph.outputs):
            if port.value not in self._build.bounds:
                continue
            count, port.counted_axis = self._build.bounds[port.value]
            if count not in ports:
                ports[count] = self._build.unique(f"{port.name}.count")
                graph.outputs.append(Port(ports[count], count, _INT32, count.shape))
            port.counted_by = ports[count]


def _is_a_number(graph: onnx.GraphProto, outputs: set[str], name: str) -> bool:
    """Whether all that reads a size only computes with it, or is one of these outputs."""
    used, todo = False, {name}
    while todo:
        name = todo.pop()
        used |= name in outputs
        if name not in outputs and any(o.name == name for o in graph.output):
            return False
        for node in graph.node:
            if name not in node.input or node.op_type in _COMPARES:
                used |= name in node.input
                continue
            to = next((a.i for a in node.attribute if a.name == "to"), 0)
            if node.op_type == "Cast" and to in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
                used = True
            elif node.op_type in _COMPUTES or (
                node.op_type in _PARTS and name not in node.input[1:]
            ):
                todo.update(node.output)
            else:
                return False
    return used


def _axis_behind(
    op: str, attrs: dict[str, Any], i: int, inputs: Sequence[Value | None], axis: int, y: Value
) -> int | None:
    """The axis of `y` that input i's `axis` becomes; None if it is not there."""
    x = inputs[i]
    assert x is not None
    size = x.shape[axis]
    if op in _SAME_PLACES:
        back = axis - len(x.shape) + len(y.shape)
        return back if y.shape[back] == size else None
    if op == "Transpose":
        perm = attrs.get("perm", range(len(x.shape))[::-1])
        return list(perm).index(axis)
    if op in _ALONG:
        return None if int(attrs.get("axis", _ALONG[op])) % len(x.shape) == axis else axis
    if op in _REDUCES:
        return _axis_left(op, attrs, inputs, axis, len(x.shape))
    if op in _RESHAPED:
        before = prod(x.shape[:axis])
        fits = (k for k, d in enumerate(y.shape) if d == size and prod(y.shape[:k]) == before)
        return next(fits, None)
    if op == "GatherND" and i == 1 and axis + 1 < len(x.shape):
        return axis
    table, at = inputs[0], inputs[1] if len(inputs) > 1 else None
    if op != "Gather" or table is None or at is None:
        return None
    along = int(attrs.get("axis", 0)) % len(table.shape)
    if i == 1:
        return along + axis
    if along == axis:
        return None
    return axis if axis < along else axis + len(at.shape) - 1


def _axis_left(
    op: str, attrs: dict[str, Any], inputs: Sequence[Value | None], axis: int, rank: int
) -> int | None:
    """The axis that a reduction of an input of `rank` makes of `axis`; None if it is reduced."""
    given = inputs[1] if len(inputs) > 1 else None
    if op.startswith("Arg"):
        named: Any = [attrs.get("axis", 0)]
    else:
        named = attrs.get("axes") if given is None else given.const
    if named is None or len(named) == 0:
        return None
    gone = {int(a) % rank for a in named}
    if axis in gone:
        return None
    return axis if attrs.get("keepdims", 1) else axis - sum(a < axis for a in gone)
