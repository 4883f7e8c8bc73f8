"""Emits the quantized graph, node by node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...format.schema import BinaryFn, UnaryFn
from ...ir import Array, Graph, Node, Port, QuantParams, TensorType, Value, constant
from ...numerics import FLOAT, INT16, WEIGHT_TYPES, DType, Precision
from ...ops import computes, definition, is_a
from ...ops.convert.fake_quantize import FakeQuantize
from ...ops.convert.quantize import converted
from ...ops.elementwise.lut import Lut, make_table
from ...weight_codecs import Storage
from ..weights.layer_weights import LayerWeights
from .given import given_range, grid_quant
from .line_sums import dividing_params, line_axis, rounded_lines
from .options import Decision, Range
from .qparams import activation_params, constant_q
from .quantizable_groups import QuantizableGroup
from .reuse import Reuse
from .shared_scales import SharedScales
from .table_accuracy import TableAccuracy

ROOM_INT16 = 2.0
"""Factor by which int16 ranges exceed the calibrated ones; it costs one of 16 bits."""

Quants = dict[tuple[Value, DType], QuantParams]
"""The quantization parameters of float tensors, as int8 and as int16."""


Constants = Mapping[tuple[str, int], Array]
"""Constants by the output name of the node that reads them, and its input index."""


class Emitter:
    """Emits one quantized graph, with constants on the grids of those in `whole`; a `given` graph
    contains quantization parameters. Afterwards, `refused` lists the nodes that have no form at
    their precision, and why."""

    def __init__(
        self,
        graph: Graph,
        groups: list[QuantizableGroup],
        sharing: SharedScales,
        linear: dict[Node, LayerWeights],
        tables: TableAccuracy,
        inside: Mapping[str, Range],
        once: Reuse,
        given: bool,
        whole: Constants | None = None,
    ) -> None:
        self.whole = whole or {}
        self.graph, self.groups, self.scales = graph, groups, sharing
        self.linear, self.tables, self.inside, self.once = linear, tables, inside, once
        self.made = Graph(empty_inputs=graph.empty_inputs, empty_outputs=graph.empty_outputs)
        self.forms: dict[Value, dict[DType, Value]] = {}  # the first is the computed one
        self.not_negative: dict[Value, Value] = {}
        self.requantized: dict[str, Value] = {}
        self.decisions: list[Decision] = []
        self.refused: dict[tuple[Node, Precision], str] = {}
        self.quants: Quants = {}
        self.given = given

    def run(self, quants: Quants) -> Graph:
        self.quants = quants
        self._inputs()
        for group in self.groups:
            if group.integer:
                self._integer_group(group)
            else:
                self._float_group(group)
        for port in self.graph.outputs:
            value = port.value if port.value.const is not None else self._let_out(port)
            self.made.outputs.append(replace(port, value=value))
        return self.made

    def _let_out(self, port: Port) -> Value:
        """The value of an output, in its chosen element type."""
        return self._made(port.value) if port.held is None else self._as(port.value, port.held)

    def _inputs(self) -> None:
        """Graph inputs are integers if all readers are, of the widest type read."""
        for port in self.graph.inputs:
            v = port.value
            read = {u.dtype or FLOAT for u in self.groups if v in u.node.dynamic_inputs}
            whole = v.dtype == FLOAT and read and FLOAT not in read
            dtype = max(read, key=lambda t: t.itemsize) if whole else v.dtype
            if v.quant is not None:
                dtype = v.quant.dtype
            value = self._define(v, dtype if port.held is None else port.held)
            self.made.inputs.append(replace(port, value=value))

    def _value(self, v: Value, dtype: DType, name: str) -> Value:
        quant = None if dtype == FLOAT else self.quants.get((v, dtype), v.quant)
        kind = TensorType(dtype, v.shape)
        return self.once(("value", v, name), (dtype, quant), lambda: Value(name, kind, None, quant))

    def _define(self, v: Value, dtype: DType) -> Value:
        """The counterpart of `v` in the new graph, computed as `dtype` if `v` is float."""
        if v.dtype == FLOAT:
            made = self._value(v, dtype, v.name)
        else:
            made = self.once(("other", v), None, lambda: Value(v.name, v.type))
        self.forms[v] = {made.dtype: made}
        return made

    def _define_all(self, node: Node, dtype: DType) -> list[Value]:
        """The outputs of `node` as `dtype`; raw if the model specifies another grid for them."""
        return [
            self._define(v, dtype)
            if v.quant is None or v.quant.dtype == dtype
            else self._raw(v, v.quant, dtype)
            for v in node.outputs
        ]

    def _raw(self, v: Value, quant: QuantParams, dtype: DType) -> Value:
        wide = None
        if dtype != FLOAT:
            wide = QuantParams.int16(max(map(abs, given_range(quant))) / 32767)
        name, kind = f"{v.name}.raw", TensorType(dtype, v.shape)
        return self.once(("value", v, name), (dtype, wide), lambda: Value(name, kind, None, wide))

    def _put_on_grids(self, node: Node, made: list[Value]) -> None:
        """Convert the outputs that `_define_all` left raw."""
        for v, raw in zip(node.outputs, made, strict=True):
            if v not in self.forms:
                self._convert(raw, self._define(v, v.quant.dtype if v.quant else v.dtype))

    def _convert(self, x: Value, y: Value) -> Value:
        """Convert `x` to `y`; at least one of them is an integer tensor."""
        node = self.once(("convert", y.name), (x, y), lambda: converted(x, y))
        self.made.nodes.append(node)
        return y

    def _made(self, v: Value) -> Value:
        return next(iter(self.forms[v].values()))

    def _as(self, v: Value, dtype: DType) -> Value:
        """`v` as `dtype`, converted if it is computed in another type."""
        forms = self.forms[v]
        if dtype not in forms:
            name = f"{v.name}.{'float' if dtype == FLOAT else dtype.name}"
            forms[dtype] = self._convert(self._made(v), self._value(v, dtype, name))
        return forms[dtype]

    def _float_group(self, group: QuantizableGroup) -> None:
        for node in group.nodes:
            if any(v in self.forms for v in node.outputs):  # a chain ends here, another goes on
                continue
            if is_a(node, FakeQuantize):
                y = node.output
                assert y.quant is not None
                self._convert(self._made(node.input(0)), self._define(y, y.quant.dtype))
                continue
            inputs = [
                v if v is None or v.const is not None else self._as(v, v.dtype) for v in node.inputs
            ]
            if computes(node, UnaryFn.Sqrt):
                inputs[0] = self._not_negative(node.input(0))
            outputs = self._define_all(node, FLOAT)
            made, smaller = self.once(
                ("node", node),
                (*inputs, *outputs),
                partial(_float_node, node, inputs, outputs),
            )
            self.made.nodes.append(made)
            self._put_on_grids(node, outputs)
            if smaller is not None:
                self._decide(group, smaller, group.why)
                return
        if group.why:
            self._decide(group, "kept float", group.why)

    def _not_negative(self, v: Value) -> Value:
        """`v` in float32 for a root. Integers may have made a small number negative, where the
        root of the float model has none."""
        quant, real = self._made(v).quant, self._as(v, FLOAT)
        if quant is None or v.quant is not None or quant.qmin >= quant.zero_point:
            return real
        if v not in self.not_negative:
            y = self._value(v, FLOAT, f"{v.name}.not_negative")
            make = partial(
                Node, UnaryFn.Clip.name, [real], [y], {"min": 0.0, "max": np.inf}, y.name
            )
            self.made.nodes.append(self.once(("clip", y.name), (real, y), make))
            self.not_negative[v] = y
        return self.not_negative[v]

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
        outputs = self._define_all(node, group.dtype)
        dtype = group.dtype
        made, why = self.once(
            ("node", node),
            (self.linear.get(node), group.weight_bits, *inputs, *outputs),
            lambda: self._integer_node(group, dtype, inputs, outputs),
        )
        self.made.nodes.append(made)
        self._put_on_grids(node, outputs)
        if why:
            assert group.precision is not None
            self.refused[node, group.precision] = why

    def _integer_node(
        self,
        group: QuantizableGroup,
        dtype: DType,
        inputs: list[Value | None],
        outputs: list[Value],
    ) -> tuple[Node, str | None]:
        """The integer node of `group`, and the reason if there is none."""
        node = group.node
        attrs = dict(node.attrs)
        if node in self.linear:
            attrs |= _add_weights(self.linear[node], inputs, outputs[0])
        elif group.weight_bits < 8:
            attrs["storage"] = Storage(WEIGHT_TYPES[group.weight_bits].codec)
        for attr, shown in definition(node.op).inside(node).items():
            low, high = self.inside[shown.output.name]
            room = ROOM_INT16 * low, ROOM_INT16 * high
            attrs[attr] = activation_params(*room, dtype)
        made = Node(node.op, inputs, outputs, attrs, node.name)
        why = definition(node.op).accumulator_problem(made)
        return made, why or self.tables.divisor_problem(node, made)

    def _chain(self, group: QuantizableGroup) -> None:
        assert group.chain is not None and group.dtype is not None
        x = self._as(group.chain.root, group.dtype)
        (y,) = self._define_all(group.node, group.dtype)
        made, why = self.once(("chain", group.node), (x, y), lambda: self._chain_node(group, x, y))
        if why:
            assert group.precision is not None
            self.refused[group.nodes[-1], group.precision] = why
        self.made.nodes.append(made)
        self._put_on_grids(group.node, [y])

    def _chain_node(self, group: QuantizableGroup, x: Value, y: Value) -> tuple[Node, str | None]:
        """The table of a chain, and the reason if there is none."""
        assert group.chain is not None and x.quant is not None and y.quant is not None
        end, why = group.chain.end, None
        values = np.stack([make_table(f, x.quant, y.quant) for f in group.chain.functions])
        if group.dtype == INT16:
            why = self.tables.problem(group.chain, values, x.quant, y.quant)
        index, tables = group.chain.index, f"{end.name}.table"
        if index is None:
            operands = [constant(values[0], tables)]
        else:
            operands = [constant(values, tables), constant(index, f"{end.name}.index")]
        return Node(Lut.name, [x, *operands], [y], {}, group.node.name), why

    def _input(self, group: QuantizableGroup, i: int, v: Value | None) -> Value | None:
        """Operand `i` of an integer node; `_add_weights` adds weight and bias."""
        node, op = group.node, definition(group.node.op)
        if v is None or (v.const is not None and i in op.real_constants):
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
        elif self.given and (grid := grid_quant(v.const, group.dtype)):
            quant = grid
        else:
            known = self.whole.get((group.node.output.name, group.node.inputs.index(v)), v.const)
            low, high = float(known.min()), float(known.max())
            if computes(group.node, BinaryFn.Add):
                low, high = self._told_apart(group, low, high)
            quant = activation_params(low, high, group.dtype)
            if (axis := line_axis(group.node, v)) is not None:
                quant = dividing_params(known, axis, group.dtype)
                return self._rounded(group, v, quant, partial(rounded_lines, axis=axis, q=quant))
        return self._rounded(group, v, quant, partial(constant_q, q=quant))

    def _rounded(
        self, group: QuantizableGroup, v: Value, quant: QuantParams, of: Callable[[Array], Array]
    ) -> Value:
        array = v.const
        assert array is not None
        return self.once(
            ("constant", group.node, v), quant, lambda: constant(of(array), v.name, quant)
        )

    def _told_apart(self, group: QuantizableGroup, low: float, high: float) -> Range:
        """The range of an addend, limited to where the sum does not always saturate."""
        assert group.dtype is not None
        (x,), y = group.inputs, group.node.output
        x_low, x_high = given_range(self.quants[x, group.dtype])
        y_low, y_high = given_range(self.quants[y, group.dtype])
        told = np.clip((low, high), y_low - x_high, y_high - x_low)
        return float(told[0]), float(told[1])

    def _requantized(self, group: QuantizableGroup, v: Value) -> Value:
        assert group.dtype is not None
        x, out = self._as(v, group.dtype), group.node.output
        name = f"{v.name}.for.{out.name}"
        if name in self.requantized:  # read a second time
            return self.requantized[name]
        quant, kind = self.quants[out, group.dtype], TensorType(group.dtype, v.shape)
        y = self.once(("value", v, name), quant, lambda: Value(name, kind, None, quant))
        self.requantized[name] = y
        if v.quant is None or out.quant is None:
            self._decide(group, f"requantized input '{v.name}'", "it has finer steps elsewhere")
        return self._convert(x, y)


def with_weights(made: Node, linear: LayerWeights) -> Node:
    """The emitted integer node `made` with other weights."""
    inputs = list(made.inputs)
    attrs = made.attrs | _add_weights(linear, inputs, made.output)
    return replace(made, inputs=inputs, attrs=attrs)


def _add_weights(linear: LayerWeights, inputs: list[Value | None], out: Value) -> dict[str, Any]:
    """Put weight and bias into the inputs; returns the attributes of their storage."""
    op, x = definition(linear.node.op), inputs[0]
    assert op.weight is not None and x is not None and x.quant is not None
    assert out.quant is not None
    weight, bias = linear.quantize(x.quant, out.quant)
    inputs[op.weight] = weight
    if op.bias is not None:
        inputs += [None] * (op.bias + 1 - len(inputs))
        inputs[op.bias] = bias
    return linear.attributes(x.quant, out.quant)


def _float_node(
    node: Node, inputs: list[Value | None], outputs: list[Value]
) -> tuple[Node, str | None]:
    """`node` in float32, and a note if its constants were made smaller."""
    smaller = definition(node.op).compacted(node)
    attrs = node.attrs if smaller is None else node.attrs | smaller[0]
    made = Node(node.op, inputs, outputs, dict(attrs), node.name)
    return made, None if smaller is None else smaller[1]
