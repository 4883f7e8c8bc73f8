"""The quantized graph itself, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from ...ops import definition
from ...ops.lut import make_table
from ..weights.layer_weights import Linear
from .options import Decision, Range
from .precision import FLOAT, INT8, DType, Precision
from .qparams import activation_params, constant_q
from .quantizable_groups import Unit
from .shared_scales import Sharing
from .table_accuracy import Tables

Quants = dict[tuple[Value, DType], QuantParams]
"""The quantization of a float tensor on int8, and on int16."""


class Emitter:
    """Writes one quantized graph. `refused` then says which nodes cannot be what they are, why."""

    def __init__(
        self,
        graph: Graph,
        units: list[Unit],
        sharing: Sharing,
        linear: dict[Node, Linear],
        tables: Tables,
    ) -> None:
        self.graph, self.units, self.sharing = graph, units, sharing
        self.linear, self.tables = linear, tables
        self.made = Graph()
        self.forms: dict[Value, dict[DType, Value]] = {}  # the first is the one it is made in
        self.requantized: dict[str, Value] = {}
        self.decisions: list[Decision] = []
        self.refused: dict[tuple[Node, Precision], str] = {}
        self.quants: Quants = {}

    def run(self, quants: Quants) -> Graph:
        self.quants = quants
        self._inputs()
        for unit in self.units:
            if unit.integer:
                self._integer_unit(unit)
            else:
                self._plain_unit(unit)
        for port in self.graph.outputs:
            value = port.value if port.value.const is not None else self._made(port.value)
            self.made.outputs.append(Port(port.name, value, port.onnx_dtype, port.shape))
        return self.made

    def _inputs(self) -> None:
        """Graph inputs are integers when all that reads them is, of the widest type read."""
        for port in self.graph.inputs:
            v = port.value
            read = {u.dtype or FLOAT for u in self.units if v in u.node.dynamic_inputs}
            whole = v.dtype == FLOAT and read and FLOAT not in read
            dtype = max(read, key=lambda t: t.itemsize) if whole else v.dtype
            value = self._define(v, dtype)
            self.made.inputs.append(Port(port.name, value, port.onnx_dtype, port.shape))

    def _value(self, v: Value, dtype: DType, name: str) -> Value:
        quant = None if dtype == FLOAT else self.quants[v, dtype]
        return Value(name, TensorType(dtype, v.shape), None, quant)

    def _define(self, v: Value, dtype: DType) -> Value:
        """What stands for `v` in the new graph, made as `dtype` if it is a float tensor."""
        made = self._value(v, dtype, v.name) if v.dtype == FLOAT else Value(v.name, v.type)
        self.forms[v] = {made.dtype: made}
        return made

    def _made(self, v: Value) -> Value:
        return next(iter(self.forms[v].values()))

    def _append(self, op: str, x: list[Value | None], y: Value, name: str) -> Value:
        self.made.nodes.append(Node(op, x, [y], {}, name))
        return y

    def _as(self, v: Value, dtype: DType) -> Value:
        """`v` as `dtype`, converted if it is made in another."""
        forms = self.forms[v]
        if dtype not in forms:
            source = self._made(v)
            op = "Dequantize" if dtype == FLOAT else "Requantize"
            if source.dtype == FLOAT:
                op = "Quantize"
            name = f"{v.name}.{'float' if dtype == FLOAT else dtype.name}"
            forms[dtype] = self._append(op, [source], self._value(v, dtype, name), name)
        return forms[dtype]

    def _plain_unit(self, unit: Unit) -> None:
        for node in unit.nodes:
            if any(v in self.forms for v in node.outputs):  # a chain ends here, another goes on
                continue
            inputs = [
                v if v is None or v.const is not None else self._as(v, v.dtype) for v in node.inputs
            ]
            outputs = [self._define(v, FLOAT) for v in node.outputs]
            self.made.nodes.append(Node(node.op, inputs, outputs, dict(node.attrs), node.name))
        if unit.why:
            self._decide(unit, "kept float", unit.why)

    def _decide(self, unit: Unit, what: str, why: str) -> None:
        op, name = unit.label
        self.decisions.append(Decision(name, op, what, why))

    def _integer_unit(self, unit: Unit) -> None:
        if unit.why:
            self._decide(unit, f"made {unit.precision}", unit.why)
        if unit.chain:
            self._chain(unit)
            return
        assert unit.dtype is not None
        node = unit.node
        inputs: list[Value | None] = [self._input(unit, i, v) for i, v in enumerate(node.inputs)]
        outputs = [self._define(v, unit.dtype) for v in node.outputs]
        attrs = dict(node.attrs)
        if node in self.linear:
            attrs |= self._linear(node, inputs, outputs[0])
        made = Node(node.op, inputs, outputs, attrs, node.name)
        self.made.nodes.append(made)
        why = definition(node.op).accumulator_problem(made)
        if why:
            assert unit.precision is not None
            self.refused[node, unit.precision] = why

    def _chain(self, unit: Unit) -> None:
        assert unit.chain is not None and unit.dtype is not None
        x, end = self._as(unit.chain.root, unit.dtype), unit.chain.end
        y = self._define(end, unit.dtype)
        assert x.quant is not None and y.quant is not None
        values = np.stack([make_table(f, x.quant, y.quant) for f in unit.chain.functions])
        if unit.precision == "int16":
            why = self.tables.problem(unit.chain, values, x.quant, y.quant)
            if why:
                self.refused[unit.nodes[-1], unit.precision] = why
        index, tables = unit.chain.index, f"{end.name}.table"
        if index is None:
            operands = [constant(values[0], tables)]
        else:
            operands = [constant(values, tables), constant(index, f"{end.name}.index")]
        self._append("Lut", [x, *operands], y, unit.node.name)

    def _input(self, unit: Unit, i: int, v: Value | None) -> Value | None:
        """Operand `i` of an integer node; weight and bias are left for `_linear`."""
        node, op = unit.node, definition(unit.node.op)
        if v is None or i in op.real_constants:
            return v
        if node in self.linear and i in (op.weight, op.bias):
            return v
        if v.const is not None:
            return self._constant(unit, v)
        if v.dtype != FLOAT:
            return self._made(v)
        if (unit, i) in self.sharing.requantized:
            return self._requantized(unit, v)
        assert unit.dtype is not None
        return self._as(v, unit.dtype)

    def _constant(self, unit: Unit, v: Value) -> Value:
        assert v.const is not None and unit.dtype is not None
        if v.dtype != FLOAT:
            return v
        if unit.shared:
            quant = self.quants[unit.node.output, unit.dtype]
        else:
            low, high = float(v.const.min()), float(v.const.max())
            if unit.node.op == "Add":
                low, high = self._told_apart(unit, low, high)
            quant = activation_params(low, high, unit.dtype)
        return constant(constant_q(v.const, quant), v.name, quant)

    def _told_apart(self, unit: Unit, low: float, high: float) -> Range:
        """The part of a summand's range beyond which every sum saturates."""
        assert unit.dtype is not None
        (x,), y = unit.inputs, unit.node.output
        x_low, x_high = _reals(self.quants[x, unit.dtype])
        y_low, y_high = _reals(self.quants[y, unit.dtype])
        told = np.clip((low, high), y_low - x_high, y_high - x_low)
        return float(told[0]), float(told[1])

    def _requantized(self, unit: Unit, v: Value) -> Value:
        assert unit.dtype is not None
        x, out = self._as(v, unit.dtype), unit.node.output
        name = f"{v.name}.for.{out.name}"
        if name in self.requantized:  # it is read twice
            return self.requantized[name]
        y = Value(name, TensorType(unit.dtype, v.shape), None, self.quants[out, unit.dtype])
        self.requantized[name] = y
        self._decide(unit, f"requantized input '{v.name}'", "it has finer steps elsewhere")
        if unit.dtype != INT8:
            return self._append("Requantize", [x], y, name)
        assert x.quant is not None and y.quant is not None
        values = make_table(lambda real: real, x.quant, y.quant)
        return self._append("Lut", [x, constant(values, f"{name}.table")], y, name)

    def _linear(self, node: Node, inputs: list[Value | None], out: Value) -> dict[str, Any]:
        """Put weight and bias among the inputs; returns what the attributes say of them."""
        op, x = definition(node.op), inputs[0]
        assert op.weight is not None and x is not None and x.quant is not None
        assert out.quant is not None
        weight, bias = self.linear[node].quantize(x.quant, out.quant)
        inputs[op.weight] = weight
        if op.bias is not None:
            inputs += [None] * (op.bias + 1 - len(inputs))
            inputs[op.bias] = bias
        return self.linear[node].attributes(x.quant, out.quant)


def _reals(quant: QuantParams) -> Range:
    """What the least and the largest integer stand for."""
    low, high = ((q - quant.zero_point) * quant.scalar for q in (quant.qmin, quant.qmax))
    return low, high
