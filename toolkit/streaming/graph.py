"""The pass over a whole graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import UserError
from ..ir import Graph, Port, TensorType, Value
from .rules import apply, timed
from .stage import Stage
from .timing import NeedsFrames, Refusal, Streamed, Timing, moved_axis, resized

Axes = Sequence[tuple[str, int]]
"""Time axes by the inputs' names; under "" that of all inputs that are not state."""

MOST_FRAMES = 1 << 16


@dataclass(frozen=True)
class Output:
    """An output of a streaming model, as its user sees it.

    axis    of time; None where each step gives one answer
    frames  of each step
    delay   frames that come before the whole model's first one
    latest  the whole model's answer is that of the sequence's last step
    sure    frames of the whole model that it gives alike, however the sequence ends
    """

    axis: int | None
    frames: int
    delay: int
    latest: bool
    sure: int


@dataclass(frozen=True)
class Streaming:
    """What `stream` made. axes and lengths: of each streamed input, in ONNX layout."""

    graph: Graph
    axes: Mapping[str, int]
    lengths: Mapping[str, int]
    frames: int
    outputs: Mapping[str, Output]

    def to_json(self) -> dict[str, Any]:
        """As provenance has it."""
        return {
            "axes": dict(self.axes),
            "lengths": dict(self.lengths),
            "frames": self.frames,
            "outputs": {
                n: [o.axis, o.frames, o.delay, o.latest, o.sure] for n, o in self.outputs.items()
            },
        }

    def notes(self) -> list[str]:
        """How late each output is."""
        told = [f"takes {_count(self.frames)} per run and keeps the past frames that it needs"]
        for name, o in self.outputs.items():
            unit = _count(o.delay)
            if o.frames < self.frames:
                unit += f" of its own, each of {self.frames // o.frames} input frames"
            late = f"is delayed by {unit}" if o.delay else "is not delayed"
            told.append(f"output '{name}' {late}")
        return told


def _count(n: int) -> str:
    return "1 frame" if n == 1 else f"{n} frames"


def stream(graph: Graph, axes: Mapping[str, int], frames: int | None = None) -> Streaming:
    """The `graph` of whole sequences, float or quantized, as one that takes `frames` at each step.

    `axes` say which axis of an input is time, in ONNX layout; other inputs are given at each step
    as they are. Without `frames` a step has as few as the model allows. Raises UserError, with the
    name of the first node that cannot stream.
    """
    wanted = frames or 1
    while True:
        try:
            return _Pass(graph, axes, wanted).run()
        except NeedsFrames as why:
            if frames is not None or wanted > MOST_FRAMES:
                raise UserError(
                    f"--frames {wanted}: {why} computes an output less often; use a multiple of "
                    f"{wanted * why.frames}"
                ) from why
            wanted *= why.frames
        except Refusal as why:
            raise UserError(f"--stream: {why}") from why


def time_axes(graph: Graph, wanted: Axes) -> dict[str, int]:
    """The time axis of each streamed input, counted from the front. Raises UserError."""
    ports = {p.name: p for p in graph.inputs if not p.follows}
    found: dict[str, int] = {}
    for name, axis in wanted:
        if name and name not in ports:
            there = ", ".join(ports)
            raise UserError(f"--stream {name}={axis}: no input '{name}'; there are: {there}")
        for port in [ports[name]] if name else ports.values():
            rank = len(port.shape)
            if not -rank <= axis < rank:
                raise UserError(
                    f"--stream {port.name}={axis}: the input has axes 0 to {rank - 1}; name the "
                    "inputs that have a time axis, as NAME=AXIS"
                )
            found[port.name] = axis % rank
    return found


def check_frames(wanted: Axes, frames: int | None) -> None:
    """Raises UserError for frames of a model that does not stream."""
    if frames is not None and not wanted:
        raise UserError("--frames requires --stream")


class _Pass:
    def __init__(self, graph: Graph, axes: Mapping[str, int], frames: int) -> None:
        self.whole, self.axes, self.frames = graph, axes, frames
        self.stage = Stage()
        self.known: dict[Value, Streamed] = {}

    def run(self) -> Streaming:
        graph, stage = self.whole, self.stage
        inputs = [self._input(port) for port in graph.inputs]
        for node in graph.nodes:
            xs = [None if v is None else self.known.get(v, Streamed(v)) for v in node.inputs]
            if timed(xs):
                made = apply(stage, node, xs)
                self.known.update(zip(node.outputs, made, strict=True))
            else:
                stage.nodes.append(node)
                for v in node.outputs:
                    stage.name(v.name)
        told: dict[str, Output] = {}
        outputs = [self._output(port, told) for port in graph.outputs]
        told = {n: o for n, o in told.items() if n not in {p.follows for p in graph.inputs}}
        if not told:
            raise UserError("--stream: no output depends on the streamed inputs")
        made_graph = replace(
            graph, nodes=stage.nodes, inputs=inputs, outputs=outputs,
            states=[*graph.states, *stage.states],
        )  # fmt: skip
        lengths = {p.name: p.shape[self.axes[p.name]] for p in graph.inputs if p.name in self.axes}
        return Streaming(made_graph, self.axes, lengths, self.frames, told)

    def _input(self, port: Port) -> Port:
        self.stage.name(port.value.name)
        if port.name not in self.axes:
            return port
        axis, v = self.axes[port.name], port.value
        inside = axis if v.shape == port.shape else moved_axis(port.shape, axis, v.shape)
        if inside is None or port.shape[axis] < 2:
            raise UserError(
                f"--stream {port.name}={axis}: that axis has {port.shape[axis]} frames; a whole "
                f"sequence is needed, e.g. --shape {port.name}=..."
            )
        kind = TensorType(v.dtype, resized(v.shape, inside, self.frames))
        made, whole = Value(v.name, kind, None, v.quant), v.shape[inside]
        self.stage.ends_with = whole, self.frames
        self.known[v] = Streamed(made, Timing(inside, whole, self.frames, whole))
        return replace(port, value=made, shape=resized(port.shape, axis, self.frames))

    def _output(self, port: Port, told: dict[str, Output]) -> Port:
        x = self.known.get(port.value)
        if x is None or x.timing is None:
            return port
        t = x.timing
        if t.axis is None or t.once:
            told[port.name] = Output(None, 1, t.delay, t.latest, t.sure)
            return replace(port, value=x.value)
        inside = port.value.shape
        axis = t.axis if inside == port.shape else moved_axis(inside, t.axis, port.shape)
        if axis is None:
            raise UserError(f"--stream: output '{port.name}' has no time axis")
        told[port.name] = Output(axis, t.frames, t.delay, False, t.sure)
        return replace(port, value=x.value, shape=resized(port.shape, axis, t.frames))
