"""If, Loop and Scan -> nodes with graphs inside (ops/control/regions.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import onnx

from ...errors import Problem
from ...format.schema import ScatterFn
from ...ir import Graph, Node, Port, TensorType, Value, constant
from ...numerics import INT32, OF_NUMPY, UINT8
from ...ops._formula import Term
from ...ops.control.regions import COUNT, Branch, Loop
from ...ops.convert.cast import cast_to
from ..attributes import runtime_array
from ..builder import GraphBuilder

MOST_STEPS = 1024
"""Of a loop with a length that is not known, which collects something."""

LONGEST = 1 << 20
"""Of one that collects nothing."""

Scope = dict[str, Any]
Walk = Callable[[onnx.GraphProto, Scope], None]


class NoRegion(Exception):  # noqa: N818 - a verdict, not a fault
    """The body cannot be a graph of its own: what it makes differs from step to step."""


@dataclass
class Body:
    """A graph inside, its own inputs, and what it makes."""

    graph: Graph
    inputs: list[Value]
    made: list[Value] = field(default_factory=list)


class Regions:
    """Makes Loops and Branches with a builder. `walk` reads a body; what it cannot read it adds to
    `problems`."""

    def __init__(self, build: GraphBuilder, walk: Walk, problems: list[Problem]) -> None:
        self._build, self._walk, self._problems = build, walk, problems

    def branch(
        self, node: onnx.NodeProto, condition: Value, bodies: Sequence[onnx.GraphProto],
        scope: Scope,
    ) -> list[Value]:  # fmt: skip
        """The outputs of an If. Raises NoRegion."""
        flag = self._flag(condition)
        read = []
        for proto in bodies:
            with self.inside([]) as body:
                found = self.read(proto, dict(scope))
                body.made = [self._computed(self.served(v)) for v in found]
            read.append(body)
        yes, no = ([v.type for v in body.made] for body in read)
        if yes != no:
            raise NoRegion
        given = self._close(read)
        return self._node(
            Branch.name, [flag, *given], yes, list(node.output), yes=read[0].graph, no=read[1].graph
        )

    def loop(
        self,
        body: onnx.GraphProto,
        inputs: Sequence[Value | None],
        scope: Scope,
        known: int | None,
        counted: bool,
    ) -> list[Value]:
        """The outputs of a Loop, which collects along a first axis; `known` is how many steps it
        takes at most, if something says so. If it is `counted`, it takes all that `inputs` say,
        and its condition is not computed. Raises NoRegion."""
        trips, condition = [*inputs, None, None][:2]
        starts = [self.served(v) for v in inputs[2:]]
        count, limit = self._trips(trips)
        collected = len(body.output) - 1 - len(starts)
        most = next(
            n for n in (limit, known, MOST_STEPS if collected else LONGEST) if n is not None
        )

        def step(at: Value, states: list[Value]) -> list[Any]:
            inner = dict(scope)
            true = constant(np.array(True), "")  # else there would be no step
            mine = [self._build.reshape(at, ()), true, *states]
            inner.update(zip((i.name for i in body.input), mine, strict=True))
            again, *found = self.read(body, inner)
            return [True if counted else again, *found]

        go = constant(np.ones(1, np.uint8), "") if condition is None else condition
        made, steps = self._made(
            step, starts, most, count, self._flag(go), strict=limit is None, index=lambda at: at
        )
        bounded = count is not None or condition is not None or made.asked
        for v in made.collected if bounded else ():
            self._build.bounded(v, steps, 0)
        return [*made.carried, *made.collected]

    def scan(
        self,
        body: onnx.GraphProto,
        starts: Sequence[Value],
        scanned: Sequence[tuple[Value, int, bool]],
        scope: Scope,
        backwards: Sequence[bool],
    ) -> list[Value]:
        """The outputs of a Scan, what it collects along a first axis; `scanned` are inputs, each
        with its axis and whether it is read from the end. Raises NoRegion."""
        b = self._build
        steps = scanned[0][0].shape[scanned[0][1]]
        sources = [(self.served(v), axis, back) for v, axis, back in scanned]

        def step(at: Value, states: list[Value]) -> list[Any]:
            inner, slices = dict(scope), []
            for v, axis, back in sources:
                found = b.emit("Gather", [v, _turned(b, at, steps, back)], axis=axis)
                slices.append(b.reshape(found, (*v.shape[:axis], *v.shape[axis + 1 :])))
            names = (i.name for i in body.input)
            inner.update(zip(names, [*states, *slices], strict=True))
            return [True, *self.read(body, inner)]

        turned = iter(backwards)
        made, _ = self._made(
            step, [self.served(v) for v in starts], steps, None, None, strict=False,
            index=lambda at: _turned(b, at, steps, next(turned)),
        )  # fmt: skip
        return [*made.carried, *made.collected]

    def _made(
        self,
        step: Callable[[Value, list[Value]], list[Any]],
        starts: list[Value],
        most: int,
        count: Value | None,
        flag: Value | None,
        strict: bool,
        index: Callable[[Value], Value],
    ) -> tuple[_Made, Value]:
        """A Loop of this step, what it makes, and how many steps it took."""
        b = self._build
        with self.inside([COUNT, *(v.type for v in starts)]) as body:
            at, *states = body.inputs
            again, *found = step(at, states)
            asked = isinstance(again, Value) and again.const is None
            asked = asked or (flag is not None and flag.const is None)
            news = [self.served(v) for v in found]
            carried, rows = news[: len(starts)], news[len(starts) :]
            if [v.type for v in carried] != [v.type for v in starts]:
                raise NoRegion
            collected = []
            for row in rows:
                wide = cast_to(b, row, onnx.TensorProto.INT32) if row.dtype == UINT8 else row
                inner = prod(row.shape)
                kind = TensorType(wide.dtype, (most, inner))
                into = self._input(body, kind)
                new = b.emit(
                    "Scatter", [into, index(at), b.reshape(wide, (1, inner))],
                    fn=ScatterFn.Replace,
                )  # fmt: skip
                collected.append(new)
                starts.append(_zeros(kind))
            if isinstance(again, Value):
                again = self._flag(again)
            flags = [again if isinstance(again, Value) else constant(np.ones(1, np.uint8), "")]
            made = [*(flags if asked else []), *carried, *collected]
            body.made = [self._computed(v) for v in made]
        first = flag if flag is not None else constant(np.ones(1, np.uint8), "")
        if not asked and first.const is not None and not first.const.all():
            most = 0
        given = self._close([body])
        if most < 1 or (strict and count is None and not asked):  # it never ends
            raise NoRegion
        results = self._node(
            Loop.name, [count, first if asked else None, *starts, *given],
            [*(v.type for v in starts), COUNT], [], body=body.graph, most=most, strict=strict,
            asked=asked,
        )  # fmt: skip
        *finals, steps = results
        whole = []
        for row, v in zip(rows, finals[len(carried) :], strict=True):
            v = cast_to(b, v, onnx.TensorProto.UINT8) if row.dtype == UINT8 else v
            whole.append(b.reshape(v, (most, *row.shape)))
        return _Made(finals[: len(carried)], whole, asked), steps

    @contextmanager
    def inside(self, types: Sequence[TensorType]) -> Iterator[Body]:
        """A graph of its own to build in."""
        outer, build = self._build.graph, self._build
        body = Body(Graph(), [])
        for kind in types:
            self._input(body, kind)
        build.graph = body.graph
        try:
            yield body
        finally:
            build.graph = outer

    def _input(self, body: Body, kind: TensorType) -> Value:
        body.inputs.append(Value(self._build.unique(f"{self._build.scope}.in"), kind))
        return body.inputs[-1]

    def read(self, proto: onnx.GraphProto, inner: Scope) -> list[Any]:
        before = len(self._problems)
        self._walk(proto, inner)
        found = [inner[out.name] for out in proto.output]
        if len(self._problems) > before or not all(isinstance(v, Value) for v in found):
            del self._problems[before:]
            raise NoRegion
        return found

    def served(self, v: Any) -> Value:
        """A tensor as the runtime holds it."""
        if not isinstance(v, Value) or not v.type.size:
            raise NoRegion
        if v.const is None:
            return v
        try:
            return constant(runtime_array(v.const), v.name)
        except ValueError as why:
            raise NoRegion from why

    def _computed(self, v: Value) -> Value:
        """A constant as a value that is made in each step."""
        if v.const is None:
            return v
        size = v.type.size
        return self._build.emit("Copy", [v], dims=(size,), strides=(1,), offset=0, shape=v.shape)

    def _flag(self, v: Value) -> Value:
        if v.const is not None:
            return constant((v.const != 0).astype(np.uint8).reshape(1), "")
        if v.type.size != 1:
            raise NoRegion
        return Term(self._build, v).to(np.uint8).reshape(1).value

    def _trips(self, trips: Value | None) -> tuple[Value | None, int | None]:
        """How many steps to take, where that is computed; at most, where it is not."""
        if trips is None:
            return None, None
        if trips.const is None:
            if trips.type.size != 1:
                raise NoRegion
            return Term(self._build, trips).to(INT32).reshape(1).value, None
        most = int(trips.const.ravel()[0])
        return None, most if most < np.iinfo(np.int32).max else None

    def _node(
        self, op: str, inputs: Sequence[Value | None], types: Sequence[TensorType],
        names: Sequence[str], **attrs: Any,
    ) -> list[Value]:  # fmt: skip
        scope = self._build.scope
        hints = [*names, *[scope] * (len(types) - len(names))]
        outputs = [
            Value(self._build.unique(n or scope), t) for n, t in zip(hints, types, strict=True)
        ]
        self._build.graph.nodes.append(Node(op, list(inputs), outputs, attrs, outputs[0].name))
        return outputs

    def _close(self, bodies: Sequence[Body]) -> list[Value]:
        """Make what the bodies read of the graph around them inputs of all, behind their own;
        returns what it is."""
        outer: dict[Value, None] = {}
        for body in bodies:
            mine = {v for n in body.graph.nodes for v in n.outputs} | set(body.inputs)
            reads = [v for n in body.graph.nodes for v in n.dynamic_inputs]
            reads += [v for v in body.made if v.const is None]
            outer.update(dict.fromkeys(v for v in reads if v not in mine))
        for body in bodies:
            inner = {v: self._inner(v) for v in outer}
            for node in body.graph.nodes:
                node.inputs = [v if v is None else inner.get(v, v) for v in node.inputs]
            body.graph.inputs = [_port(v, v.name) for v in (*body.inputs, *inner.values())]
            made = [inner.get(v, v) for v in body.made]
            names = [v.name if v.const is None and made.count(v) == 1 else "" for v in made]
            unique = self._build.unique
            body.graph.outputs = [
                _port(v, name or unique(f"{self._build.scope}.out"))
                for v, name in zip(made, names, strict=True)
            ]
        return list(outer)

    def _inner(self, v: Value) -> Value:
        return Value(self._build.unique(f"{v.name}.in"), v.type, None, v.quant)


@dataclass(frozen=True)
class _Made:
    carried: list[Value]
    collected: list[Value]
    asked: bool


def _turned(b: GraphBuilder, at: Value, steps: int, back: bool) -> Value:
    return (steps - 1 - Term(b, at)).value if back else at


def _zeros(kind: TensorType) -> Value:
    return constant(np.zeros(kind.shape, kind.dtype), "")


def _port(v: Value, name: str) -> Port:
    return Port(name, v, OF_NUMPY[v.dtype].onnx, v.shape)
