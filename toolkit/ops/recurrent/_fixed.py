"""The integers of a Recurrent node, and what they mean (docs/arithmetic.md, "Recurrent layers")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import fixed_point
from ...format.schema import RecurrentCell, RecurrentFn, RecurrentOutput
from ...format.tables import MULTIPLIER_BITS
from ...ir import Array, Node, QuantParams
from ...numerics import WEIGHT_TYPES
from ...weight_codecs import Storage
from .._opdef import Blob
from .._weighted import Requantization16, add_weights, exact_product
from ..elementwise.lut import interpolated, make_table
from ._functions import CellFunction

Ints = NDArray[np.int64]

ONE_BITS = 15
"""1.0 is 2^15 in gates."""

MOST = 32767
GATE_LIMIT = 12.0
"""A Sigmoid of it is within 2^-17 of 1."""

ADD_MULTIPLIERS, ADD_SHIFT, CELL_SHIFT = 1 << 23, 40, 38
LIMITS = {w.codec: w.limit for w in WEIGHT_TYPES.values()}
CLIPPED = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5)
"""Parts of its largest weight that the steps of a row of few bits are tried for."""
STATES = (RecurrentOutput.Hidden, RecurrentOutput.LastHidden, RecurrentOutput.LastCell)
"""The outputs that integers have."""


@dataclass(frozen=True)
class Peepholes:
    """Of i, o and f: weights of the cell state, and what scales each gate's products to gates."""

    weights: NDArray[np.int16]  # [3, hidden]
    ratios: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Fixed:
    """`numbers` as the file has them."""

    weights: NDArray[np.int8]
    products: Requantization16
    gates: tuple[int, int, int]  # multipliers of inputs and products, shift
    hidden: tuple[int, int]
    cell: tuple[int, int]
    start_hidden: tuple[int, int]
    start_cell: tuple[int, int]
    outputs: tuple[tuple[int, int], ...]  # of the states among the outputs that there may be
    tables: NDArray[np.int16]  # [3, 513]
    peepholes: Peepholes | None = None

    def fields(self, node: Node, blob: Blob) -> dict[str, int | float]:
        """Fields of the file's operator."""
        numbers = [*self.gates, *self.hidden, *self.cell, *self.start_hidden, *self.start_cell]
        numbers += [number for pair in self.outputs for number in pair]
        tail = [np.array(numbers, "<i4"), self.tables.astype("<i2")]
        if (peep := self.peepholes) is not None:
            ratios = np.array(peep.ratios, "<i4")
            tail += [np.zeros(1, "<i2"), ratios, peep.weights.astype("<i2")]
        table = blob.add(*tail)
        weights = add_weights(node, blob, self.weights)
        return {**weights, "table": table, **self.products.fields(blob, 0)}


def fixed_of(node: Node) -> Fixed:
    """Raises ValueError for scales that leave the arithmetic."""
    x, one, gates = node.input(0).quant, QuantParams.int16(2.0**-ONE_BITS), gate_quant(node)
    assert x is not None
    hidden, cell = node.attrs.get("hidden_quant", one), cell_quant(node)
    weights, products, unit = _products(node, hidden)
    return Fixed(
        weights,
        products,
        _gates(x.scalar / gates.scalar, unit / gates.scalar),
        fixed_point.multiplier16(one.scalar**2 / hidden.scalar),
        _cell(one.scalar**2 / cell.scalar),
        _start(node, 2, hidden),
        _start(node, 3, cell),
        tuple(_output(node, bit, cell if bit == STATES[2] else hidden) for bit in STATES),
        _tables(node, gates, cell, hidden),
        _peepholes(node, gates, cell),
    )


def cell_quant(node: Node) -> QuantParams:
    """Of cell states, which saturate at their limit; that of [-1, 1] for a layer without."""
    found: QuantParams = node.attrs.get("cell_quant", QuantParams.int16(2.0**-ONE_BITS))
    limit = node.attrs["cell_limit"]
    return QuantParams.int16(min(found.scalar, limit / MOST)) if limit else found


def gate_quant(node: Node) -> QuantParams:
    """Of gates, before and after what peepholes add to them."""
    own = _own_gate_quant(node)
    if node.inputs[6] is None:
        return own
    peepholes = node.input(6).const
    assert peepholes is not None
    reach = float(np.abs(peepholes).max()) * cell_quant(node).scalar
    return QuantParams.int16(own.scalar + reach)


def _peepholes(node: Node, gates: QuantParams, cell: QuantParams) -> Peepholes | None:
    if node.inputs[6] is None:
        return None
    const = node.input(6).const
    assert const is not None
    real = const.reshape(3, -1).astype(np.float64)
    to_gates = cell.scalar / gates.scalar
    step = np.maximum(np.abs(real).max(axis=1) / MOST, 2.0**-39 / to_gates)
    weights = np.rint(real / step[:, None]).astype(np.int16)
    return Peepholes(weights, tuple(fixed_point.multiplier16(float(s) * to_gates) for s in step))


