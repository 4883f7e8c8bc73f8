"""Recurrent: one direction of an RNN, GRU or LSTM layer, all steps of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...format.schema import OpKind, RecurrentCell, RecurrentFlag, RecurrentOutput
from ...format.structs import NO_BLOB
from ...format.tables import WIDE
from ...ir import Array, Node, QuantParams, TensorType, Value
from ...numerics import INT16, Precision, integer_precisions
from .._opdef import Activation, Blob, Builder, Lowered, OnnxNode, OpDef, problem_of
from ._fixed import cell_quant as cell_quant
from ._fixed import fixed_of, integer_meaning
from ._functions import CellFunction
from ._onnx import GATES, from_onnx

OPERANDS = 4
"""Inputs that the runtime reads as tensors; weights, bias and peepholes are behind them."""

STARTS = ((2, RecurrentOutput.LastHidden), (3, RecurrentOutput.LastCell))
"""Inputs that a layer begins with, and the outputs that they follow."""

FLAGS = {
    "reverse": RecurrentFlag.Reverse,
    "reset_after": RecurrentFlag.ResetAfter,
    "coupled": RecurrentFlag.Coupled,
}

UNIT = QuantParams.int16(2.0**-15)
"""Of what stays within [-1, 1]."""


class Recurrent(OpDef):
    """ONNX RNN-1..22, GRU-1..22, LSTM-1..22: all attributes; weights computed at run time in up to
    64 steps, without lengths, peepholes and clip.

    DynamicQuantizeLSTM of com.microsoft is supported without rounding inputs and hidden states.

    Inputs: what the inputs add to the gates, [steps, batch, gates * hidden] (a FullyConnected in
    front makes it); int32 lengths [batch]; the hidden and the cell state to start with, [batch,
    hidden]; the weights [gates * hidden, hidden] of the hidden state, their bias [gates * hidden],
    peepholes [3 * hidden]. All but the first and the weights may be absent; those behind the fourth
    are constant float32, on integers too. attrs: cell (RecurrentCell), gives (RecurrentOutput, in
    order), functions (f, g, h as ONNX calls them), clip (0: none), cell_limit (where the cell state
    saturates in every step; 0: nowhere), reverse, reset_after, coupled; of integers gate_quant
    besides, cell_quant (LSTM), and hidden_quant unless it is UNIT.

    Integers are int16: 16-bit states and gates, weights of 8 or 4 bits.
    """

    name = "Recurrent"
    onnx = ("RNN", "GRU", "LSTM", "com.microsoft.DynamicQuantizeLSTM")
    precisions = integer_precisions(INT16, weight_bits=(8, 4))
    real_constants = (4, 5, 6)
    inner_weight = OPERANDS

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        return from_onnx(b, node)

    def infer(self, node: Node) -> list[TensorType]:
        x, weights, cell = node.input(0), node.input(OPERANDS), node.attrs["cell"]
        if len(x.shape) != 3 or len(weights.shape) != 2 or weights.const is None:
            raise ValueError(f"Recurrent of {x} with weights {weights}")
        (steps, batch, rows), hidden = x.shape, weights.shape[1]
        if rows != GATES[cell] * hidden or weights.shape[0] != rows:
            raise ValueError(f"Recurrent of {x} with weights {weights}: they do not match")
        state = TensorType(x.dtype, (batch, hidden))
        wanted = [TensorType(np.dtype(np.int32), (batch,)), state, state]
        for v, kind in zip(node.inputs[1:OPERANDS], wanted, strict=True):
            if v is not None and v.type != kind:
                raise ValueError(f"Recurrent of {x} with {v}, not {kind.dtype}{list(kind.shape)}")
        for v, size in zip(node.inputs[OPERANDS + 1 :], (rows, 3 * hidden), strict=True):
            if v is not None and (v.const is None or v.shape != (size,)):
                raise ValueError(f"Recurrent of {x} with {v}, not a constant [{size}]")
        whole = TensorType(x.dtype, (steps, batch, hidden))
        types = {
            RecurrentOutput.Hidden: whole, RecurrentOutput.LastHidden: state,
            RecurrentOutput.LastCell: state, RecurrentOutput.Cells: whole,
            RecurrentOutput.Gates: x.type,
        }  # fmt: skip
        return [types[bit] for bit in node.attrs["gives"]]

    def sizes(self, node: Node) -> tuple[OpKind, dict[str, int | float]]:
        steps, batch, _ = node.input(0).shape
        hidden = node.input(OPERANDS).shape[1]
        return OpKind.Recurrent, {
            "steps": steps, "batch": batch, "hidden": hidden, "cell": node.attrs["cell"],
        }  # fmt: skip

    def integer_problem(self, node: Node) -> str | None:
        functions: tuple[CellFunction, ...] = node.attrs["functions"]
        if node.attrs["cell"] != RecurrentCell.Rnn and not functions[0].within(0, 1):
            return f"its gates are open by {functions[0].fn.name}, which is not between 0 and 1"
        bounded = all(f.within(-1, 1) for f in functions[1:])
        if node.attrs["cell"] == RecurrentCell.Lstm and not bounded:
            return f"its activation {functions[1].fn.name} or {functions[2].fn.name} is not bounded"
        return None

    def problem(self, node: Node, precision: Precision) -> str | None:
        return self.integer_problem(node) or super().problem(node, precision)

    def accumulator_problem(self, node: Node) -> str | None:
        return problem_of(fixed_of, node)

    def fixed_output(self, node: Node, dtype: np.dtype[Any]) -> QuantParams | None:
        """Hidden states within [-1, 1] are of scale 2^-15."""
        hidden = node.attrs["gives"][0] != RecurrentOutput.LastCell
        return UNIT if dtype == np.int16 and hidden and _bounded(node) else None

    def last_states(self, node: Node) -> dict[Value, list[Value]]:
        found: dict[Value, list[Value]] = {}
        for i, last in STARTS:
            bits = {last}
            if last == RecurrentOutput.LastHidden and node.input(0).shape[0] == 1:
                bits.add(RecurrentOutput.Hidden)
            start = node.inputs[i]
            if start is not None:
                gives = zip(node.attrs["gives"], node.outputs, strict=True)
                found[start] = [y for bit, y in gives if bit in bits]
        return found

    def inside(self, node: Node) -> dict[str, Node]:
        shown = {"gate_quant": RecurrentOutput.Gates}
        if node.attrs["cell"] == RecurrentCell.Lstm:
            shown["cell_quant"] = RecurrentOutput.Cells
        if not _bounded(node):
            shown["hidden_quant"] = RecurrentOutput.Hidden
        return {
            attr: self._giving(node, bit, f"{node.output.name}.{attr.removesuffix('_quant')}")
            for attr, bit in shown.items()
        }

    def alone(self, node: Node, i: int) -> Node:
        return self._giving(node, node.attrs["gives"][i], node.outputs[i].name)

    def _giving(self, node: Node, bit: RecurrentOutput, name: str) -> Node:
        """The same layer with this output alone, called so."""
        made = Node(node.op, node.inputs, [], {**node.attrs, "gives": (bit,)}, name)
        made.outputs = [Value(name, kind) for kind in self.infer(made)]
        return made

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        return integer_meaning(node, inputs[:OPERANDS])

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, weights, attrs = node.input(0), node.input(OPERANDS), node.attrs
        assert weights.const is not None
        flags: int = sum(flag for name, flag in FLAGS.items() if attrs[name])
        functions: tuple[CellFunction, ...] = attrs["functions"]
        kind, params = self.sizes(node)
        params["gives"] = sum(attrs["gives"])
        params["functions"] = sum(f.fn << 8 * i for i, f in enumerate(functions))
        operands = node.inputs[:OPERANDS]
        if x.dtype != np.float32:
            fixed = fixed_of(node)
            params |= fixed.fields(node, blob)
            if fixed.peepholes is not None:
                flags |= RecurrentFlag.Peepholes
            return Lowered(kind, params | {"flags": flags}, operands)
        bias, peepholes = (None if v is None else v.const for v in node.inputs[5:7])
        numbers = np.zeros(8)
        for i, f in enumerate(functions):
            numbers[i], numbers[3 + i] = f.alpha, f.beta
        numbers[6:] = attrs["clip"], attrs["cell_limit"]
        tail = [numbers.astype("<f4")]
        if peepholes is not None:
            flags |= RecurrentFlag.Peepholes
            tail.append(peepholes.astype("<f4"))
        params |= {
            "flags": flags, "table": blob.add(*tail), "weights": blob.add(weights.const),
            "requant.table": NO_BLOB if bias is None else blob.add(bias.astype("<f4")),
        }  # fmt: skip
        limits = {f"requant.{k}": v for k, v in Activation().limits(None).items()}
        return Lowered(kind, params | limits | WIDE, operands)


def _bounded(node: Node) -> bool:
    """Whether hidden states are within [-1, 1]."""
    functions: tuple[CellFunction, ...] = node.attrs["functions"]
    return functions[-1].within(-1, 1)


OPS = (Recurrent(),)
