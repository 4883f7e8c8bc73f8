"""If, Loop and Scan -> the nodes that they stand for.

What is known when the model is read folds away. A short Loop and Scan of a known length are
unrolled, and so is a Loop whose outputs' shape says how long it is, which a run then checks. Others
become a graph inside of a node, and so does an If; where the model is to be quantized, only those
that cannot be unrolled: of an If both branches are computed, and one is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from ...ir import Array, Shape, TensorType, Value
from ...ops import FROM_ONNX
from ...ops._formula import Term
from ...ops._opdef import OnnxNode, Unsupported
from ...ops.composites._checks import as_ints, checked
from ...ops.move.movement import axis_of, take
from ..attributes import python_attributes
from ..builder import GraphBuilder
from ..refusals import display_name
from ..sequences import Items
from .invariants import unchanged, without
from .layers import Layers, may_be_layer
from .regions import LONGEST, MOST_STEPS, NoRegion, Regions
from .trips import Fold, steps_of

CONTROL = ("If", "Loop", "Scan")

MOST_NODES = 20_000
"""Of an unrolled Loop or Scan, beside MOST_STEPS."""

SHORT = 128
"""Nodes of all steps together, up to which a Loop or a Scan is unrolled anyway."""

SMALL = 4
"""Nodes of both branches together, up to which both are computed anyway."""

Scope = dict[str, Any]
Walk = Callable[[onnx.GraphProto, Scope], None]
ShapeOf = Callable[[str], Shape | None]


class ControlFlow:
    """`walk` reads a body into a scope, `shape_of` knows the shapes that the model says, `fold` the
    outputs of nodes on constants. `lazily`: what is not needed is not to run. `notes` say what a
    user should know."""

    def __init__(
        self, build: GraphBuilder, walk: Walk, shape_of: ShapeOf, fold: Fold, regions: Regions,
        lazily: bool,
    ) -> None:  # fmt: skip
        self._build, self._walk, self._fold, self.notes = build, walk, fold, list[str]()
        self._shape_of, self._regions, self._lazily = shape_of, regions, lazily
        self._layers = Layers(build, regions)

    def expand(
        self, node: onnx.NodeProto, inputs: Sequence[Value | None], scope: Scope
    ) -> Mapping[str, Any]:
        """What the outputs are by name. Raises Unsupported."""
        self._build.scope = next((name for name in node.output if name), node.name)
        read = {"If": self._if, "Loop": self._loop, "Scan": self._scan}[node.op_type]
        found = read(node, inputs, scope)
        return {n: v for n, v in zip(node.output, found, strict=False) if n}

    def _if(self, node: onnx.NodeProto, inputs: Sequence[Value | None], scope: Scope) -> list[Any]:
        (condition,) = inputs
        assert condition is not None
        if condition.const is not None:
            name = "then_branch" if bool(condition.const.ravel()[0]) else "else_branch"
            return self._results(_body(node, name), scope)
        bodies = [_body(node, f"{b}_branch") for b in ("then", "else")]
        if self._lazily and sum(len(body.node) for body in bodies) > SMALL:
            try:
                return list(self._regions.branch(node, condition, bodies, scope))
            except NoRegion:
                pass
        both = [self._results(body, scope) for body in bodies]
        self.notes.append(
            f"If '{display_name(node)}' depends on an input: both branches are computed, and one "
            "result is selected"
        )
        return [
            self._chosen(name, condition, a, b)
            for name, a, b in zip(node.output, both[0], both[1], strict=True)
        ]

    def _results(self, body: onnx.GraphProto, scope: Scope) -> list[Any]:
        inner = dict(scope)
        self._walk(body, inner)
        return [inner[out.name] for out in body.output]

    def _chosen(self, name: str, condition: Value, a: Any, b: Any) -> Any:
        if isinstance(a, Items) or isinstance(b, Items):
            raise Unsupported(
                f"its branches give '{name}', a sequence or an optional value",
                "export the model for one of them",
            )
        if not isinstance(a, Value) or not isinstance(b, Value):
            return b if isinstance(a, Value) else a  # it was refused
        if a is b:
            return a
        if a.shape != b.shape:
            raise Unsupported(
                f"its branches give '{name}' in the shapes {list(a.shape)} and {list(b.shape)}",
                "export the model for one of them",
            )
        self._build.scope = name
        plain = OnnxNode("Where", "", 16, name, [condition, a, b], [name], {})
        return FROM_ONNX["Where"].from_onnx(self._build, plain)[0]

    def _loop(
        self, node: onnx.NodeProto, inputs: Sequence[Value | None], scope: Scope
    ) -> list[Any]:
        body = _body(node, "body")
        same = unchanged(body, len(inputs) - 2)
        if same:
            scope = scope | {body.input[2 + i].name: inputs[2 + i] for i in same}
            body = without(body, same)
        changed = [v for i, v in enumerate(inputs) if i - 2 not in same]
        found = iter(self._loop_of_changes(node, body, changed, scope))
        return [inputs[2 + i] if i in same else next(found) for i in range(len(node.output))]

    def _loop_of_changes(
        self, node: onnx.NodeProto, body: onnx.GraphProto, inputs: Sequence[Value | None],
        scope: Scope,
    ) -> list[Any]:  # fmt: skip
        said = None
        trips, condition = [*inputs, None, None][:2]
        computed = any(v is not None and v.const is None for v in (trips, condition))
        if computed:
            said = self._said(node, len(node.input) - 2)
        elif (steps := steps_of(self._fold, body, inputs, scope)) is not None:
            said, inputs = steps, [_constant(np.array(steps)), None, *inputs[2:]]
        elif trips is not None and trips.const is not None:
            said = int(trips.const.ravel()[0])
        counted = not computed and steps is not None
        if may_be_layer(body) and (counted or (trips is not None and not computed)):
            layer = self._layers.loop(body, inputs, scope, said or 0, counted)
            if layer is not None:
                return layer
        long = said is None or said * len(body.node) > SHORT

        def region() -> list[Any]:
            if any(isinstance(v, Items) for v in inputs):
                raise NoRegion
            made = self._regions.loop(body, inputs, scope, said, counted)
            self._bounded(node, len(body.output) > len(inputs) - 1, said)
            return list(made)

        def unrolled() -> list[Any]:
            if computed and said:
                return self._loop_of(said, body, inputs, scope)
            return self._unrolled(body, inputs, scope)

        return self._either(region, unrolled, long)

    def _either(
        self, region: Callable[[], list[Any]], unrolled: Callable[[], list[Any]], long: bool
    ) -> list[Any]:
        """What the way makes that is tried first, or else the other. Raises Unsupported."""
        refused: Unsupported | None = None
        for way in (region, unrolled) if long and self._lazily else (unrolled, region):
            try:
                return way()
            except NoRegion:
                pass
            except Unsupported as why:
                refused = why
        assert refused is not None
        raise refused

    def _bounded(self, node: onnx.NodeProto, collects: bool, said: int | None) -> None:
        if said is None:
            most = MOST_STEPS if collects else LONGEST
            self.notes.append(
                f"Loop '{display_name(node)}' has a computed condition: a run fails after {most} "
                "steps"
            )

    def _unrolled(
        self, body: onnx.GraphProto, inputs: Sequence[Value | None], scope: Scope
    ) -> list[Any]:
        trips, condition = [*inputs, None, None][:2]
        most = MOST_STEPS + 1 if trips is None else int(_known(trips, "its trip count").ravel()[0])
        go = condition is None or bool(_known(condition, "its condition").ravel()[0])
        states: list[Any] = list(inputs[2:])
        rows: list[list[Any]] = [[] for _ in body.output[1 + len(states) :]]
        step = 0
        while go and step < most:
            self._bound(body, step + 1 if trips is None else most)
            inner = dict(scope)
            given = [_constant(np.array(step)), _constant(np.array(True)), *states]
            inner.update(zip((i.name for i in body.input), given, strict=True))
            self._walk(body, inner)
            again, *found = [inner[out.name] for out in body.output]
            states = found[: len(states)]
            for row, value in zip(rows, found[len(states) :], strict=True):
                row.append(value)
            go = bool(_known(again, "the condition to go on").ravel()[0])
            step += 1
        return [*states, *(self._stacked(row, 0) for row in rows)]

    def _said(self, node: onnx.NodeProto, states: int) -> int | None:
        """The steps of a Loop, as the shape of what it collects says; None if nothing does."""
        for name in node.output[states:]:
            shape = self._shape_of(name) if name else None
            if shape:
                return shape[0]
        return None

    def _loop_of(
        self, steps: int, body: onnx.GraphProto, inputs: Sequence[Value | None], scope: Scope
    ) -> list[Any]:
        """A Loop of so many steps; a run in which it would take more or fewer stops."""
        self._bound(body, steps)
        trips, condition, *states = inputs
        go: list[Any] = [condition or _constant(np.array(True))]
        rows: list[list[Any]] = [[] for _ in body.output[1 + len(states) :]]
        for step in range(steps):
            inner = dict(scope)
            given = [_constant(np.array(step)), go[-1], *states]
            inner.update(zip((i.name for i in body.input), given, strict=True))
            self._walk(body, inner)
            again, *found = [inner[out.name] for out in body.output]
            go.append(again)
            states = found[: len(states)]
            for row, value in zip(rows, found[len(states) :], strict=True):
                row.append(value)
        made = [*states, *(self._stacked(row, 0) for row in rows)]
        if any(not isinstance(v, Value) for v in (*go, *made)):
            raise Unsupported("its condition cannot be computed", "export it unrolled")
        b = self._build
        *on, more = (Term(b, v).to(np.uint8).reshape(1) for v in go)
        fits = ~more
        if trips is not None:
            count = as_ints(b, trips)
            fits = count.equals(steps) | ((count > steps) & fits)
        if any(c.const is not None and not c.const.all() for c in on):
            raise Unsupported(f"its output has {steps} steps, its condition ends it sooner")
        conditions = [c for c in {id(c.value): c for c in on}.values() if c.const is None]
        return [checked(Term(b, v), fits, *conditions).value for v in made]

    def _scan(
        self, node: onnx.NodeProto, inputs: Sequence[Value | None], scope: Scope
    ) -> list[Any]:
        attrs, body = python_attributes(node), _body(node, "body")
        count = int(attrs["num_scan_inputs"])
        states: list[Any] = list(inputs[: len(inputs) - count])
        scanned = [v for v in inputs[len(inputs) - count :] if v is not None]
        if len(node.input) > len(body.input):  # version 8
            if states[0] is not None:
                raise Unsupported(
                    "sequences of several lengths are not supported", "give all the same length"
                )
            ways = attrs.get("directions", [0] * count)
            return self._scan_of_batches(body, states[1:], scanned, ways, scope)
        axes = [
            axis_of(int(a), len(v.shape))
            for a, v in zip(attrs.get("scan_input_axes", [0] * count), scanned, strict=True)
        ]
        backwards = attrs.get("scan_input_directions", [0] * count)
        steps = scanned[0].shape[axes[0]]
        back = attrs.get("scan_output_directions", [0] * (len(body.output) - len(states)))
        to = attrs.get("scan_output_axes", [0] * (len(body.output) - len(states)))

        sources = [(v, a, bool(d)) for v, a, d in zip(scanned, axes, backwards, strict=True)]

        def moved(made: Sequence[Value]) -> list[Any]:
            whole = zip(made[len(states) :], to, strict=True)
            return [*made[: len(states)], *(self._moved(v, int(a)) for v, a in whole)]

        if may_be_layer(body):
            layer = self._layers.scan(body, states, sources, scope, back)
            if layer is not None:
                return moved(layer)

        def region() -> list[Any]:
            turned = [bool(d) for d in back]
            return moved(self._regions.scan(body, states, sources, scope, turned))

        def unrolled() -> list[Any]:
            return self._unrolled_scan(body, states, scanned, axes, backwards, back, to, scope)

        long = steps * len(body.node) > SHORT
        return self._either(region, unrolled, long)

    def _scan_of_batches(
        self, body: onnx.GraphProto, states: Sequence[Any], scanned: Sequence[Value],
        ways: Sequence[int], scope: Scope,
    ) -> list[Any]:  # fmt: skip
        """Scan-8: each sample of the batch, the first axis, by itself."""
        none = [0] * len(scanned)
        collected = [0] * (len(body.output) - len(states))
        made = []
        for k in range(scanned[0].shape[0]):
            of_state, of_input = ([self._slice(v, 0, k) for v in vs] for vs in (states, scanned))
            made.append(
                self._unrolled_scan(
                    body, of_state, of_input, none, ways, collected, collected, scope
                )
            )
        return [self._stacked(list(row), 0) for row in zip(*made, strict=True)]

    def _moved(self, v: Value, axis: int) -> Value:
        """Its first axis as another."""
        axis = axis_of(axis, len(v.shape))
        rest = list(range(1, len(v.shape)))
        return self._build.transpose(v, [*rest[:axis], 0, *rest[axis:]])

    def _unrolled_scan(
        self, body: onnx.GraphProto, starts: Sequence[Any], scanned: Sequence[Value],
        axes: Sequence[int], backwards: Sequence[int], back: Sequence[int], to: Sequence[int],
        scope: Scope,
    ) -> list[Any]:  # fmt: skip
        states, steps = list(starts), scanned[0].shape[axes[0]]
        self._bound(body, steps)
        rows: list[list[Any]] = [[] for _ in body.output[len(states) :]]
        for step in range(steps):
            at = [steps - 1 - step if back else step for back in backwards]
            slices = [self._slice(v, a, i) for v, a, i in zip(scanned, axes, at, strict=True)]
            inner = dict(scope)
            inner.update(zip((i.name for i in body.input), [*states, *slices], strict=True))
            self._walk(body, inner)
            found = [inner[out.name] for out in body.output]
            states = found[: len(states)]
            for row, value in zip(rows, found[len(states) :], strict=True):
                row.append(value)
        ordered = [row[::-1] if b else row for row, b in zip(rows, back, strict=True)]
        return [*states, *(self._stacked(r, int(a)) for r, a in zip(ordered, to, strict=True))]

    def _bound(self, body: onnx.GraphProto, steps: int) -> None:
        if steps > MOST_STEPS or steps * len(body.node) > MOST_NODES:
            raise Unsupported(
                f"unrolled it has more than {MOST_STEPS} steps or {MOST_NODES} nodes",
                "give shorter inputs with --shape",
            )

    def _slice(self, v: Value, axis: int, i: int) -> Value:
        if v.const is not None:
            return _constant(v.const.take(i, axis))
        ranges = [range(i, i + 1) if a == axis else range(d) for a, d in enumerate(v.shape)]
        shape = (*v.shape[:axis], *v.shape[axis + 1 :])
        return self._build.reshape(take(self._build, v, ranges), shape)

    def _stacked(self, row: list[Any], axis: int) -> Any:
        """The results of all steps along a new axis."""
        lost = [v for v in row if not isinstance(v, Value)]
        if lost:
            return lost[0]
        if not row:
            raise Unsupported("it has no steps", "remove it")
        if all(v.const is not None for v in row):
            return _constant(np.stack([v.const for v in row], axis))
        axis = axis_of(axis, len(row[0].shape) + 1)
        shape = (*row[0].shape[:axis], 1, *row[0].shape[axis:])
        views = [self._build.reshape(v, shape) for v in row]
        if len(views) == 1:
            return views[0]
        plain = OnnxNode("Concat", "", 13, "", list(views), [""], {"axis": axis})
        return FROM_ONNX["Concat"].from_onnx(self._build, plain)[0]


def _body(node: onnx.NodeProto, name: str) -> onnx.GraphProto:
    return next(a.g for a in node.attribute if a.name == name)


def _constant(array: Array) -> Value:
    return Value("", TensorType(array.dtype, array.shape), array)


def _known(v: Any, what: str) -> Array:
    if not isinstance(v, Value) or v.const is None:
        raise Unsupported(
            f"{what} is computed by the model",
            "export the model with a fixed number of steps, or unrolled",
        )
    return v.const
