"""Operators that move elements and compute nothing: Transpose, Reshape, Slice, Expand, Copy.

Each is a strided view of its input, `out[i, j, ..] = in[offset + i * stride_i + j * stride_j ..]`,
and all but Reshape lower to the runtime's Copy. Reshape is free: input and output share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, Shape, TensorType, Value
from ...numerics import FLOAT, HALF, INTEGERS, integer_precisions
from .._opdef import Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported, of_each_axis

COPY_DIMS = 6

MAPPED = 1 << 24
"""Elements of a tensor whose places are listed one by one, 8 bytes each; larger ones stay as they
are."""

View = tuple[tuple[int, ...], tuple[int, ...], int]
"""(dims, strides, offset), in elements."""


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements to step per axis of a contiguous tensor."""
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def view(node: Node) -> View:
    """How a movement node reads its input; the product of dims is the output's size."""
    x = node.input(0).shape
    strides = row_major(x)
    if node.op == "Transpose":
        perm = node.attrs["perm"]
        return tuple(x[p] for p in perm), tuple(strides[p] for p in perm), 0
    if node.op == "Slice":
        starts, sizes, steps = (node.attrs[k] for k in ("starts", "sizes", "steps"))
        offset = sum(s * st for s, st in zip(starts, strides, strict=True))
        return tuple(sizes), tuple(s * st for s, st in zip(steps, strides, strict=True)), offset
    if node.op == "Expand":
        shape = tuple(node.attrs["shape"])
        lead = len(shape) - len(x)
        steps = tuple(0 if d == 1 else s for d, s in zip(x, strides, strict=True))
        return shape, (0,) * lead + steps, 0
    if node.op == "Copy":
        return tuple(node.attrs["dims"]), tuple(node.attrs["strides"]), int(node.attrs["offset"])
    if node.op == "Reshape":
        return (prod(x),), (1,), 0
    raise ValueError(f"{node.op} is not a movement operator")


def index_map(node: Node) -> NDArray[np.int64]:
    """Flat input index of each flat output element of a movement node."""
    dims, strides, offset = view(node)
    index = np.array(offset, np.int64)
    for d, s in zip(dims, strides, strict=True):
        index = index[..., None] + np.arange(d, dtype=np.int64) * s
    return index.ravel()


def as_copy(index: NDArray[np.int64]) -> View | None:
    """The view with the fewest dims that reads exactly `index`; None if there is none of 6 dims.

    The identity on n elements is ((n,), (1,), 0). Takes O(n): the longest regular run at the start
    is the innermost dimension, as a longer one would be merged with it; each level at least halves.
    """
    if index.size == 0:
        return None
    offset, dims, strides = int(index[0]), list[int](), list[int]()
    while index.size > 1:
        step = int(index[1] - index[0])
        breaks = np.flatnonzero(np.diff(index) != step)
        run = int(breaks[0]) + 1 if breaks.size else index.size
        if index.size % run or len(dims) == COPY_DIMS:
            return None
        rows = index.reshape(-1, run)
        if breaks.size and np.any(rows != rows[:, :1] + np.arange(run) * step):
            return None
        dims.insert(0, run)
        strides.insert(0, step)
        index = rows[:, 0]
    return tuple(dims) or (1,), tuple(strides) or (1,), offset


def collapse(dims: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """The same view with dims of 1 dropped and neighbours that step as one merged."""
    out_dims, out_strides = list[int](), list[int]()
    for d, s in zip(dims, strides, strict=True):
        if d == 1:
            continue
        if out_dims and out_strides[-1] == d * s:
            out_dims[-1] *= d
            out_strides[-1] = s
        else:
            out_dims.append(d)
            out_strides.append(s)
    return out_dims, out_strides


def ints(node: OnnxNode, attr: str, i: int) -> list[int] | None:
    """Integers that older opsets keep in an attribute and newer ones in constant input `i`."""
    value = node.attrs[attr] if attr in node.attrs else node.const(i)
    return None if value is None else [int(v) for v in np.ravel(value)]


def axis_of(axis: int, rank: int) -> int:
    """`axis` counted from the front; raises Unsupported when there is no such axis."""
    if not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} does not exist in a tensor of rank {rank}")
    return axis % rank


class Movement(OpDef):
    """What all five share. Any element type; inputs and output have one quantization."""

    exactness = "exact"
    shared = True
    selects = True
    precisions = integer_precisions(*INTEGERS)
    reals = (FLOAT, HALF)

    def integer_problem(self, node: Node) -> str | None:
        dims = collapse(*view(node)[:2])[0]
        if len(dims) > COPY_DIMS:
            return f"it moves data along {len(dims)} independent axes; {COPY_DIMS} are supported"
        return None

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        x = inputs[0]
        assert x is not None
        return [x.ravel()[index_map(node)].reshape(node.output.shape)]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        dims, strides = collapse(*view(node)[:2])
        fill = COPY_DIMS - len(dims)
        if fill < 0:
            raise ValueError(f"{node.op} '{node.name}': {self.integer_problem(node)}")
        params: dict[str, int | float] = {
            "offset": view(node)[2],
            "element_bytes": node.output.dtype.itemsize,
        }
        for i, (d, s) in enumerate(zip([1] * fill + dims, [0] * fill + strides, strict=True)):
            params[f"dims.{i}"], params[f"strides.{i}"] = d, s
        return Lowered(OpKind.Copy, params, [node.input(0)])


