"""Layer normalization written out is recognized."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ir import Node, Value
from ...ops.reduction.pool import takes_all
from .._links import Links
from .._pass import NodePass
from ..affine import activation_attrs, both_ways, clamps, scalar
from ..axes import is_kept


@dataclass(frozen=True)
class _Inverse:
    """1 / sqrt(mean((x - mean(x))^2) + epsilon), or of x itself if not centered."""

    x: Value
    axes: tuple[int, ...]
    epsilon: float
    centered: bool


class LayerNormParts(NodePass):
    """With d = x - mean(x), or d = x, and r = 1 / sqrt(mean(d * d) + epsilon) along the same axes:

    1. d / sqrt(..) and d * k, k = r or r * scale, are LayerNorm(x, scale);
    2. x * k + (bias - mean(x) * k) is LayerNorm(x, scale, bias).

    1/sqrt may be a Div, a Reciprocal or a power, the square a Mul or a power, a mean of an image a
    pool, the variance also mean(x * x) - mean(x)^2, or 0 where rounding makes that less. Who else
    reads the parts does not matter.
    """

    name = "layer normalization"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in ("Mul", "Div", "Add", "Sub") or node.output.dtype != np.float32:
            return False
        return _normalize(links, node) or _shifted(links, node)


def _normalize(links: Links, node: Node) -> bool:
    """Case 1."""
    for d, k in both_ways(node) if node.op == "Mul" else ():
        factor = _factor(links, k)
        if factor is not None and _is_deviation(links, d, factor[0]):
            return _replace(links, node, *factor, None)
    if node.op != "Div":
        return False
    inverse = _of_root(links, node.input(1))
    if inverse is None or not _is_deviation(links, node.input(0), inverse):
        return False
    return _replace(links, node, inverse, None, None)


def _shifted(links: Links, node: Node) -> bool:
    """Case 2, x * k + (bias - mean * k)."""
    for scaled, offset in both_ways(node) if node.op == "Add" else ():
        product, rest = links.producer(scaled, "Mul"), links.producer(offset, "Sub")
        if product is None or rest is None or clamps(product) or clamps(rest):
            continue
        bias, shift = rest.input(0), links.producer(rest.input(1), "Mul")
        if bias.const is None or shift is None or clamps(shift):
            continue
        for x, k in both_ways(product):
            factor = _factor(links, k)
            if factor is None or factor[0].x is not x or not factor[0].centered:
                continue
            inverse, scale = factor
            means = [m for m, other in both_ways(shift) if other is k]
            if any(_mean_axes(links, m, x) == inverse.axes for m in means):
                return _replace(links, node, inverse, scale, bias)
    return False


def _factor(links: Links, k: Value) -> tuple[_Inverse, Value | None] | None:
    """(r, scale) of k = r or r * scale."""
    inverse = _inverse(links, k)
    if inverse is not None:
        return inverse, None
    product = links.producer(k, "Mul")
    if product is None or clamps(product):
        return None
    for r, scale in both_ways(product):
        inverse = _inverse(links, r)
        if inverse is not None and scale.const is not None:
            return inverse, scale
    return None


def _replace(
    links: Links, node: Node, inverse: _Inverse, scale: Value | None, bias: Value | None
) -> bool:
    x = inverse.x
    if node.output.shape != x.shape or not broadcasts(x, scale) or not broadcasts(x, bias):
        return False
    attrs = {"axes": inverse.axes, "epsilon": inverse.epsilon, "centered": inverse.centered}
    attrs |= activation_attrs(node)
    new = links.emit(node, "LayerNorm", [x, scale, bias], attrs, node.output.name)
    links.replace(node, new)
    return True


def broadcasts(x: Value, v: Value | None) -> bool:
    return v is None or np.broadcast_shapes(x.shape, v.shape) == x.shape


def _inverse(links: Links, v: Value) -> _Inverse | None:
    """What `v` is one over the deviation of."""
    node = links.producer(v)
    if node is None or clamps(node):
        return None
    if node.op == "Reciprocal":
        return _of_root(links, node.input(0))
    if node.op == "Div" and scalar(node.input(0)) == 1:
        return _of_root(links, node.input(1))
    if node.op == "Pow" and scalar(node.input(1)) == -0.5:
        return _of_variance(links, node.input(0))
    return None


def _of_root(links: Links, v: Value) -> _Inverse | None:
    """What `v` is the deviation of."""
    node = links.producer(v)
    if node is None or clamps(node):
        return None
    if node.op == "Sqrt" or (node.op == "Pow" and scalar(node.input(1)) == 0.5):
        return _of_variance(links, node.input(0))
    return None


def _of_variance(links: Links, v: Value) -> _Inverse | None:
    """What v - epsilon is the mean square of."""
    node = links.producer(v, "Add")
    if node is None or clamps(node):
        return None
    for variance, e in both_ways(node):
        epsilon = scalar(e)
        if epsilon is None or epsilon <= 0:
            continue
        found = _of_squares(links, variance, epsilon) or _of_moments(links, variance, epsilon)
        if found and is_kept(variance.shape, found.x.shape, found.axes):
            return found
    return None


def _of_squares(links: Links, variance: Value, epsilon: float) -> _Inverse | None:
    """Of mean(d * d), d = x - mean(x) or x."""
    mean = _mean(links, variance)
    if mean is None:
        return None
    squares, axes = mean
    d = _square_root(links, squares)
    if d is None:
        return None
    sub = links.producer(d, "Sub")
    centered = sub is not None and not clamps(sub) and sub.input(0).shape == d.shape
    if sub and centered and _mean_axes(links, sub.input(1), sub.input(0)) == axes:
        return _Inverse(sub.input(0), axes, epsilon, centered=True)
    return _Inverse(d, axes, epsilon, centered=False)


def _of_moments(links: Links, variance: Value, epsilon: float) -> _Inverse | None:
    """Of mean(x * x) - mean(x)^2, in whatever shape both have."""
    node = _not_limited(links, links.source(variance))
    if node is None or node.op != "Sub" or clamps(node):
        return None
    inverse, mean = _of_squares(links, node.input(0), epsilon), _square_root(links, node.input(1))
    if inverse is None or inverse.centered or mean is None or mean.shape != node.input(0).shape:
        return None
    if _mean(links, mean) != (inverse.x, inverse.axes):
        return None
    return _Inverse(inverse.x, inverse.axes, epsilon, centered=True)


def _not_limited(links: Links, node: Node | None) -> Node | None:
    """What a Max with 0 or less limits from below, which a variance never needs; else the node."""
    if node is None or node.op != "Max" or clamps(node):
        return node
    for x, limit in both_ways(node):
        least = scalar(limit)
        if least is not None and least <= 0:
            return links.producer(x)
    return node


def _square_root(links: Links, v: Value) -> Value | None:
    """x of v = x * x."""
    node = links.producer(v)
    if node is None or clamps(node):
        return None
    if node.op == "Mul" and node.input(0) is node.input(1):
        return node.input(0)
    if node.op == "Pow" and scalar(node.input(1)) == 2:
        return node.input(0)
    return None


def _is_deviation(links: Links, d: Value, inverse: _Inverse) -> bool:
    """Whether d = x - mean(x), or x if the inverse is not centered."""
    if not inverse.centered:
        return d is inverse.x
    sub = links.producer(d, "Sub")
    if sub is None or clamps(sub) or sub.input(0) is not inverse.x:
        return False
    return _mean_axes(links, sub.input(1), inverse.x) == inverse.axes


def _mean_axes(links: Links, v: Value, x: Value) -> tuple[int, ...] | None:
    """The axes of which `v` is the mean of `x`, kept with size 1."""
    mean = _mean(links, v)
    if mean is None or mean[0] is not x:
        return None
    return mean[1] if is_kept(v.shape, x.shape, mean[1]) else None


def _mean(links: Links, v: Value) -> tuple[Value, tuple[int, ...]] | None:
    """What `v`, whatever its shape, is the mean of, and along which axes."""
    node = links.source(v)
    if node is None or clamps(node):
        return None
    if node.op == "ReduceMean":
        return node.input(0), tuple(node.attrs["axes"])
    if node.op == "AvgPool2d" and takes_all(node):
        return node.input(0), (1, 2)
    return None
