"""RNN, GRU and LSTM whose weights the model computes: their steps as plain operators."""

from __future__ import annotations

from ...format.schema import RecurrentCell, RecurrentFn
from ...ir import Value
from .._opdef import Builder, Unsupported
from ..move.movement import take
from ._functions import CellFunction

MOST_STEPS = 64

PLAIN = {RecurrentFn.Sigmoid: "Sigmoid", RecurrentFn.Tanh: "Tanh", RecurrentFn.Softsign: "Softsign"}
"""Functions without attributes that are an operator of the same name."""


class Unrolled:
    """One direction."""

    def __init__(
        self, b: Builder, cell: RecurrentCell, hidden: int, functions: tuple[CellFunction, ...],
        after: bool,
    ) -> None:  # fmt: skip
        unknown = [f.fn.name for f in functions if f.fn not in PLAIN]
        if unknown:
            raise Unsupported(
                f"its weights are computed at run time, with the activation {unknown[0]}",
                "make the weights constant",
            )
        self.b, self.cell, self.hidden, self.after = b, cell, hidden, after
        self.functions = [PLAIN[f.fn] for f in functions]

    def run(
        self, x: Value, weights: list[Value], biases: list[Value] | None,
        start: list[Value], reverse: bool,
    ) -> list[Value]:  # fmt: skip
        """All hidden states [steps, batch, hidden], the last, and the last cell state.

        x [steps, batch, inputs]; weights and biases of the inputs and of the hidden state; start:
        hidden and cell state.
        """
        steps, batch, size = x.shape
        if steps > MOST_STEPS:
            raise Unsupported(
                f"its weights are computed at run time, and it has {steps} steps; {MOST_STEPS} are "
                "supported",
                "make the weights constant",
            )
        (h, c), rows = start, []
        order = range(steps)[::-1] if reverse else range(steps)
        for i in order:
            row = take(self.b, x, [range(i, i + 1), range(batch), range(size)])
            gates = self._product(self.b.reshape(row, (batch, size)), weights[0], biases, 0)
            h, c = self._step(gates, h, c, weights[1], biases)
            rows.append(self.b.reshape(h, (1, batch, self.hidden)))
        rows = rows[::-1] if reverse else rows
        whole = rows[0] if len(rows) == 1 else self.b.emit("Concat", rows, axis=0)
        return [whole, h, c]

    def _product(self, x: Value, w: Value, biases: list[Value] | None, i: int) -> Value:
        y = self.b.emit("MatMul", [x, w], transpose_b=True)
        return y if biases is None else self.b.emit("Add", [y, biases[i]])

    def _apply(self, which: int, *terms: Value) -> Value:
        total = terms[0] if len(terms) == 1 else self.b.emit("Add", terms)
        return self.b.emit(self.functions[which], [total])

    def _times(self, a: Value, b: Value) -> Value:
        return self.b.emit("Mul", [a, b])

    def _columns(self, v: Value, first: int, count: int = 1) -> Value:
        n = self.hidden
        return take(self.b, v, [range(v.shape[0]), range(first * n, (first + count) * n)])

    def _step(
        self, x: Value, h: Value, c: Value, w: Value, biases: list[Value] | None
    ) -> tuple[Value, Value]:
        if self.cell != RecurrentCell.Gru:
            total = self.b.emit("Add", [x, self._product(h, w, biases, 1)])
            if self.cell == RecurrentCell.Rnn:
                return self._apply(0, total), c
            i, o, f = (self._apply(0, self._columns(total, k)) for k in range(3))
            new = self._times(i, self._apply(1, self._columns(total, 3)))
            c = self.b.emit("Add", [self._times(f, c), new])
            return self._times(o, self._apply(2, c)), c
        n = self.hidden
        products = self._product(h, w, biases, 1)
        z, r = (self._apply(0, self._columns(x, k), self._columns(products, k)) for k in (0, 1))
        if self.after:
            last = self._times(r, self._columns(products, 2))
        else:
            rows = take(self.b, w, [range(2 * n, 3 * n), range(n)])
            bias = None
            if biases is not None:
                bias = [biases[0], take(self.b, biases[1], [range(2 * n, 3 * n)])]
            last = self._product(self._times(r, h), rows, bias, 1)
        new = self._apply(1, self._columns(x, 2), last)
        kept = self._times(z, self.b.emit("Sub", [h, new]))
        return self.b.emit("Add", [new, kept]), c
