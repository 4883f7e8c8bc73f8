"""The quantized graph itself, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from ...numerics import FLOAT, INT8, INT16, DType, Precision
from ...ops import definition
from ...ops.lut import make_table
from ..weights.layer_weights import LayerWeights
from .options import Decision, Range
from .qparams import activation_params, constant_q
from .quantizable_groups import QuantizableGroup
from .shared_scales import SharedScales
from .table_accuracy import TableAccuracy

Quants = dict[tuple[Value, DType], QuantParams]
"""The quantization of a float tensor on int8, and on int16."""


class Emitter:
    """Writes one quantized graph. `refused` then says which nodes cannot be what they are, why."""

    def __init__(
        self,
        graph: Graph,
        groups: list[QuantizableGroup],
        sharing: SharedScales,
        linear: dict[Node, LayerWeights],
        tables: TableAccuracy,
    ) -> None:
        self.graph, self.groups, self.scales = graph, groups, sharing
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
        for group in self.groups:
            if group.integer:
                self._integer_group(group)
            else:
                self._float_group(group)
        for port in self.graph.outputs:
            value = port.value if port.value.const is not None else self._made(port.value)
            self.made.outputs.append(Port(port.name, value, port.onnx_dtype, port.shape))
        return self.made

    def _inputs(self) -> None:
        """Graph inputs are integers when all that reads them is, of the widest type read."""
        for port in self.graph.inputs:
            v = port.value
            read = {u.dtype or FLOAT for u in self.groups if v in u.node.dynamic_inputs}
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

    def _float_group(self, group: QuantizableGroup) -> None:
        for node in group.nodes:
            if any(v in self.forms for v in node.outputs):  # a chain ends here, another goes on
                continue
            inputs = [
                v if v is None or v.const is not None else self._as(v, v.dtype) for v in node.inputs
            ]
            outputs = [self._define(v, FLOAT) for v in node.outputs]
            self.made.nodes.append(Node(node.op, inputs, outputs, dict(node.attrs), node.name))
        if group.why:
            self._decide(group, "kept float", group.why)

    def _decide(self, group: QuantizableGroup, what: str, why: str) -> None:
        op, name = group.label
        self.decisions.append(Decision(name, op, what, why))

    def _integer_group(self, group: QuantizableGroup) -> None:
        if group.why:
            self._decide(group, f"made {group.precision}", group.why)
        if group.chain:
            self._chain(group)
            return
        assert group.dtype is not None
        node = group.node
        inputs: list[Value | None] = [self._input(group, i, v) for i, v in enumerate(node.inputs)]
        outputs = [self._define(v, group.dtype) for v in node.outputs]
        attrs = dict(node.attrs)
        if node in self.linear:
            attrs |= self._linear(node, inputs, outputs[0])
        made = Node(node.op, inputs, outputs, attrs, node.name)
        self.made.nodes.append(made)
        why = definition(node.op).accumulator_problem(made)
        if why:
            assert group.precision is not None
            self.refused[node, group.precision] = why

    def _chain(self, group: QuantizableGroup) -> None:
        assert group.chain is not None and group.dtype is not None
        x, end = self._as(group.chain.root, group.dtype), group.chain.end
        y = self._define(end, group.dtype)
        assert x.quant is not None and y.quant is not None
        values = np.stack([make_table(f, x.quant, y.quant) for f in group.chain.functions])
        if group.dtype == INT16:
            why = self.tables.problem(group.chain, values, x.quant, y.quant)
            if why:
                assert group.precision is not None
                self.refused[group.nodes[-1], group.precision] = why
        index, tables = group.chain.index, f"{end.name}.table"
        if index is None:
            operands = [constant(values[0], tables)]
        else:
            operands = [constant(values, tables), constant(index, f"{end.name}.index")]
        self._append("Lut", [x, *operands], y, group.node.name)

    def _input(self, group: QuantizableGroup, i: int, v: Value | None) -> Value | None:
        """Operand `i` of an integer node; weight and bias are left for `_linear`."""
        node, op = group.node, definition(group.node.op)
        if v is None or i in op.real_constants:
            return v
        if node in self.linear and i in (op.weight, op.bias):
            return v
        if v.const is not None:
            return self._constant(group, v)
        if v.dtype != FLOAT:
            return self._made(v)
        if (group, i) in self.scales.requantized:
            return self._requantized(group, v)
        assert group.dtype is not None
        return self._as(v, group.dtype)

    def _constant(self, group: QuantizableGroup, v: Value) -> Value:
        assert v.const is not None and group.dtype is not None
        if v.dtype != FLOAT:
            return v
        if group.shared:
            quant = self.quants[group.node.output, group.dtype]
        else:
            low, high = float(v.const.min()), float(v.const.max())
            if group.node.op == "Add":
                low, high = self._told_apart(group, low, high)
            quant = activation_params(low, high, group.dtype)
        return constant(constant_q(v.const, quant), v.name, quant)

    def _told_apart(self, group: QuantizableGroup, low: float, high: float) -> Range:
        """The part of a summand's range beyond which every sum saturates."""
        assert group.dtype is not None
        (x,), y = group.inputs, group.node.output
        x_low, x_high = _reals(self.quants[x, group.dtype])
        y_low, y_high = _reals(self.quants[y, group.dtype])
        told = np.clip((low, high), y_low - x_high, y_high - x_low)
        return float(told[0]), float(told[1])

    def _requantized(self, group: QuantizableGroup, v: Value) -> Value:
        assert group.dtype is not None
        x, out = self._as(v, group.dtype), group.node.output
        name = f"{v.name}.for.{out.name}"
        if name in self.requantized:  # it is read twice
            return self.requantized[name]
        y = Value(name, TensorType(group.dtype, v.shape), None, self.quants[out, group.dtype])
        self.requantized[name] = y
        self._decide(group, f"requantized input '{v.name}'", "it has finer steps elsewhere")
        if group.dtype != INT8:
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
