"""Where a tensor's frames are, and why a model cannot stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ..ir import Node, Shape, Value


@dataclass(frozen=True)
class Timing:
    """A tensor's time axis, the frames of a whole sequence, and those made at each step.

    sure    frames, the first ones, that do not hang on where the sequence ends
    delay   frames of its own that it is late
    latest  its one frame is what a recurrent layer, or the last frame of a sequence, ends with
    """

    axis: int | None
    whole: int
    frames: int
    sure: int
    delay: int = 0
    latest: bool = False

    @property
    def once(self) -> bool:
        """Whether a step makes what the whole model makes once: no operator sees a difference."""
        return self.whole == 1 and self.frames == 1


@dataclass(frozen=True)
class Streamed:
    """What stands for a value of the whole model; without `timing` it knows no time."""

    value: Value
    timing: Timing | None = None

    @property
    def time(self) -> Timing:
        assert self.timing is not None
        return self.timing

    @property
    def axis(self) -> int:
        """Of time, which there is."""
        assert self.time.axis is not None
        return self.time.axis


class Refusal(Exception):  # noqa: N818 - a verdict, not a fault
    """Why a node cannot stream."""

    def __init__(self, node: Node, why: str) -> None:
        super().__init__(f"{node.op} '{node.output.name}' {why}")


class NeedsFrames(Exception):  # noqa: N818 - as above
    """A node makes an output less often than a step: steps must have a multiple of `frames`."""

    def __init__(self, node: Node, frames: int) -> None:
        super().__init__(f"{node.op} '{node.output.name}'")
        self.frames = frames


def moved_axis(shape: Shape, axis: int, to: Shape) -> int | None:
    """Where `axis` is when `shape` is reshaped to `to`; None if it is merged, split, or of 1."""
    before = prod(shape[:axis])
    found = [i for i, d in enumerate(to) if d == shape[axis] > 1 and prod(to[:i]) == before]
    return found[0] if found else None


def resized(shape: Sequence[int], axis: int, frames: int) -> Shape:
    """`shape` with so many frames."""
    return (*shape[:axis], frames, *shape[axis + 1 :])
