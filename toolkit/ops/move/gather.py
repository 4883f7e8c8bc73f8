"""Gather: slices of a tensor, chosen by a tensor of indices."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ...format.schema import OpKind
from ...ir import Array, Node, Shape, TensorType, Value
from ...numerics import FLOAT, HALF, INTEGERS, integer_precisions
from .._opdef import ALONG_AXIS, Blob, Builder, Lowered, OnnxNode, OpDef, Unsupported
from ._indices import element_places, point_places, rows_at
from .movement import COPY_DIMS, as_copy, axis_of, take


class Gather(OpDef):
    """ONNX Gather-1..13, GatherND-11..13, GatherElements-11..13, ArrayFeatureExtractor-1.

    attrs: axis, from the front. Inputs: x of any element type, indices int32 (negative ones count
    from the end). Constant indices at regular steps become a Slice. An index outside the axis stops
    the run.
    """

    name = "Gather"
    layout = ALONG_AXIS
    onnx = (
        "Gather",
        "GatherND",
        "GatherElements",
        "ai.onnx.ml.ArrayFeatureExtractor",
    )
    exactness = "exact"
    shared = True
    selects = True
    precisions = integer_precisions(*INTEGERS)
    reals = (FLOAT, HALF)

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        x, indices = node.inputs[0], node.inputs[1]
        assert x is not None and indices is not None
        if (
            node.op == "ArrayFeatureExtractor"
            and x.const is not None
            and x.const.dtype.kind in "OSU"
        ):
            return [_named(b, x.const, indices)]
        if node.op == "ArrayFeatureExtractor":
            picked = taken(b, x, b.reshape(indices, (indices.type.size,)), len(x.shape) - 1)
            lead = x.shape[:-1] if len(x.shape) > 1 else (1,)
            return [b.reshape(picked, (*lead, indices.type.size))]
        axis = axis_of(int(node.attrs.get("axis", 0)), len(x.shape))
        if node.op == "Gather":
            return [taken(b, x, indices, axis)]
        if indices.const is None:
            return [self._computed(b, node, x, indices, axis)]
        at = indices.const
        if node.op.endswith("Elements"):
            at = np.moveaxis(_grid(at.shape, {axis: at}), 0, -1)
        return [self._pick(b, x, at, int(node.attrs.get("batch_dims", 0)))]

    def _computed(self, b: Builder, node: OnnxNode, x: Value, at: Value, axis: int) -> Value:
        """GatherElements and GatherND of indices that are computed."""
        if node.op == "GatherElements":
            return rows_at(b, x, element_places(b, x.shape, at, axis), ())
        depth = int(node.attrs.get("batch_dims", 0))
        lead = x.shape[: depth + at.shape[-1]]
        return rows_at(b, x, point_places(b, lead, at, depth), x.shape[len(lead) :])

    def _pick(self, b: Builder, x: Value, at: Array, batch: int) -> Value:
        """What GatherND gives: x at each of `at` [batch.., .., k], of the k axes behind batch."""
        depth = batch + at.shape[-1]
        lead, rest = x.shape[:depth], x.shape[depth:]
        places = at.shape[:-1]
        rows = _rows(at, x.shape, batch)
        view = as_copy(rows.ravel())
        if view is not None and 1 < len(view[0]) < COPY_DIMS:
            dims, strides, offset = view
            size = prod(rest)
            return b.emit(
                "Copy", [x], dims=(*dims, size), strides=(*(s * size for s in strides), 1),
                offset=offset * size, shape=(*places, *rest),
            )  # fmt: skip
        y = taken(b, b.reshape(x, (prod(lead), *rest)), b.constant(rows.ravel()), 0)
        return b.reshape(y, (*places, *rest))

    def infer(self, node: Node) -> list[TensorType]:
        x, indices, axis = node.input(0), node.input(1), node.attrs["axis"]
        if indices.dtype != np.int32:
            raise ValueError(f"indices are int32, not {indices.dtype}")
        return [TensorType(x.dtype, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))]

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        x, indices = inputs[0], inputs[1]
        assert x is not None and indices is not None
        return [np.take(x, indices, node.attrs["axis"])]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        x, indices, axis = node.input(0), node.input(1), node.attrs["axis"]
        params = {
            "outer": prod(x.shape[:axis]),
            "axis": x.shape[axis],
            "inner_bytes": prod(x.shape[axis + 1 :]) * x.dtype.itemsize,
            "count": indices.type.size,
        }
        return Lowered(OpKind.Gather, params, [x, indices])


def taken(b: Builder, x: Value, indices: Value, axis: int) -> Value:
    """Slices of `x` at `indices` along an axis."""
    if indices.const is None:
        return b.emit("Gather", [x, indices], axis=axis)
    size = x.shape[axis]
    at = np.where(indices.const < 0, indices.const + size, indices.const).astype(np.int64)
    if at.size == 0 or at.min() < 0 or at.max() >= size:
        raise Unsupported(f"it gathers {indices.const.tolist()} of an axis of {size}")
    flat = at.ravel()
    step = int(flat[1] - flat[0]) if flat.size > 1 else 1
    if step == 0 or np.any(np.diff(flat) != step):
        return b.emit("Gather", [x, b.constant(at.astype(np.int32), indices.name)], axis=axis)
    ranges = [range(d) for d in x.shape]
    ranges[axis] = range(int(flat[0]), int(flat[-1]) + (1 if step > 0 else -1), step)
    y = take(b, x, ranges)
    return b.reshape(y, (*x.shape[:axis], *at.shape, *x.shape[axis + 1 :]))


def constant_places(at: Array, shape: Shape, axis: int | None) -> NDArray[np.int64]:
    """Where constant indices point in a tensor, flattened over the axes that they index: those of
    ScatterElements along `axis`, else points [.., k]. Raises Unsupported outside of it."""
    if axis is not None:
        at = np.moveaxis(_grid(at.shape, {axis: at}), 0, -1)
    return _rows(at, shape, 0)


def overwritten(b: Builder, x: Value, at: Array, new: Value, axis: int | None) -> Value:
    """x with others at constant places, gathered from what was there and is new; of several at one
    place the last."""
    rest = () if axis is not None else x.shape[at.shape[-1] :]
    places, count = constant_places(at, x.shape, axis), x.type.size // prod(rest)
    order = np.arange(count)
    order[places.ravel()] = count + np.arange(places.size)
    rows = [b.reshape(v, (v.type.size // prod(rest), *rest)) for v in (x, new)]
    both = b.emit("Concat", rows, axis=0)
    return b.reshape(taken(b, both, b.constant(order), 0), x.shape)


def _named(b: Builder, texts: Array, indices: Value) -> Value:
    """Of constant strings those at the indices: the indices themselves, with these labels."""
    words = [t.decode() if isinstance(t, bytes) else str(t) for t in texts.ravel()]
    if len(words) != texts.shape[-1]:
        raise Unsupported("it picks from several rows of strings", "give one row")
    return b.label(b.reshape(indices, (1, indices.type.size)), words)


def _rows(at: Array, shape: Shape, batch: int) -> NDArray[np.int64]:
    """Where each of `at` [batch.., .., k] is in the first batch + k axes, flattened."""
    lead, places = shape[: batch + at.shape[-1]], at.shape[:-1]
    index = np.stack([*_grid(places, {})[:batch], *np.moveaxis(at, -1, 0)])
    sizes = np.reshape(lead, (-1, *(1,) * len(places)))
    index = np.where(index < 0, index + sizes, index)
    if index.size == 0 or np.any((index < 0) | (index >= sizes)):
        raise Unsupported(f"it asks for {at.tolist()} of axes of {list(lead)}")
    rows: NDArray[np.int64] = np.ravel_multi_index(list(index), lead)
    return rows


def _grid(shape: tuple[int, ...], known: dict[int, Array]) -> NDArray[np.int64]:
    """The coordinates [axis, *shape] of every place; of the axes in `known`, those given."""
    grid = np.indices(shape, np.int64)
    for axis, at in known.items():
        grid[axis] = at
    return grid


OPS: tuple[OpDef, ...] = (Gather(),)
