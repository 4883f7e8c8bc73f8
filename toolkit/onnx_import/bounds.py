"""Tensors whose values say how many of their indices are in use, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import onnx

from ..ir import Graph, Port, Value
from .attributes import python_attributes
from .builder import GraphBuilder

_SAME_PLACES = frozenset(
    ("Abs", "Add", "Cast", "Ceil", "Clip", "Div", "Equal", "Exp", "Floor", "Greater", "Identity",
     "Less", "Log", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Relu", "Round", "Sigmoid", "Slice",
     "Sqrt", "Sub", "Where")
)  # fmt: skip
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

    def notes(self) -> list[str]:
        if not self.lost:
            return []
        return [
            f"'{self.lost}' reads a tensor whose length its values decide: it computes on the "
            "longest one, with zeros or copies of the first entry behind those in use"
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
