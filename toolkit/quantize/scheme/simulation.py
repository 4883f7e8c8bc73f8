"""Float graphs that simulate all or some roundings of a quantized graph.

A tensor is rounded by a Quantize and a Dequantize after it, weights are replaced by rounded
constants. The operators in between compute in float32, which matches the sums of an int8 kernel
except for the two roundings of its requantization.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ...format.schema import BinaryFn
from ...ir import (
    Array,
    Graph,
    Node,
    QuantParams,
    SharedArrays,
    TensorType,
    Value,
    constant,
)
from ...numerics import FLOAT
from ...ops.convert.quantize import converted
from .reuse import Nothing, Reuse


class Simulation:
    """A copy of `graph` in which these are rounded; its tensors keep their names.

    quant      how tensors are rounded, by their names
    constants  what nodes read in place of their constants, by the node's output and by operand
    factors    per channel (last axis): the tensor is multiplied by them before it is rounded, and
               divided after
    once       shared by simulations of one graph, whose nodes are the same where they compute the
               same: they last (build.open_once), and must not be modified
    """

    def __init__(
        self,
        graph: Graph,
        quant: Mapping[str, QuantParams],
        constants: Mapping[str, Mapping[int, Array]],
        factors: Mapping[str, Array] | None = None,
        once: Reuse | None = None,
    ) -> None:
        self.graph, self.once = graph, once or Nothing()
        self.quant, self.constants, self.factors = quant, constants, factors or {}
        self.nodes: list[Node] = []
        self.made: dict[Value, Value] = {}
        self.rounded: dict[Value, Value] = {}
        self._inserted: dict[str, Value] = {}
        self._shared = SharedArrays()

    def run(self) -> Graph:
        given = self.graph
        inputs = [replace(port, value=self._define(port.value)) for port in given.inputs]
        for port in given.inputs:
            self._round(port.value)
        for node in given.nodes:
            read = [v if v is None else self.read(node, v) for v in node.inputs]
            operands = self._swapped(node, read)
            results = [self._define(v) for v in node.outputs]
            made = partial(Node, node.op, operands, results, dict(node.attrs), node.name)
            self.nodes.append(self.once(("node", node), (*operands, *results), made))
            for v in node.outputs:
                self._round(v)
        outputs = [replace(port, value=self.now(port.value)) for port in given.outputs]
        empty = given.empty_inputs, given.empty_outputs
        return Graph(self.nodes, inputs, outputs, empty_inputs=empty[0], empty_outputs=empty[1])

    def read(self, node: Node, v: Value) -> Value:
        """What stands for `v`, a tensor of the graph, where `node` reads it."""
        return self.now(v)

    def now(self, v: Value) -> Value:
        """What stands for `v`: itself if it is constant."""
        return self.rounded.get(v) or self.made.get(v, v)

    def _define(self, v: Value) -> Value:
        """What the node makes that made `v`."""
        if v.const is None:
            name = f"{v.name}.raw" if self._rounds(v) else v.name
            made = partial(Value, name, v.type, None, v.quant)
            self.made[v] = self.once(("made", v, name), None, made)
        return self.now(v)

    def _rounds(self, v: Value) -> bool:
        return v.name in self.quant and v.dtype == FLOAT

    def _round(self, v: Value) -> None:
        if self._rounds(v):
            self.rounded[v] = self.rounding_of(self.now(v), v.name)

    def _swapped(self, node: Node, read: list[Value | None]) -> list[Value | None]:
        """What `node` reads, with its other constants."""
        others = self.constants.get(node.output.name, {})
        if not others:
            return read
        same = tuple(map(_Same, others.values()))
        made = partial(swapped, read, others, self._shared)
        found = self.once(("constants", node), same, made)
        return [found[i] if i in others else v for i, v in enumerate([*read, *found[len(read) :]])]

    def rounding_of(self, v: Value, name: str) -> Value:
        """`v` rounded as the tensor `name` is, under that name."""
        if name not in self._inserted:
            quant, factors, x = self.quant[name], self.factors.get(name), v
            if factors is not None:
                x = self._times(x, factors, f"{name}.scaled")
            q = self.once(
                ("rounded", v, name),
                quant,
                lambda: Value(f"{name}.q", TensorType(quant.dtype, v.shape), None, quant),
            )
            y = self._converted(x, q, name if factors is None else f"{name}.rounded")
            if factors is not None:
                y = self._times(y, 1 / factors, name)
            self._inserted[name] = y
        return self._inserted[name]

    def _converted(self, x: Value, q: Value, name: str) -> Value:
        """x converted to q, and back under this name."""
        y = self.once(("real", q, name), None, partial(Value, name, x.type))
        for a, b in ((x, q), (q, y)):
            self.nodes.append(self.once(("converted", b), a, partial(converted, a, b)))
        return y

    def _times(self, x: Value, factors: Array, name: str) -> Value:
        y = Value(name, x.type)
        by = constant(factors.astype(FLOAT), f"{name}.factors")
        self.nodes.append(Node(BinaryFn.Mul.name, [x, by], [y], {}, name))
        return y


class _Same:
    """An array, which equals itself alone."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._array is self._array

    def __hash__(self) -> int:
        return id(self._array)


def swapped(
    inputs: list[Value | None],
    constants: Mapping[int, Array],
    shared: Callable[[Array], Array] = lambda array: array,
) -> list[Value | None]:
    """The inputs of a node with other constants, by operand; `shared` gives the array that is
    held of equal ones."""
    new = [*inputs, *[None] * (max(constants, default=-1) + 1 - len(inputs))]
    for i, array in constants.items():
        old = new[i]
        name = f"{inputs[1].name}.bias" if old is None and inputs[1] is not None else ""
        new[i] = constant(shared(array), name if old is None else old.name)
    return new
