"""Loops and Scans whose step is that of an RNN, GRU or LSTM -> these operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from ...ir import Graph, TensorType, Value, constant
from ...ops import FROM_ONNX
from ...ops._opdef import OnnxNode
from ...ops.control.regions import COUNT
from ...ops.move.movement import take
from ..builder import GraphBuilder
from .cells import Cell, cell_of, state
from .packing import Packing
from .regions import NoRegion, Regions
from .step import Counter, Rows, Step
from .sums import MASK, NoSum, Sum

FUNCTIONS = frozenset(("Tanh", "Sigmoid", "HardSigmoid", "Relu", "Clip", "Softsign"))
PRODUCTS = frozenset(("MatMul", "Gemm"))

ZERO = -1
"""Of what is collected: the hidden state, and 0 where the mask is."""

Read = Callable[[Value, list[Value], list[Value]], list[Any]]
"""What a step makes, its new states first, of its number, its states and its rows."""


@dataclass(frozen=True)
class _Step:
    """One step in a graph of its own: what it is given, and what it makes of it."""

    graph: Graph
    at: Value
    states: list[Value]
    rows: list[Value]
    made: list[Value]


class Layers:
    """Builds them, of steps that `regions` reads into graphs."""

    def __init__(self, build: GraphBuilder, regions: Regions) -> None:
        self._build, self._regions = build, regions

    def loop(
        self, body: onnx.GraphProto, inputs: Sequence[Any], scope: Mapping[str, Any], steps: int,
        counted: bool,
    ) -> list[Value] | None:  # fmt: skip
        """The outputs of a Loop of so many steps; None if they are not those of such a layer. If it
        is `counted`, its condition does not matter."""

        def read(at: Value, states: list[Value], _: list[Value]) -> list[Any]:
            true = constant(np.array(True), "")
            mine = [self._build.reshape(at, ()), true, *states]
            names = (i.name for i in body.input)
            again, *found = self._regions.read(
                body, {**scope, **dict(zip(names, mine, strict=True))}
            )
            if not counted and (again.const is None or not again.const.all()):
                raise NoRegion
            return found

        first = inputs[1] if len(inputs) > 1 else None
        if not counted and first is not None and not first.const.all():
            return None
        return self._made(read, inputs[2:], [], steps)

    def scan(
        self, body: onnx.GraphProto, starts: Sequence[Any],
        sources: Sequence[tuple[Value, int, bool]], scope: Mapping[str, Any],
        backwards: Sequence[int],
    ) -> list[Value] | None:  # fmt: skip
        """The outputs of a Scan, as Regions.scan gives them; None if they are not those of such a
        layer."""
        steps = sources[0][0].shape[sources[0][1]]

        def read(_: Value, states: list[Value], rows: list[Value]) -> list[Any]:
            names = (i.name for i in body.input)
            mine = dict(zip(names, [*states, *rows], strict=True))
            return list(self._regions.read(body, {**scope, **mine}))

        ways = {True: Counter(-1, steps - 1), False: Counter(1, 0)}
        rows = [Rows(v, axis, ways[back]) for v, axis, back in sources]
        made = self._made(read, starts, rows, steps)
        if made is None:
            return None
        whole = zip(made[len(starts) :], backwards, strict=True)
        turned = range(steps - 1, -1, -1)
        return [
            *made[: len(starts)],
            *(
                take(self._build, v, [turned, *map(range, v.shape[1:])]) if back else v
                for v, back in whole
            ),
        ]

    def _made(
        self, read: Read, starts: Sequence[Any], rows: Sequence[Rows], steps: int
    ) -> list[Value] | None:
        if not steps or not all(isinstance(v, Value) and v.type.size for v in starts):
            return None
        try:
            return self._of_steps(read, list(starts), rows, steps)
        except (NoRegion, NoSum):
            return None

    def _of_steps(
        self, read: Read, starts: list[Value], rows: Sequence[Rows], steps: int
    ) -> list[Value]:
        scope = self._build.scope
        step = self._step(read, starts, rows)
        self._build.scope = scope
        reals = [i for i, v in enumerate(starts) if v.dtype == np.float32]
        counters = _counters(step, {i: v for i, v in enumerate(starts) if i not in reals})
        shapes = {(v.type.size // v.shape[-1], v.shape[-1]) for v in (starts[i] for i in reals)}
        if len(shapes) != 1:
            raise NoSum
        ((batch, hidden),) = shapes
        known: dict[Value, Sum | Counter | Rows] = {step.at: Counter(1, 0)}
        known |= {step.states[i]: c for i, c in counters.items()}
        known |= dict(zip(step.rows, rows, strict=True))

        def read_as(order: list[int]) -> tuple[Step, list[Sum]]:
            named = {step.states[i]: Sum.of(state(k), hidden) for k, i in enumerate(order)}
            sums = Step(step.graph, known | named, batch)
            news = [sums.sum_of(step.made[i]) for i in order]
            if any(new.is_masked for new in news):
                news = [new.unmasked(state(k)) for k, new in enumerate(news)]
            return sums, news

        _, news = read_as(reals)
        read_by = set[str]().union(*(new.names() for new in news))
        order = [i for k, i in enumerate(reals) if state(k) in read_by]
        echoes = [i for i in reals if i not in order]  # what they are, another state is too
        sums, news = read_as([*order, *echoes])
        cell = cell_of(news[: len(order)])
        new = news[cell.states[0]]
        if any(echo != new for echo in news[len(order) :]):
            raise NoSum
        same = [order[cell.states[0]], *echoes]
        rows_of = {i: sums.sum_of(step.made[i]) for i in same}
        if sums.is_masked:
            rows_of[ZERO] = Sum({}, {(MASK,): np.ones(hidden)}, np.zeros(hidden)) * new
        shown = [_like(sums.sum_of(v), rows_of) for v in step.made[len(starts) :]]

        b, of_cell = self._build, [order[k] for k in cell.states]
        x, begins = self._rows(sums.rows(), steps, batch), [starts[i] for i in of_cell]
        packing = None
        if sums.is_masked:
            packing = Packing(b, b.reshape(self._rows(sums.mask(), steps, batch), (steps, batch)))
            x = packing.packed(x)
        lengths = None if packing is None else packing.lengths
        every, *last = self._layer(cell, x, begins, bool(shown or echoes), lengths)
        every = b.reshape(every, (steps, batch, hidden))
        found = dict(zip(of_cell, last, strict=True))
        whole = dict.fromkeys([*shown, *echoes], every)
        if packing is not None:
            keeps = {i for i in reals if sums.sum_of(step.made[i]).products}
            if not keeps.issuperset(order):
                raise NoSum
            whole = {i: packing.unpacked(every, starts[i] if i in keeps else None) for i in whole}
        for i in echoes:
            found[i] = take(b, whole[i], [range(steps - 1, steps), range(batch), range(hidden)])
        found = {i: b.reshape(v, starts[i].shape) for i, v in found.items()}
        for i, c in counters.items():
            array = np.full(starts[i].shape, c.by * steps + c.start, starts[i].dtype)
            found[i] = Value("", starts[i].type, array)
        pairs = zip(shown, step.made[len(starts) :], strict=True)
        collected = [b.reshape(whole[i], (steps, *v.shape)) for i, v in pairs]
        return [*(found[i] for i in range(len(starts))), *collected]

    def _step(self, read: Read, starts: list[Value], rows: Sequence[Rows]) -> _Step:
        slices = [TensorType(r.whole.dtype, _without(r.whole.shape, r.axis)) for r in rows]
        kinds = [self._regions.served(v).type for v in starts]
        with self._regions.inside([COUNT, *kinds, *slices]) as body:
            at, *given = body.inputs
            states, inner = given[: len(starts)], given[len(starts) :]
            made = read(at, states, inner)
        if not all(isinstance(v, Value) for v in made):
            raise NoSum
        return _Step(body.graph, at, states, inner, made)

    def _rows(self, rows: Rows, steps: int, batch: int) -> Value:
        """What the steps read, [steps, batch, inputs]."""
        b, x, at = self._build, rows.whole, rows.at
        size = x.shape[rows.axis]
        which = range(at.start, at.start + at.by * steps, at.by)
        if which[0] < 0 and which[-1] < 0:
            which = range(which.start + size, which.stop + size, at.by)
        if not (0 <= which[0] < size and 0 <= which[-1] < size):
            raise NoSum
        x = b.transpose(x, [rows.axis, *(i for i in range(len(x.shape)) if i != rows.axis)])
        x = take(b, x, [which, *(range(d) for d in x.shape[1:])])
        return b.reshape(x, (steps, batch, x.type.size // (steps * batch)))

    def _layer(
        self, cell: Cell, x: Value, starts: list[Value], every: bool, lengths: Value | None
    ) -> list[Value]:
        """All hidden states, and the last of each state."""
        b, scope = self._build, self._build.scope
        given = [b.reshape(v, (1, *x.shape[1:2], v.shape[-1])) for v in starts]
        arrays = [b.constant(v[np.newaxis]) for v in (cell.weights, cell.recurrence, cell.biases)]
        attrs: dict[str, Any] = {
            "hidden_size": cell.recurrence.shape[-1],
            "activations": [fn.name for fn in cell.functions],
        }
        if cell.after:
            attrs["linear_before_reset"] = 1
        outputs = [scope if every else "", *(f"{scope}.{k}" for k in "hc"[: len(starts)])]
        node = OnnxNode(cell.op, "", 22, scope, [x, *arrays, lengths, *given], outputs, attrs)
        return FROM_ONNX[cell.op].from_onnx(b, node)


def may_be_layer(body: onnx.GraphProto) -> bool:
    """Whether a step is worth reading to find out."""
    names = {node.op_type for node in body.node}
    return bool(names & FUNCTIONS) and bool(names & PRODUCTS)


def _counters(step: _Step, starts: Mapping[int, Value]) -> dict[int, Counter]:
    """States that count, by index. Raises NoSum if there are others."""
    begin = {}
    for i, v in starts.items():
        if v.const is None or v.const.size != 1 or v.const.dtype.kind != "i":
            raise NoSum
        begin[i] = int(v.const.ravel()[0])
    first = {step.at: Counter(0, 0), **{step.states[i]: Counter(0, s) for i, s in begin.items()}}
    found = Step(step.graph, first, 1)
    by = {i: found.counter_of(step.made[i]).start - s for i, s in begin.items()}
    counters = {i: Counter(by[i], s) for i, s in begin.items()}
    always = Step(
        step.graph, {step.at: Counter(1, 0), **{step.states[i]: c for i, c in counters.items()}}, 1
    )
    if any(always.counter_of(step.made[i]) != c.next for i, c in counters.items()):
        raise NoSum
    return counters


def _like(row: Sum, states: Mapping[int, Sum]) -> int:
    """Which state the row shows. Raises NoSum if none."""
    for i, found in states.items():
        if row == found:
            return i
    raise NoSum


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])
