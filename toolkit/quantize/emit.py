"""The quantized graph itself, node by node."""

from __future__ import annotations

import numpy as np

from ..ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from ..ops import definition
from ..ops.lut import make_table
from .options import Decision
from .qparams import activation_params, constant_q
from .sharing import Sharing
from .units import FLOAT, Unit
from .weights import Linear

INT8 = np.dtype(np.int8)


class Emitter:
    """Writes one quantized graph. `refused` then holds the nodes that cannot be int8, and why."""

    def __init__(
        self,
        graph: Graph,
        units: list[Unit],
        sharing: Sharing,
        linear: dict[Node, Linear],
    ) -> None:
        self.graph, self.units, self.sharing = graph, units, sharing
        self.linear = linear
        self.made = Graph()
        self.int8: dict[Value, Value] = {}
        self.plain: dict[Value, Value] = {}  # float32, or what never was float
        self.decisions: list[Decision] = []
        self.refused: dict[Node, str] = {}
        self.quant: dict[Value, QuantParams] = {}

    def run(self, quant: dict[Value, QuantParams]) -> Graph:
        self.quant = quant
        self._inputs()
        emitted: set[Node] = set()
        for unit in self.units:
            if unit.int8:
                self._int8_unit(unit)
            else:
                self._plain_unit(unit, emitted)
        for port in self.graph.outputs:
            value = self._produced(port.value)
            self.made.outputs.append(Port(port.name, value, port.onnx_dtype, port.shape))
        return self.made

    def _inputs(self) -> None:
        """Graph inputs are int8 when all that reads them is."""
        read_plain = {v for u in self.units if not u.int8 for v in u.node.dynamic_inputs}
        read_int8 = {v for u in self.units if u.int8 for v in u.inputs}
        for port in self.graph.inputs:
            v = port.value
            if v in read_int8 and v not in read_plain:
                value = self.int8[v] = self._int8_value(v)
            else:
                value = self.plain[v] = Value(v.name, v.type)
            self.made.inputs.append(Port(port.name, value, port.onnx_dtype, port.shape))

    def _int8_value(self, v: Value, name: str | None = None) -> Value:
        return Value(name or v.name, TensorType(INT8, v.shape), None, self.quant[v])

    def _produced(self, v: Value) -> Value:
        """The value of the new graph that stands for `v`, in the type it was made in."""
        if v.const is not None:
            return v
        made = self.int8.get(v)
        return made if made is not None and made.name == v.name else self.plain[v]

    def _append(self, op: str, x: list[Value | None], y: Value, name: str) -> Value:
        self.made.nodes.append(Node(op, x, [y], {}, name))
        return y

    def _as_int8(self, v: Value) -> Value:
        if v not in self.int8:
            source = self.plain[v]
            q = self._int8_value(v, f"{v.name}.int8")
            self.int8[v] = self._append("Quantize", [source], q, f"{v.name}.int8")
        return self.int8[v]

    def _as_plain(self, v: Value) -> Value:
        if v not in self.plain:
            y = Value(f"{v.name}.float", v.type)
            self.plain[v] = self._append("Dequantize", [self.int8[v]], y, y.name)
        return self.plain[v]

    def _plain_unit(self, unit: Unit, emitted: set[Node]) -> None:
        for node in unit.nodes:
            if node in emitted:
                continue
            emitted.add(node)
            inputs = [
                v if v is None or v.const is not None else self._as_plain(v) for v in node.inputs
            ]
            outputs = [Value(v.name, v.type) for v in node.outputs]
            self.plain.update(zip(node.outputs, outputs, strict=True))
            self.made.nodes.append(Node(node.op, inputs, outputs, dict(node.attrs), node.name))
        if unit.why_float:
            self._decide(unit.nodes[-1], "kept float", unit.why_float)

    def _decide(self, node: Node, what: str, why: str) -> None:
        self.decisions.append(Decision(node.name or node.output.name, node.op, what, why))

    def _int8_unit(self, unit: Unit) -> None:
        if unit.chain:
            self._chain(unit)
            return
        node = unit.node
        inputs: list[Value | None] = [self._input(unit, i, v) for i, v in enumerate(node.inputs)]
        if node in self.linear:
            self._linear(node, inputs)
        outputs = [
            self._int8_value(v) if v.dtype == FLOAT else Value(v.name, v.type) for v in node.outputs
        ]
        for old, new in zip(node.outputs, outputs, strict=True):
            (self.int8 if new.dtype == INT8 else self.plain)[old] = new
        made = Node(node.op, inputs, outputs, dict(node.attrs), node.name)
        self.made.nodes.append(made)
        why = definition(node.op).accumulator_problem(made)
        if why:
            self.refused[node] = why

    def _chain(self, unit: Unit) -> None:
        assert unit.chain is not None
        x, end = self._as_int8(unit.chain.root), unit.chain.end
        assert x.quant is not None
        values = make_table(unit.chain, x.quant, self.quant[end])
        y = self.int8[end] = self._int8_value(end)
        self._append("Lut", [x, constant(values, f"{end.name}.table")], y, unit.node.name)

    def _input(self, unit: Unit, i: int, v: Value | None) -> Value | None:
        """Operand `i` of an int8 node; weight and bias are left for `_linear`."""
        node, op = unit.node, definition(unit.node.op)
        if v is None or i in op.real_constants:
            return v
        if node in self.linear and i in (op.weight, op.bias):
            return v
        if v.const is not None:
            return self._constant(unit, v)
        if v.dtype != FLOAT:
            return self.plain[v]
        if (unit, i) in self.sharing.requantized:
            return self._requantized(unit, v)
        return self._as_int8(v)

    def _constant(self, unit: Unit, v: Value) -> Value:
        assert v.const is not None
        if v.dtype != FLOAT:
            return v
        if unit.shared:
            quant = self.quant[unit.node.output]
        else:
            quant = activation_params(float(v.const.min()), float(v.const.max()))
        return constant(constant_q(v.const, quant), v.name, quant)

    def _requantized(self, unit: Unit, v: Value) -> Value:
        x, out = self._as_int8(v), unit.node.output
        assert x.quant is not None
        name = f"{v.name}.for.{out.name}"
        y = Value(name, TensorType(INT8, v.shape), None, self.quant[out])
        values = make_table(lambda real: real, x.quant, self.quant[out])
        self._decide(unit.node, f"requantized input '{v.name}'", "it has finer steps elsewhere")
        return self._append("Lut", [x, constant(values, f"{name}.table")], y, name)

    def _linear(self, node: Node, inputs: list[Value | None]) -> None:
        op, x = definition(node.op), inputs[0]
        assert op.weight is not None and x is not None and x.quant is not None
        weight, bias = self.linear[node].quantize(x.quant, self.quant[node.output])
        inputs[op.weight] = weight
        if op.bias is not None:
            inputs += [None] * (op.bias + 1 - len(inputs))
            inputs[op.bias] = bias