class Transpose(Movement):
    """ONNX Transpose-1..25, DepthToSpace-1..13, SpaceToDepth-1..13. attrs: perm."""

    name = "Transpose"
    onnx = ("Transpose", "DepthToSpace", "SpaceToDepth")

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        if node.op == "Transpose":
            return [b.transpose(x, node.attrs.get("perm") or range(len(x.shape))[::-1])]
        if len(x.shape) != 4:
            raise Unsupported(f"its input has rank {len(x.shape)}, not 4")
        n, c, h, w = x.shape
        s = int(node.attrs["blocksize"])
        depth_first = node.attrs.get("mode", "DCR") == "DCR"
        if node.op == "DepthToSpace":
            split = (n, s, s, c // s**2, h, w) if depth_first else (n, c // s**2, s, s, h, w)
            perm = (0, 3, 4, 1, 5, 2) if depth_first else (0, 1, 4, 2, 5, 3)
            shape = (n, c // s**2, h * s, w * s)
        else:
            split = (n, c, h // s, s, w // s, s)
            perm = (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4)
            shape = (n, c * s**2, h // s, w // s)
        return [b.reshape(b.transpose(b.reshape(x, split), perm), shape)]

    def infer(self, node: Node) -> list[TensorType]:
        x, perm = node.input(0), node.attrs["perm"]
        if sorted(perm) != list(range(len(x.shape))):
            raise ValueError(f"perm {list(perm)} does not permute rank {len(x.shape)}")
        return [TensorType(x.dtype, tuple(x.shape[p] for p in perm))]


class Reshape(Movement):
    """ONNX Reshape-1..25, Flatten, Squeeze, Unsqueeze, Identity, Dropout (inference). attrs: shape.

    The planner lets input and output share memory and `lower` is not called; where it cannot,
    the lowering is a plain copy.
    """

    name = "Reshape"
    view = True
    onnx = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout")

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        if node.op == "Identity":
            return [x]
        if node.op == "Dropout":
            training = node.const(2)
            if training is not None and bool(np.ravel(training)[0]):
                raise Unsupported("it is in training mode", "export the model for inference")
            mask = [b.constant(np.ones(x.shape, np.bool_))] if len(node.outputs) > 1 else []
            return [x, *mask]
        return [b.reshape(x, _new_shape(node, x.shape))]

    def infer(self, node: Node) -> list[TensorType]:
        x, shape = node.input(0), tuple(node.attrs["shape"])
        if prod(shape) != x.type.size or min(shape, default=1) < 0:
            raise ValueError(f"cannot reshape {list(x.shape)} to {list(shape)}")
        return [TensorType(x.dtype, shape)]


def _new_shape(node: OnnxNode, x: Shape) -> Shape:
    if node.op == "Flatten":
        axis = int(node.attrs.get("axis", 1))
        axis += len(x) if axis < 0 else 0
        return prod(x[:axis]), prod(x[axis:])
    if node.op == "Reshape":
        shape = ints(node, "shape", 1)
        if shape is None:
            raise Unsupported("it has no shape")
        if not node.attrs.get("allowzero", 0):
            shape = [x[i] if d == 0 else d for i, d in enumerate(shape)]
        if -1 in shape:
            known = -prod(shape)
            shape[shape.index(-1)] = prod(x) // known if known else 0
        return tuple(shape)
    axes = ints(node, "axes", 1)
    if node.op == "Squeeze":
        if axes is None:
            return tuple(d for d in x if d != 1)
        gone = {axis_of(a, len(x)) for a in axes}
        return tuple(d for i, d in enumerate(x) if i not in gone)
    rank = len(x) + len(axes or [])
    new = {axis_of(a, rank) for a in axes or []}
    if len(new) < len(axes or []):
        raise Unsupported(f"its axes {axes} name one axis twice", "export the model again")
    rest = iter(x)
    return tuple(1 if i in new else next(rest) for i in range(rank))


class Slice(Movement):
    """ONNX Slice-1..13 and Split-1..18, known ranges only. attrs: starts, sizes, steps per axis."""

    name = "Slice"
    layout = of_each_axis("starts", "sizes", "steps")
    onnx = ("Slice", "Split")

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        if node.op == "Split":
            return _split(b, node, x)
        starts, ends = ints(node, "starts", 1), ints(node, "ends", 2)
        if starts is None or ends is None:
            raise Unsupported("it has no starts or no ends")
        axes = ints(node, "axes", 3)
        steps = ints(node, "steps", 4) or [1] * len(starts)
        ranges = [range(d) for d in x.shape]
        for i, axis in enumerate(range(len(starts)) if axes is None else axes):
            a = axis_of(axis, len(x.shape))
            ranges[a] = range(*slice(starts[i], ends[i], steps[i]).indices(x.shape[a]))
        return [take(b, x, ranges)]

    def infer(self, node: Node) -> list[TensorType]:
        x = node.input(0)
        sizes = tuple(node.attrs["sizes"])
        for d, start, size, step in zip(
            x.shape, node.attrs["starts"], sizes, node.attrs["steps"], strict=True
        ):
            if size < 1 or not (0 <= start < d and 0 <= start + (size - 1) * step < d):
                raise ValueError(f"{size} elements from {start} by {step} leave an axis of {d}")
        return [TensorType(x.dtype, sizes)]


def take(b: Builder, x: Value, ranges: Sequence[range]) -> Value:
    """`x` at one range per axis: `x` itself if that is all of it, a constant if it is none."""
    if all(r == range(d) for r, d in zip(ranges, x.shape, strict=True)):
        return x
    if not all(ranges):
        return b.constant(np.zeros([len(r) for r in ranges], x.dtype))
    return b.emit(
        "Slice",
        [x],
        starts=tuple(r.start for r in ranges),
        sizes=tuple(len(r) for r in ranges),
        steps=tuple(r.step for r in ranges),
    )


def _split(b: Builder, node: OnnxNode, x: Value) -> list[Value]:
    axis = axis_of(int(node.attrs.get("axis", 0)), len(x.shape))
    sizes, parts = ints(node, "split", 1), len(node.outputs)
    if sizes is None:
        size = -(-x.shape[axis] // parts)
        sizes = [size] * (parts - 1) + [x.shape[axis] - size * (parts - 1)]
    if sum(sizes) != x.shape[axis] or min(sizes) < 0:
        raise Unsupported(f"an axis of {x.shape[axis]} does not split into {sizes}")
    results, start = list[Value](), 0
    for size in sizes:
        ranges = [range(d) for d in x.shape]
        ranges[axis] = range(start, start + size)
        results.append(take(b, x, ranges))
        start += size
    return results


class Expand(Movement):
    """ONNX Expand-8..13 and Tile-1..13, known shapes only. attrs: shape."""

    name = "Expand"
    layout = of_each_axis("shape")
    onnx = ("Expand", "Tile")

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x = node.inputs[0]
        assert x is not None
        sizes = node.const(1)
        if sizes is None:
            raise Unsupported("it has no shape")
        counts = tuple(int(v) for v in np.ravel(sizes))
        if node.op == "Expand":
            return [expand(b, x, np.broadcast_shapes(x.shape, counts))]
        return [tile(b, x, counts)]

    def infer(self, node: Node) -> list[TensorType]:
        x, shape = node.input(0), tuple(node.attrs["shape"])
        if np.broadcast_shapes(x.shape, shape) != shape:
            raise ValueError(f"{list(x.shape)} does not broadcast to {list(shape)}")
        return [TensorType(x.dtype, shape)]


def expand(b: Builder, x: Value, shape: Shape) -> Value:
    """`x` broadcast to `shape`: `x` itself if it has that shape."""
    return x if x.shape == shape else b.emit("Expand", [x], shape=shape)


def tile(b: Builder, x: Value, counts: Sequence[int]) -> Value:
    """`x` repeated `counts[i]` times along each axis i."""
    repeated = [i for i, r in enumerate(counts) if r != 1]
    # Two axes at a time: each repeated axis takes two of the dims a Copy has.
    for at in range(0, len(repeated), 2):
        now = {i: counts[i] for i in repeated[at : at + 2]}
        shape = x.shape
        x = b.reshape(x, [n for d in shape for n in (1, d)])
        x = expand(b, x, tuple(n for i, d in enumerate(shape) for n in (now.get(i, 1), d)))
        x = b.reshape(x, [d * now.get(i, 1) for i, d in enumerate(shape)])
    return x


class Copy(Movement):
    """Any strided view, made by merging the others. attrs: dims, strides, offset, shape."""

    name = "Copy"

    def infer(self, node: Node) -> list[TensorType]:
        x, shape = node.input(0), tuple(node.attrs["shape"])
        dims, strides, offset = view(node)
        reach = [(d - 1) * s for d, s in zip(dims, strides, strict=True)]
        low = offset + sum(r for r in reach if r < 0)
        high = offset + sum(r for r in reach if r > 0)
        if prod(dims) != prod(shape):
            raise ValueError(f"dims {list(dims)} do not fill a shape of {list(shape)}")
        if low < 0 or high >= x.type.size:
            raise ValueError(f"it reads elements {low} to {high} of {x.type.size}")
        return [TensorType(x.dtype, shape)]


OPS: tuple[OpDef, ...] = (Transpose(), Reshape(), Slice(), Expand(), Copy())
