"""Whole sequences, given to a streaming file frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import UserError
from ..ir import Array, Shape
from ..runtime import IoInfo
from .timing import resized


class Runner(Protocol):
    """What answers for a file."""

    kernels: str

    @property
    def outputs(self) -> tuple[IoInfo, ...]: ...

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]: ...


class Oracle(Protocol):
    """What answers for the float model."""

    name: str

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]: ...


class Playback:
    """How a file streams, as its provenance says it (`Streaming.to_json`)."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.axes: dict[str, int] = dict(said["axes"])
        self.lengths: dict[str, int] = dict(said["lengths"])
        self.frames = int(said["frames"])
        self.outputs: dict[str, list[Any]] = dict(said["outputs"])

    def whole(self, name: str, shape: Shape) -> Shape:
        """The shape of a whole sequence's input, whose frames have `shape`."""
        axis = self.axes.get(name)
        return shape if axis is None else resized(shape, axis, self.lengths[name])

    def steps(self, feed: Mapping[str, Array]) -> list[dict[str, Array]]:
        """The feed of each step; what does not fill one at the end is left out."""
        length = min(feed[name].shape[axis] for name, axis in self.axes.items())
        return [
            {
                name: np.take(a, range(s, s + self.frames), self.axes[name])
                if name in self.axes
                else a
                for name, a in feed.items()
            }
            for s in range(0, length - self.frames + 1, self.frames)
        ]

    def count(self, name: str) -> int | None:
        """Frames of an output within a sequence, the whole model's first; None for what has none.

        0 if it comes too late.
        """
        axis, frames, delay, latest, sure = self.outputs[name]
        steps = min(self.lengths.values()) // self.frames
        if axis is not None:
            return max(0, min(int(sure), int(steps * frames - delay)))
        return None if sure and (delay == 0 if latest else delay < steps) else 0

    def joined(self, answers: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
        """The frames that the steps of a sequence give, as the whole model gives them."""
        found: dict[str, Array] = {}
        for name, (axis, _, delay, latest, _) in self.outputs.items():
            count = self.count(name)
            if count is None:
                found[name] = answers[-1 if latest else delay][name]
            elif count:
                whole = np.concatenate([a[name] for a in answers], axis)
                found[name] = np.take(whole, range(delay, delay + count), axis)
        return found

    def shown(self, truth: Mapping[str, Array]) -> dict[str, Array]:
        """Of the whole model's outputs the frames that `joined` gives."""
        cut: dict[str, Array] = {}
        for name, (axis, *_) in self.outputs.items():
            count = self.count(name)
            if count is None:
                cut[name] = truth[name]
            elif count:
                cut[name] = np.take(truth[name], range(count), axis)
        return cut


class Played:
    """A streaming file that answers to whole sequences, each from the start."""

    def __init__(self, runner: Runner, play: Playback, reset: Callable[[], None] | None) -> None:
        self.kernels, self._runner, self._play, self._reset = runner.kernels, runner, play, reset

    @property
    def outputs(self) -> tuple[IoInfo, ...]:
        """Those that come before a sequence ends. Raises UserError without any."""
        late = {name for name in self._play.outputs if self._play.count(name) == 0}
        found = tuple(io for io in self._runner.outputs if io.name not in late)
        if not found:
            raise UserError("the sequences are too short: no output comes before their end")
        return found

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of a sequence, cut as `Playback.shown` cuts the whole model's."""
        if self._reset is not None:
            self._reset()
        answers = [self._runner.run(step) for step in self._play.steps(feed)]
        still = {k: v for k, v in answers[-1].items() if k not in self._play.outputs}
        return still | self._play.joined(answers)


class Cut:
    """The float model's answers to whole sequences, as far as a streaming file gives them."""

    def __init__(self, oracle: Oracle, play: Playback) -> None:
        self.name, self._oracle, self._play = oracle.name, oracle, play

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by ONNX name."""
        truth = self._oracle.run(feed)
        return truth | self._play.shown(truth)