def _own_gate_quant(node: Node) -> QuantParams:
    """Of gates: where Sigmoid and Tanh give their limits, no further."""
    found: QuantParams = node.attrs["gate_quant"]
    functions: tuple[CellFunction, ...] = node.attrs["functions"][:2]
    if all(f.fn in (RecurrentFn.Sigmoid, RecurrentFn.Tanh) for f in functions):
        return QuantParams.int16(min(found.scalar, GATE_LIMIT / MOST))
    return found


def _products(node: Node, hidden: QuantParams) -> tuple[Array, Requantization16, float]:
    """Weights, what scales their products to int16, and the scale of those.

    It is the smallest of which no product can leave int16.
    """
    real, bias = node.input(4).const, node.inputs[5]
    assert real is not None
    offset = np.zeros(len(real)) if bias is None or bias.const is None else bias.const
    storage: Storage | None = node.attrs.get("storage")
    limit = WEIGHT_TYPES[8].limit if storage is None else LIMITS[storage.codec]
    step = np.abs(real).max(axis=1) / float(limit) if storage is None else _steps(real, limit)
    step = np.maximum(step, np.abs(offset) / hidden.scalar / 2.0**30)
    step = np.maximum(step.astype(np.float64), 2.0**-60)
    weights = np.clip(np.rint(real / step[:, None]), -limit, limit).astype(np.int8)
    whole = np.rint(offset / (step * hidden.scalar)).astype(np.int64)
    reach = np.abs(weights.astype(np.int64)).sum(axis=1) * MOST + np.abs(whole)
    if np.any(reach >= fixed_point.ACC_LIMIT16):
        raise ValueError(f"its sums of {real.shape[1]} products leave 40 bits")
    unit = max(float((reach * step).max()) * hidden.scalar / MOST, 2.0**-30)
    m, shift = fixed_point.multipliers16(
        fixed_point.of_bits(step * hidden.scalar / unit, MULTIPLIER_BITS)
    )
    return weights, Requantization16(whole, m, shift, -MOST, MOST), unit


def _steps(real: Array, limit: int) -> NDArray[np.float64]:
    """Of the rows [n] of weights, those of least squared error, which may clip the largest."""
    whole = np.maximum(np.abs(real).max(axis=1).astype(np.float64) / limit, 2.0**-60)
    best: NDArray[np.float64] = whole
    least = np.full(len(real), np.inf)
    for part in CLIPPED:
        grid = part * whole[:, None]
        error = np.sum((np.clip(np.rint(real / grid), -limit, limit) * grid - real) ** 2, axis=1)
        best, least = np.where(error < least, part * whole, best), np.minimum(error, least)
    return best


def _gates(of_inputs: float, of_products: float) -> tuple[int, int, int]:
    """As of Add: the multipliers and the shift that both have."""
    for shift in range(ADD_SHIFT, 0, -1):
        a, b = round(of_inputs * 2.0**shift), round(of_products * 2.0**shift)
        if a + b <= ADD_MULTIPLIERS:
            return a, b, shift
    raise ValueError("its inputs or products are far larger than the gates that they add up to")


def _cell(ratio: float) -> tuple[int, int]:
    """Of f(i) * g(c) in the cell state."""
    for shift in range(CELL_SHIFT, ONE_BITS - 1, -1):
        if round(ratio * 2.0**shift) <= ADD_MULTIPLIERS:
            return round(ratio * 2.0**shift), shift
    raise ValueError("its cell state is far smaller than what is added to it")


def _start(node: Node, i: int, state: QuantParams) -> tuple[int, int]:
    v = node.inputs[i]
    given = state if v is None or v.quant is None else v.quant
    return fixed_point.multiplier16(given.scalar / state.scalar)


def _output(node: Node, bit: RecurrentOutput, state: QuantParams) -> tuple[int, int]:
    outputs = dict(zip(node.attrs["gives"], node.outputs, strict=True))
    quant = outputs[bit].quant if bit in outputs else None
    return fixed_point.multiplier16(state.scalar / (quant or state).scalar)


def _tables(
    node: Node, gates: QuantParams, cell: QuantParams, hidden: QuantParams
) -> NDArray[np.int16]:
    one, clip = QuantParams.int16(2.0**-ONE_BITS), float(node.attrs["clip"])
    functions: tuple[CellFunction, ...] = node.attrs["functions"]
    quants = {
        RecurrentCell.Rnn: [(gates, hidden)],
        RecurrentCell.Gru: [(gates, one), (gates, hidden)],
        RecurrentCell.Lstm: [(gates, one), (gates, one), (cell, one)],
    }[node.attrs["cell"]]

    def clipped(f: CellFunction) -> Any:
        return lambda x: f(np.clip(x, -clip, clip) if clip > 0 else x)

    found = np.zeros((3, 513), np.int16)
    for i, (f, (a, b)) in enumerate(zip(functions, quants, strict=True)):
        found[i] = make_table(clipped(f) if a is gates else f, a, b)
    return found


