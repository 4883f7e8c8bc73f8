"""Operators that move elements: time keeps its order, or begins later, or is thinned out."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..ir import Node, Shape, Value
from ..ops.move.movement import Copy, Reshape, row_major, view
from .stage import Stage
from .timing import Refusal, Streamed, moved_axis, resized
from .windows import window


def reshape(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A Reshape that leaves time an axis of its own."""
    x = xs[0]
    assert x is not None
    axis = moved_axis(node.input(0).shape, x.axis, node.output.shape)
    if axis is None:
        raise Refusal(node, "merges time with other axes, or splits it")
    shape = resized(node.output.shape, axis, x.time.frames)
    (y,) = stage.again(node, [x.value], {**node.attrs, "shape": shape})
    t = x.time
    return [Streamed(y, replace(t, axis=axis))]


def movement(stage: Stage, node: Node, xs: list[Streamed | None]) -> list[Streamed]:
    """A strided view: Transpose, Slice, Expand, Copy."""
    x = xs[0]
    assert x is not None
    return _View(node, x).streamed(stage)


class _View:
    """A view of the whole sequence, taken apart: (size, stride) per part of each output axis."""

    def __init__(self, node: Node, x: Streamed) -> None:
        self.node, self.x, self.out = node, x, node.output.shape
        whole = node.input(0).shape
        self.inner = prod(whole[x.axis + 1 :])  # elements from one frame to the next
        self.outer = self.inner * whole[x.axis]
        dims, strides, self.offset = view(node)
        self.parts = self._parts(dims, strides)
        at = [
            (b, k)
            for b, parts in enumerate(self.parts)
            for k, (size, stride) in enumerate(parts)
            if self.inner <= abs(stride) < self.outer and size > 1
        ]
        self.time = at[0] if len(at) == 1 else None
        self.first = self.offset // self.inner % whole[x.axis]
        if len(at) > 1 or (at and (len(self.parts[at[0][0]]) > 1 or not self._apart())):
            raise Refusal(node, "rearranges time")

    def _parts(
        self, dims: tuple[int, ...], strides: tuple[int, ...]
    ) -> list[list[tuple[int, int]]]:
        """The view's dims, split where the output's axes end; those of 1 are left out."""
        left = [(d, s) for d, s in zip(dims, strides, strict=True) if d > 1]
        parts: list[list[tuple[int, int]]] = []
        for size in reversed(self.out):
            mine: list[tuple[int, int]] = []
            while size > 1:
                d, s = left.pop()
                if d > size:
                    if d % size:
                        raise Refusal(self.node, "rearranges time")
                    left.append((d // size, s * size))
                    d = size
                elif size % d:
                    raise Refusal(self.node, "rearranges time")
                mine.insert(0, (d, s))
                size //= d
            parts.insert(0, mine)
        return parts

    def _apart(self) -> bool:
        """Whether other axes than time stay within a frame, or step whole sequences."""
        assert self.time is not None
        b, k = self.time
        rest = [p for i, parts in enumerate(self.parts) for p in parts if i != b]
        reach = sum((d - 1) * s for d, s in rest if 0 <= s < self.inner)
        size, stride = self.parts[b][k]
        frames = self.first + (size - 1) * (stride // self.inner)
        return (
            stride > 0
            and stride % self.inner == 0
            and all(0 <= s < self.inner or s % self.outer == 0 for _, s in rest)
            and self.offset % self.inner + reach < self.inner
            and frames < self.outer // self.inner
        )

    def streamed(self, stage: Stage) -> list[Streamed]:
        x, node = self.x, self.node
        if self.time is None:
            return [self._last(stage)]
        b = self.time[0]
        size, stride = self.parts[b][0]
        v, found = window(stage, node, x, 0, stride // self.inner, -self.first, size)
        frames = found.frames
        shape = resized(self.out, b, frames)
        have = v.shape[x.axis] * self.inner
        dims, strides = list[int](), list[int]()
        for i, parts in enumerate(self.parts):
            for d, s in parts:
                dims.append(frames if i == b else d)
                strides.append(s if i == b or s < self.inner else s // self.outer * have)
        offset = self.offset // self.outer * have + self.offset % self.inner
        y = self._copy(stage, v, dims, strides, offset, shape)
        return [Streamed(y, replace(found, axis=b))]

    def _last(self, stage: Stage) -> Streamed:
        """The one frame that is read, if it is the last of the sequence."""
        x, t = self.x, self.x.time
        if self.first != t.whole - 1 or any(
            not (0 <= s < self.inner or s % self.outer == 0) for p in self.parts for _, s in p
        ):
            raise Refusal(self.node, f"reads only frame {self.first} of the sequence")
        have = x.value.shape[x.axis] * self.inner
        dims = [d for p in self.parts for d, _ in p]
        strides = [
            s if s < self.inner else s // self.outer * have for p in self.parts for _, s in p
        ]
        newest = (t.frames - 1) * self.inner
        offset = self.offset // self.outer * have + newest + self.offset % self.inner
        y = self._copy(stage, x.value, dims, strides, offset, self.out)
        return Streamed(y, stage.last(t))

    def _copy(
        self, stage: Stage, v: Value, dims: list[int], strides: list[int], offset: int, shape: Shape
    ) -> Value:
        contiguous = tuple(strides) == row_major(dims) and offset == 0
        if contiguous and prod(shape) == v.type.size:
            return stage.again(
                Node(Reshape.name, [], self.node.outputs, {}, self.node.name), [v], {"shape": shape}
            )[0]
        node = Node(Copy.name, [], self.node.outputs, {}, self.node.name)
        attrs = {
            "dims": tuple(dims) or (1,), "strides": tuple(strides) or (1,), "offset": offset,
            "shape": shape,
        }  # fmt: skip
        return stage.again(node, [v], attrs)[0]
