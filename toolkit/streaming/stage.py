"""The streaming graph while it is made: nodes, and memory of frames that were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir import Array, Names, Node, QuantParams, State, TensorType, Value, constant
from ..ops import definition
from ..ops.elementwise.where import Where
from ..ops.move.concat import Concat
from ..ops.move.movement import Reshape, Slice
from .timing import Refusal, Streamed, Timing, resized


class Stage:
    """Nodes and states so far. Values of the whole model keep their names."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.states: list[State] = []
        self.ends_with = (0, 1)  # frames of a whole input, and of a step
        self.name = Names().unique
        self._starts: dict[Value, Array | None] = {}
        self._past: dict[tuple[Value, int, bytes], Value] = {}
        self._masks: dict[tuple[int, int], Value] = {}

    def again(
        self, node: Node, inputs: Sequence[Value | None], attrs: dict[str, Any] | None = None
    ) -> list[Value]:
        """`node` on other inputs, with other attributes: its outputs."""
        attrs = node.attrs if attrs is None else attrs
        made = Node(node.op, list(inputs), node.outputs, attrs, node.name)
        kinds = definition(node.op).infer(made)
        made.outputs = [
            Value(self.name(v.name), kind, None, v.quant)
            for v, kind in zip(node.outputs, kinds, strict=True)
        ]
        self.nodes.append(made)
        return made.outputs

    def emit(
        self,
        op: str,
        inputs: list[Value | None],
        name: str,
        quant: QuantParams | None,
        **attrs: Any,
    ) -> Value:
        """The output of a new node."""
        node = Node(op, inputs, [], attrs, self.name(name))
        (kind,) = definition(op).infer(node)
        node.outputs = [Value(node.name, kind, None, quant)]
        self.nodes.append(node)
        return node.output

    def cut(self, v: Value, axis: int, start: int, size: int) -> Value:
        """`size` elements along the axis; `v` itself if that is all."""
        if (start, size) == (0, v.shape[axis]):
            return v
        return self.emit(Slice.name, [v], f"{v.name}.part", v.quant, **_range(v, axis, start, size))

    def hold(
        self, name: str, kind: TensorType, quant: QuantParams | None, start: Array | None = None
    ) -> Value:
        """What a state has at the start of a step; `start` at first, else real zeros."""
        held = Value(self.name(name), kind, None, quant)
        self._starts[held] = start
        return held

    def store(self, held: Value, op: str, source: Value, **attrs: Any) -> None:
        """Let `held` be this movement of `source` in the next step."""
        kept = Value(self.name(f"{held.name}.next"), held.type, None, held.quant)
        node = Node(op, [source], [kept], attrs, kept.name)
        self.states.append(State("", "", held, node, self._starts.pop(held)))

    def past(self, x: Streamed, frames: int, fill: Array | None = None) -> Value:
        """`x` behind the frames that were before it; `fill` at first, a scalar, else real zeros."""
        v, axis = x.value, x.axis
        key = (v, frames, b"" if fill is None else fill.tobytes())
        if key not in self._past:
            kind = TensorType(v.dtype, resized(v.shape, axis, frames))
            start = None if fill is None else np.full(kind.shape, fill, kind.dtype)
            held = self.hold(f"{v.name}.past", kind, v.quant, start)
            both = self.emit(Concat.name, [held, v], f"{v.name}.window", v.quant, axis=axis)
            self.store(held, Slice.name, both, **_range(both, axis, v.shape[axis], frames))
            self._past[key] = both
        return self._past[key]

    def delayed(self, x: Streamed, by: int) -> Streamed:
        """`x` so many frames later."""
        if by == 0:
            return x
        late = replace(x.time, delay=x.time.delay + by)
        if x.time.axis is None:
            flat = self.emit(
                Reshape.name, [x.value], f"{x.value.name}.frame", x.value.quant,
                shape=(1, *x.value.shape),
            )  # fmt: skip
            made = self.delayed(Streamed(flat, replace(x.time, axis=0)), by).value
            shape = x.value.shape
            return Streamed(
                self.emit(Reshape.name, [made], f"{made.name}.only", made.quant, shape=shape), late
            )
        window = self.past(x, by)
        v = self.emit(
            Slice.name, [window], f"{x.value.name}.late", x.value.quant,
            **_range(window, x.axis, 0, x.time.frames),
        )  # fmt: skip
        return Streamed(v, late)

    def aligned(self, node: Node, xs: Sequence[Streamed]) -> list[Streamed]:
        """`xs` of one timing but for the axis, as late as the latest. Raises Refusal."""
        known = [x.time for x in xs]
        if len({(t.whole, t.frames, t.latest) for t in known}) > 1:
            raise Refusal(node, "combines tensors of different rates or lengths in time")
        most = max(t.delay for t in known)
        sure = min(t.sure for t in known)
        late = [self.delayed(x, most - x.time.delay) for x in xs]
        return [Streamed(x.value, replace(x.time, sure=sure)) for x in late]

    def last(self, t: Timing) -> Timing:
        """Of the last frame of a sequence: a step's last, which later ones replace."""
        length, frames = self.ends_with
        ends = t.sure == t.whole and t.whole * frames == length * t.frames
        return Timing(None, 1, 1, int(ends), t.delay, latest=True)

    def mask(self, frames: int, delay: int) -> Value:
        """uint8 [frames]: 1 from frame `delay` of the stream on."""
        if (frames, delay) not in self._masks:
            ones = constant(np.ones(frames, np.uint8), f"{frames}.ones")
            ticks = Streamed(ones, Timing(0, 0, frames, 0))
            both = self.past(ticks, delay)
            self._masks[frames, delay] = self.cut(both, 0, 0, frames)
        return self._masks[frames, delay]

    def since_start(self, x: Streamed, fill: Array | None) -> Streamed:
        """`x` with `fill`, else real zeros, for the frames before the sequence begins."""
        t, v = x.time, x.value
        if t.delay == 0:
            return x
        shape = [1] * len(v.shape)
        shape[x.axis] = t.frames
        mask = self.emit(
            Reshape.name,
            [self.mask(t.frames, t.delay)],
            f"{v.name}.valid",
            None,
            shape=tuple(shape),
        )
        zero = np.array(0 if v.quant is None else v.quant.zero_point) if fill is None else fill
        other = constant(np.full([1] * len(v.shape), zero, v.dtype), f"{v.name}.fill", v.quant)
        return Streamed(self.emit(Where.name, [mask, v, other], f"{v.name}.begun", v.quant), t)


def _range(v: Value, axis: int, start: int, size: int) -> dict[str, Any]:
    """The attributes of a Slice along one axis."""
    rank = len(v.shape)
    return {
        "starts": tuple(start if i == axis else 0 for i in range(rank)),
        "sizes": resized(v.shape, axis, size),
        "steps": (1,) * rank,
    }
