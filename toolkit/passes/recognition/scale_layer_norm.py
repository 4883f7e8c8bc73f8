"""LayerNorm takes in what scales and shifts it behind."""

from __future__ import annotations

import numpy as np

from ...ir import Array, Node, Shape, Value
from ...ops._broadcast import broadcast
from .._links import Links
from .._pass import NodePass
from ..affine import activation_attrs, both_ways, clamps
from ..axes import inverse
from .layer_norm import broadcasts
from .splits import common_split, split_array, split_axes


class ScaleLayerNorm(NodePass):
    """If nobody else reads it,

    1. LayerNorm times, plus or minus a constant is one with that scale or bias;
    2. so it is with a Reshape, a Transpose or one after the other before the constant: torch
       exports GroupNorm so, whose lines are of groups and whose constants of channels.
    """

    name = "scale layer normalization"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in ("Mul", "Div", "Add", "Sub") or node.output.dtype != np.float32:
            return False
        return _scale(links, node) or _scale_before_movement(links, node)


def _scaled(node: Node) -> list[tuple[Value, Value]]:
    """What the node may scale or shift, with what by."""
    return both_ways(node) if node.op in ("Mul", "Add") else both_ways(node)[:1]


def _scale(links: Links, node: Node) -> bool:
    """Case 1."""
    for y, c in _scaled(node):
        norm = links.private(y, "LayerNorm")
        if norm is None or clamps(norm) or c.const is None or not broadcasts(y, c):
            continue
        scale, bias = [*norm.inputs[1:], None, None][:2]
        by = c.const.astype(np.float64)
        if node.op in ("Mul", "Div"):
            by = by if node.op == "Mul" else 1 / by
            scale = _combined(links, scale, by, times=True)
            bias = None if bias is None else _combined(links, bias, by, times=True)
        else:
            bias = _combined(links, bias, by if node.op == "Add" else -by, times=False)
        links.rewire(norm, [norm.input(0), scale, bias, *norm.inputs[3:]], **activation_attrs(node))
        links.take_over(norm, node)
        return True
    return False


def _scale_before_movement(links: Links, node: Node) -> bool:
    """Case 2: the constant moves before them, for case 1."""
    for y, c in _scaled(node):
        transpose = links.private(y, "Transpose")
        before = y if transpose is None else transpose.input(0)
        reshape = links.private(before, "Reshape")
        norm = links.private(before if reshape is None else reshape.input(0), "LayerNorm")
        if norm is None or norm.output is y or clamps(norm):
            continue
        if c.const is None or not broadcasts(y, c):
            continue
        by, perm = c.const.reshape((1,) * (len(y.shape) - len(c.shape)) + c.shape), None
        if transpose is not None:
            perm = transpose.attrs["perm"]
            by = by.transpose(inverse(perm))
        made = _scaled_in_parts(links, node, norm, y, by, before.shape)
        if made is None:
            continue
        made = links.emit(node, "Reshape", [made], {"shape": before.shape}, before.name)
        if perm is not None:
            made = links.emit(node, "Transpose", [made], {"perm": perm}, y.name)
        links.replace(node, made)
        return True
    return False


def _scaled_in_parts(
    links: Links, node: Node, norm: Node, y: Value, by: Array, shape: Shape
) -> Value | None:
    """`node` on the normalization, both with axes that make up those of the two shapes.

    `by` stands for the constant as it broadcasts to `shape`, which the normalization has behind it.
    None where no axes make up both.
    """
    x = norm.input(0)
    dims, _, steps = broadcast(shape, by.shape)
    split = common_split(x.shape, tuple(dims))
    if split is None or not (axes := split_axes(x.shape, split, norm.attrs["axes"])):
        return None
    given = [
        v if v is None or v.const is None
        else links.constant(split_array(v.const, x.shape, split), v.name)
        for v in norm.inputs[1:]
    ]  # fmt: skip
    viewed = links.emit(node, "Reshape", [x], {"shape": split}, x.name)
    attrs = norm.attrs | {"axes": axes}
    normal = links.emit(node, "LayerNorm", [viewed, *given], attrs, norm.output.name)
    varying = [d if step else 1 for d, step in zip(dims, steps, strict=True)]
    c = links.constant(split_array(by.reshape(varying), tuple(dims), split), f"{y.name}.by")
    inputs = [normal if v is y else c for v in node.inputs]
    return links.emit(node, node.op, inputs, activation_attrs(node), node.output.name)


def _combined(links: Links, v: Value | None, by: Array, times: bool) -> Value:
    if v is None or v.const is None:
        return links.constant(by.astype(np.float32), "scale" if times else "bias")
    made = v.const * by if times else v.const + by
    return links.constant(made.astype(np.float32), v.name)
