"""What operators build the graph with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..ir import Array, Graph, Names, Node, SharedArrays, Value, constant
from ..numerics import WIDE
from ..ops import definition
from ..ops._opdef import Unsupported
from .attributes import runtime_array
from .limits import TENSOR_ELEMENTS


class GraphBuilder:
    """ops._opdef.Builder on a Graph. Names are unique and never those of `reserved`."""

    def __init__(self, graph: Graph, reserved: Iterable[str]) -> None:
        self.graph = graph
        self.scope = "const"
        self.unique = Names(reserved).unique
        self._labels: dict[Value, tuple[str, ...]] = {}
        self._rounded: dict[Value, int] = {}
        self.bounds: dict[Value, tuple[Value, int]] = {}
        self._shared = SharedArrays()

    def emit(self, op: str, inputs: Sequence[Value | None], name: str = "", **attrs: Any) -> Value:
        """Append a node with one output. Constants get the runtime's element types."""
        return self.emit_all(op, inputs, name, **attrs)[0]

    def emit_all(
        self, op: str, inputs: Sequence[Value | None], name: str = "", **attrs: Any
    ) -> list[Value]:
        """As `emit`, of an operator with several outputs."""
        given = [self._served(_within(op, v)) for v in inputs]
        if not definition(op).wide:
            _refuse_wide(op, given)
        node = Node(op, given, [], attrs)
        kinds = definition(op).infer(node)
        kind = max(kinds, key=lambda k: k.size)
        if kind.size > TENSOR_ELEMENTS:
            raise Unsupported(
                f"its output {list(kind.shape)} has {kind.size} elements; the limit is "
                f"{TENSOR_ELEMENTS}",
                "give smaller shapes with --shape",
            )
        names = [self.unique(name or self.scope) for _ in kinds]
        node.name, node.outputs = names[0], [Value(*v) for v in zip(names, kinds, strict=True)]
        self.graph.nodes.append(node)
        if op == "Cast" and "element" in attrs:
            self._rounded[node.output] = attrs["element"]
        return node.outputs

    def constant(self, array: Array, name: str = "") -> Value:
        found = self._shared(np.asarray(array))
        return constant(found, self.unique(name or f"{self.scope}.const"))

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        perm = tuple(int(p) for p in perm)
        if perm == tuple(range(len(perm))):
            return x
        if x.const is not None:
            return self.constant(x.const.transpose(perm), x.name)
        return self.emit("Transpose", [x], perm=perm)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        shape = tuple(int(d) for d in shape)
        if shape == x.shape:
            return x
        if x.const is not None:
            return self.constant(x.const.reshape(shape), x.name)
        return self.emit("Reshape", [x], shape=shape)

    def label(self, x: Value, labels: Sequence[str]) -> Value:
        given = tuple(labels)
        for text in given:
            if "\0" in text:
                raise Unsupported(f"the label {text!r} contains a NUL", "rename it")
        named = self.emit("Reshape", [x], shape=x.shape)  # a value of its own, which passes remove
        self._labels[named] = given
        return named

    def bounded(self, x: Value, count: Value, axis: int) -> Value:
        self.bounds[x] = (count, axis)
        return x

    def labels_of(self, x: Value) -> tuple[str, ...] | None:
        return self._labels.get(x)

    def rounded_to(self, x: Value) -> int | None:
        return self._rounded.get(x)

    def _served(self, v: Value | None) -> Value | None:
        if v is None or v.const is None:
            return v
        array = runtime_array(v.const)
        return v if array is v.const else self.constant(array, v.name)


def _refuse_wide(op: str, inputs: Sequence[Value | None]) -> None:
    for v in inputs:
        if v is not None and v.dtype in WIDE:
            raise Unsupported(
                f"{op} of {v.dtype} tensors is not supported",
                "cast them to float32 or int32 first; arithmetic, comparisons and Cast take them",
            )


def _within(op: str, v: Value | None) -> Value | None:
    """A limit that no int32 passes may as well be the nearest int32."""
    if v is None or v.const is None or v.dtype != np.int64 or op not in ("Min", "Max"):
        return v
    ends = np.iinfo(np.int32)
    clipped = np.minimum(v.const, ends.max) if op == "Min" else np.maximum(v.const, ends.min)
    return Value(v.name, v.type, clipped)