def integer_meaning(node: Node, inputs: list[Array | None]) -> list[Array]:
    """The outputs, from the four operands."""
    x, lengths, hidden, cell = inputs
    assert x is not None
    layer = _Run(node, fixed_of(node), x.shape[1])
    steps, batch, _ = x.shape
    if hidden is not None:
        layer.hidden = _scaled(hidden, layer.fixed.start_hidden)
    if cell is not None:
        layer.cell = _scaled(cell, layer.fixed.start_cell)
    ends = np.full(batch, steps) if lengths is None else np.clip(lengths, 0, steps)
    every = np.zeros((steps, batch, layer.hidden.shape[1]), np.int64)
    for step in range(steps):
        alive = step < ends
        time = np.where(node.attrs["reverse"], ends - 1 - step, step)[alive]
        before = layer.hidden, layer.cell
        gates = np.zeros((batch, x.shape[2]), np.int64)
        gates[alive] = x[time, np.flatnonzero(alive)]
        layer.step(gates)
        layer.hidden = np.where(alive[:, None], layer.hidden, before[0])
        layer.cell = np.where(alive[:, None], layer.cell, before[1])
        every[time, np.flatnonzero(alive)] = layer.hidden[alive]
    results = {
        RecurrentOutput.Hidden: every, RecurrentOutput.LastHidden: layer.hidden,
        RecurrentOutput.LastCell: layer.cell,
    }  # fmt: skip
    ratios = dict(zip(STATES, layer.fixed.outputs, strict=True))
    return [_scaled(results[bit], ratios[bit]).astype(np.int16) for bit in node.attrs["gives"]]


def _clamped(v: Ints) -> Ints:
    return np.clip(v, -MOST, MOST)


def _scaled(v: Array, by: tuple[int, int]) -> Ints:
    m, shift = by
    return fixed_point.requantize16(v, m, shift, -MOST, MOST).astype(np.int64)


def _times(a: Ints, b: Ints) -> Ints:
    """a * b, a in 2^-15."""
    return _clamped((a * b + (1 << (ONE_BITS - 1))) >> ONE_BITS)


class _Run:
    """The states [batch, hidden] between two steps."""

    def __init__(self, node: Node, fixed: Fixed, batch: int) -> None:
        self.attrs, self.fixed = node.attrs, fixed
        self.size = fixed.weights.shape[1]
        self.hidden: Ints = np.zeros((batch, self.size), np.int64)
        self.cell: Ints = np.zeros((batch, self.size), np.int64)

    def step(self, x: Ints) -> None:
        cells = {
            RecurrentCell.Rnn: self._rnn,
            RecurrentCell.Gru: self._gru,
            RecurrentCell.Lstm: self._lstm,
        }
        cells[self.attrs["cell"]](x)

    def _products(self, hidden: Ints, rows: slice) -> Ints:
        p = self.fixed.products
        acc = exact_product(hidden, self.fixed.weights[rows]) + p.bias[rows]
        return fixed_point.requantize16(
            acc, p.multiplier[rows], p.shift[rows], p.qmin, p.qmax
        ).astype(np.int64)

    def _sum(self, x: Ints, products: Ints) -> Ints:
        a, b, shift = self.fixed.gates
        return _clamped((x * a + products * b + (np.int64(1) << (shift - 1))) >> shift)

    def _apply(self, which: int, gates: Ints) -> Ints:
        return interpolated(gates, self.fixed.tables[which])

    def _rnn(self, x: Ints) -> None:
        self.hidden = self._apply(0, self._sum(x, self._products(self.hidden, slice(None))))

    def _gru(self, x: Ints) -> None:
        n = self.size
        gates = self._apply(0, self._sum(x[:, : 2 * n], self._products(self.hidden, slice(2 * n))))
        update, reset = gates[:, :n], gates[:, n:]
        if self.attrs["reset_after"]:
            products = _times(reset, self._products(self.hidden, slice(2 * n, None)))
        else:
            products = self._products(_times(reset, self.hidden), slice(2 * n, None))
        following = self._apply(1, self._sum(x[:, 2 * n :], products))
        total = ((1 << ONE_BITS) - update) * following + update * self.hidden
        self.hidden = _clamped((total + (1 << (ONE_BITS - 1))) >> ONE_BITS)

    def _peep(self, gate: Ints, which: int) -> Ints:
        peep = self.fixed.peepholes
        if peep is None:
            return gate
        return _clamped(gate + _scaled(peep.weights[which] * self.cell, peep.ratios[which]))

    def _lstm(self, x: Ints) -> None:
        gates = self._sum(x, self._products(self.hidden, slice(None)))
        i, o, f, g = np.split(gates, 4, axis=1)
        i, f = self._peep(i, 0), self._peep(f, 2)
        i, g = self._apply(0, i), self._apply(1, g)
        f = _clamped((1 << ONE_BITS) - i) if self.attrs["coupled"] else self._apply(0, f)
        m, shift = self.fixed.cell
        total = (f * self.cell << (shift - ONE_BITS)) + i * g * m
        self.cell = _clamped((total + (np.int64(1) << (shift - 1))) >> shift)
        o = self._apply(0, self._peep(o, 1))
        self.hidden = _scaled(o * self._apply(2, self.cell), self.fixed.hidden)
