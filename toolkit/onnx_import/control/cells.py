"""The step of an RNN, GRU or LSTM layer written out -> its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...format.schema import RecurrentFn
from ...ir import Array
from .step import X
from .sums import Factor, Function, NoSum, Real, Sum

NEAR = 4e-7
"""What the roundings of a factor in float32 may leave of 1."""

ALPHA, BETA = 0.2, 0.5
"""Of ONNX's HardSigmoid."""


@dataclass(frozen=True)
class Cell:
    """An ONNX layer: the operator and its arrays of one direction. `states` are the loop's that
    are the hidden state and, of an LSTM, the cell's."""

    op: str
    states: tuple[int, ...]
    weights: Array  # [gates * hidden, inputs]
    recurrence: Array
    biases: Array  # those of the inputs, then those of the hidden state
    functions: tuple[RecurrentFn, ...]
    after: bool = False


@dataclass(frozen=True)
class _Gate:
    of_x: Real | None  # [inputs, hidden]
    of_h: Real | None
    bias: Real
    bias_h: Real | None = None


def state(i: int) -> str:
    """What a sum calls state `i` of the loop."""
    return f"state {i}"


def cell_of(news: Sequence[Sum]) -> Cell:
    """What gives the states these new values. Raises NoSum."""
    if len(news) == 2:
        h, c = (0, 1) if any(_is_of(f, news[1]) for k in news[0].terms for f in k) else (1, 0)
        return _lstm(news, h, c)
    if len(news) != 1:
        raise NoSum
    if len(news[0].terms) > 1:
        return _gru(news[0], state(0))
    (f,) = _only(news[0], 1)
    return _cell("RNN", (0,), [_gate(_function(f).of, state(0))], (_function(f),))


def _lstm(news: Sequence[Sum], h: int, c: int) -> Cell:
    """c' = f * c + i * g, h' = o * k(c')."""
    new, cell, old = news[h], news[c], Sum.of(state(c), news[c].size)
    if len(cell.terms) != 2 or cell.products or cell.bias.any():
        raise NoSum
    pairs = _pairs(cell)
    kept, others = pairs if old in pairs[0] else pairs[::-1]
    forget = _other(kept, old)
    last, out = _only(new, 2)
    if not _is_of(last, cell):
        last, out = out, last
    if not _is_of(last, cell):
        raise NoSum
    i, g = others if _alike(others[0], forget) else others[::-1]
    gates = [_function(f) for f in (i, out, forget, g)]
    if not all(_alike(f, forget) for f in gates[:3]):
        raise NoSum
    made = [_gate(f.of, state(h)) for f in gates]
    return _cell("LSTM", (h, c), made, (forget, gates[3], _function(last)))


def _gru(new: Sum, h: str) -> Cell:
    """h' = (1 - z) * n + z * h, or with 1 - z for z."""
    old = Sum.of(h, new.size)
    alone = {k[0]: v for k, v in new.terms.items() if len(k) == 1}
    pairs = {k: v for k, v in new.terms.items() if len(k) == 2}
    if len(pairs) != 2 or len(alone) + len(pairs) != len(new.terms) or new.bias.any():
        raise NoSum
    of_old, of_new = sorted(pairs, key=lambda k: old not in k)
    z = _other(of_old, old)
    n = _other(of_new, z)
    update = _gate(z.of, h)
    if not new.products:
        fits = alone.keys() == {n} and _is(alone[n], 1) and _is(pairs[of_old], 1)
        fits = fits and _is(pairs[of_new], -1)
    else:
        update = _opposite(z, update)
        fits = not alone and new.products.keys() == {h} and _is(new.products[h], np.eye(new.size))
        fits = fits and _is(pairs[of_old], -1) and _is(pairs[of_new], 1)
    reset, candidate, after = _candidate(n.of, h)
    if not fits or not _alike(reset, z):
        raise NoSum
    return _cell("GRU", (0,), [update, _gate(reset.of, h), candidate], (z, n), after)


