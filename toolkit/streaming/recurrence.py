"""Recurrent layers: their state goes from step to step."""

from __future__ import annotations

import numpy as np

from ..format.schema import RecurrentCell, RecurrentOutput
from ..ir import Array, Node, QuantParams, TensorType, Value, constant
from ..ops import definition
from ..ops.elementwise.where import Where
from ..ops.move.movement import Copy, Reshape
from ..ops.recurrent.layers import STARTS, UNIT, cell_quant
from .stage import Stage
from .timing import Refusal, Streamed


def recurrent(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A layer whose states are kept, but for those that the model has as inputs and outputs."""
    x = _checked(stage, node, xs)
    layer = _Layer(stage, node, x)
    starts = {i: xs[i] for i, _ in STARTS}
    inputs: list[Value | None] = [None if v is None else v.value for v in xs]
    inputs[0] = x.value
    stores: dict[RecurrentOutput, Value] = {}
    for i, bit in STARTS:
        v = starts[i]
        if i == 3 and node.attrs["cell"] != RecurrentCell.Lstm:
            continue
        if v is None or v.value.const is not None:
            inputs[i], stores[bit] = layer.begin(bit, None if v is None else v.value)
        elif x.time.delay:
            raise Refusal(
                node, "has an initial state that is an input, after operators with look-ahead"
            )
    outputs = layer.run(inputs, stores)
    t = x.time
    last = stage.last(t)
    return [
        Streamed(outputs[bit], t if bit == RecurrentOutput.Hidden else last)
        for bit in node.attrs["gives"]
    ]


def _checked(stage: Stage, node: Node, xs: list[Streamed | None]) -> Streamed:
    """The inputs of the gates, late by whole steps. Raises Refusal."""
    x = xs[0]
    if x is None or x.timing is None or x.timing.axis != 0:
        raise Refusal(node, "has a time axis other than its steps")
    if node.attrs["reverse"]:
        raise Refusal(node, "reads the sequence in reverse")
    if xs[1] is not None:
        raise Refusal(node, "has sequences of different lengths")
    if any(v is not None and v.timing is not None for v in xs[2:4]):
        raise Refusal(node, "has an initial state that is computed from the sequence")
    return stage.delayed(x, -x.time.delay % x.time.frames)


class _Layer:
    """One Recurrent of the whole model, in the streaming graph."""

    def __init__(self, stage: Stage, node: Node, x: Streamed) -> None:
        self.stage, self.node, self.x = stage, node, x
        self.steps_late = x.time.delay // x.time.frames

    def begin(self, bit: RecurrentOutput, start: Value | None) -> tuple[Value, Value]:
        """The state that a step begins with, and the memory that it is kept in.

        Steps before the sequence begins leave nothing behind: the first one takes `start`.
        """
        kind, quant = self._kind(bit)
        stage, name = self.stage, f"{self.node.output.name}.{bit.name.lower()}"
        first = None if start is None else self._start(start, quant)
        if self.steps_late == 0:
            held = stage.hold(name, kind, quant, first)
            return held, held
        held = stage.hold(name, kind, quant)
        mask = stage.emit(
            Reshape.name, [stage.mask(1, self.steps_late + 1)], f"{name}.begun", None, shape=(1, 1)
        )
        zero = np.zeros(kind.shape, kind.dtype) if first is None else first
        other = constant(zero, f"{name}.first", quant)
        return stage.emit(Where.name, [mask, held, other], f"{name}.start", quant), held

    def _start(self, start: Value, quant: QuantParams | None) -> Array:
        """A constant start on the grid of the state."""
        assert start.const is not None
        if quant is None or start.quant == quant:
            return start.const
        raise Refusal(self.node, "has a constant initial state of another scale")

    def _kind(self, bit: RecurrentOutput) -> tuple[TensorType, QuantParams | None]:
        """Type and scale of a state, as it is inside."""
        x, hidden = self.x.value, self.node.input(4).shape[1]
        kind = TensorType(x.dtype, (x.shape[1], hidden))
        if x.dtype == np.float32:
            return kind, None
        attrs = self.node.attrs
        if bit == RecurrentOutput.LastCell:
            return kind, cell_quant(self.node)
        return kind, attrs.get("hidden_quant", UNIT)

    def run(
        self, inputs: list[Value | None], stores: dict[RecurrentOutput, Value]
    ) -> dict[RecurrentOutput, Value]:
        """Every output of the layer by what it is; states are stored."""
        node, stage = self.node, self.stage
        given = dict(zip(node.attrs["gives"], node.outputs, strict=True))
        bits = sorted({*given, *stores})
        made = Node(node.op, inputs, [], {**node.attrs, "gives": tuple(bits)}, node.name)
        for bit, kind in zip(bits, definition(node.op).infer(made), strict=True):
            quant = self._kind(bit)[1] if bit in stores else given[bit].quant
            if bit in given and given[bit].quant != quant:
                raise Refusal(node, "returns its state at another scale than it keeps it")
            name = given[bit].name if bit in given else f"{node.output.name}.{bit.name.lower()}.now"
            made.outputs.append(Value(stage.name(name), kind, None, quant))
        stage.nodes.append(made)
        outputs = dict(zip(bits, made.outputs, strict=True))
        for bit, held in stores.items():
            v = outputs[bit]
            one = {"dims": (v.type.size,), "strides": (1,), "offset": 0, "shape": v.shape}
            stage.store(held, Copy.name, v, **one)
        return outputs