def _candidate(s: Sum, h: str) -> tuple[Function, _Gate, bool]:
    """The reset gate of a GRU, the gate of its new state, and whether the reset is behind the
    product with the weights."""
    if s.terms:  # x + r * (h @ w + b)
        factors = _pairs(s)[0]
        reset, product = factors if isinstance(factors[1], Sum) else factors[::-1]
        if len(s.terms) > 1 or not isinstance(product, Sum) or product.products.keys() != {h}:
            raise NoSum
        if not s.products.keys() <= {X}:
            raise NoSum
        gate = _Gate(s.products.get(X), product.products[h], s.bias, product.bias)
        return _function(reset), gate, True
    inner = [leaf for leaf in s.products if isinstance(leaf, Sum)]  # x + (r * h) @ w
    if len(inner) != 1 or not s.products.keys() <= {X, inner[0]}:
        raise NoSum
    reset = _other(_only(inner[0], 2), Sum.of(h, inner[0].size))
    return _function(reset), _Gate(s.products.get(X), s.products[inner[0]], s.bias), False


def _only(s: Sum, count: int) -> tuple[Factor, ...]:
    """The factors of the one term that it is."""
    if len(s.terms) != 1 or s.products or s.bias.any():
        raise NoSum
    ((factors, coefficient),) = s.terms.items()
    if len(factors) != count or not _is(coefficient, 1):
        raise NoSum
    return factors


def _pairs(s: Sum) -> list[tuple[Factor, ...]]:
    """The terms, all of two factors."""
    if any(len(k) != 2 or not _is(v, 1) for k, v in s.terms.items()):
        raise NoSum
    return list(s.terms)


def _other(pair: Sequence[Factor], one: Factor) -> Function:
    if one not in pair:
        raise NoSum
    return _function(pair[1] if pair[0] == one else pair[0])


def _function(factor: Factor) -> Function:
    if not isinstance(factor, Function):
        raise NoSum
    return factor


def _is_of(factor: Factor, s: Sum) -> bool:
    return isinstance(factor, Function) and factor.of == s


def _gate(s: Sum, h: str) -> _Gate:
    if s.terms or not s.products.keys() <= {X, h}:
        raise NoSum
    return _Gate(s.products.get(X), s.products.get(h), s.bias)


def _opposite(f: Function, gate: _Gate) -> _Gate:
    """The gate of 1 - f."""
    ends = {RecurrentFn.Sigmoid: 0.0, RecurrentFn.HardSigmoid: 1.0}
    if f.fn not in ends:
        raise NoSum
    of_x, of_h = (None if m is None else -m for m in (gate.of_x, gate.of_h))
    return _Gate(of_x, of_h, ends[f.fn] - gate.bias)


def _alike(a: Factor, b: Function) -> bool:
    return isinstance(a, Function) and a.fn == b.fn


def _is(v: Real, number: Real | float) -> bool:
    return bool(np.all(np.abs(v - number) <= NEAR))


FUNCTION_OF_GATE = {"RNN": (0,), "GRU": (0, 0, 1), "LSTM": (0, 0, 0, 1)}


def _cell(
    op: str, states: tuple[int, ...], gates: Sequence[_Gate], functions: tuple[Function, ...],
    after: bool = False,
) -> Cell:  # fmt: skip
    """The layer of these gates, in ONNX's order."""
    hidden = len(gates[0].bias)
    inputs = next((len(g.of_x) for g in gates if g.of_x is not None), None)
    if inputs is None or any(g.of_h is not None and len(g.of_h) != hidden for g in gates):
        raise NoSum
    made = [_of_onnx(functions[k], g) for k, g in zip(FUNCTION_OF_GATE[op], gates, strict=True)]
    weights = [np.zeros((inputs, hidden)) if g.of_x is None else g.of_x for g in made]
    recurrence = [np.zeros((hidden, hidden)) if g.of_h is None else g.of_h for g in made]
    biases = [g.bias for g in made]
    biases += [np.zeros(hidden) if g.bias_h is None else g.bias_h for g in made]
    return Cell(
        op, states, _float(np.hstack(weights).T), _float(np.hstack(recurrence).T),
        _float(np.concatenate(biases)), tuple(f.fn for f in functions), after,
    )  # fmt: skip


def _of_onnx(f: Function, gate: _Gate) -> _Gate:
    """The gate in front of a HardSigmoid of ALPHA and BETA, where it was of 1 and 0."""
    if f.fn != RecurrentFn.HardSigmoid:
        return gate
    if gate.bias_h is not None:
        raise NoSum
    of_x, of_h = (None if m is None else m / ALPHA for m in (gate.of_x, gate.of_h))
    return _Gate(of_x, of_h, (gate.bias - BETA) / ALPHA)


def _float(v: Real) -> Array:
    return np.ascontiguousarray(v, np.float32)
