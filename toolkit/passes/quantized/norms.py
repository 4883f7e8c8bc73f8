"""Norms of lines, in operators that have integers: LayerNorm, and sums of magnitudes.

`convert` keeps the float operators, whose last digits differ; calibration sees what is made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from ...ir import Node, Value
from .._links import Links
from .._pass import NodePass
from ..affine import activation_attrs, both_ways, clamps, scalar
from ..axes import is_kept

LEAST = 1e-30
"""Below any sum of squares, so that a line of zeros stays one."""

SMALL = 1e-5
"""A norm below this is as good as 0: whether it is limited or added to does not show."""


@dataclass(frozen=True)
class _Squares:
    """sum(x * x) + epsilon along `axes`."""

    x: Value
    axes: tuple[int, ...]
    epsilon: float


class UnitLength(NodePass):
    """x over its Euclidean norm is LayerNorm(x, 1 / sqrt(n)) without a mean, n elements a line.

    The norm is a ReduceL2 or the root of a sum of squares, limited from below by a Clip, a Max or a
    Where, or with an epsilon; it divides, or its inverse multiplies.
    """

    name = "unit length"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in ("Div", "Mul") or node.output.dtype != np.float32:
            return False
        ways = both_ways(node) if node.op == "Mul" else [(node.input(0), node.input(1))]
        for x, by in ways:
            found = _norm(links, by) if node.op == "Div" else _inverse(links, by)
            if found is None or found.x is not x or x.shape != node.output.shape:
                continue
            if not is_kept(by.shape, x.shape, found.axes):
                continue
            n = prod(x.shape[a] for a in found.axes)
            attrs = {"axes": found.axes, "epsilon": found.epsilon / n, "centered": False}
            scale = links.constant(np.array(1 / sqrt(n), np.float32), f"{node.output.name}/scale")
            attrs |= activation_attrs(node)
            new = links.emit(node, "LayerNorm", [x, scale, None], attrs, node.output.name)
            links.replace(node, new)
            return True
        return False


class Magnitudes(NodePass):
    """ReduceL1(x) is ReduceSum(Abs(x))."""

    name = "magnitudes"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "ReduceL1" or clamps(node):
            return False
        name = node.output.name
        sizes = links.emit(node, "Abs", [node.input(0)], {}, f"{name}/sizes")
        links.replace(node, links.emit(node, "ReduceSum", [sizes], dict(node.attrs), name))
        return True


def _inverse(links: Links, v: Value) -> _Squares | None:
    """What `v` is one over the norm of."""
    node = links.producer(v)
    if node is None or clamps(node):
        return None
    if node.op == "Reciprocal":
        return _norm(links, node.input(0))
    if node.op == "Div" and scalar(node.input(0)) == 1:
        return _norm(links, node.input(1))
    if node.op == "Pow" and scalar(node.input(1)) == -0.5:
        return _squares(links, node.input(0))
    return None


def _norm(links: Links, v: Value) -> _Squares | None:
    """What `v` is the norm of, a limit below it as an epsilon."""
    v, least = _limited(links, v)
    node = links.producer(v)
    if node is None or clamps(node) or least > SMALL:
        return None
    if node.op == "ReduceL2":
        return _Squares(node.input(0), node.attrs["axes"], max(least * least, LEAST))
    if node.op == "Sqrt" or (node.op == "Pow" and scalar(node.input(1)) == 0.5):
        found = _squares(links, node.input(0))
        if found is not None:
            return _Squares(found.x, found.axes, max(found.epsilon, least * least))
    return None


def _squares(links: Links, v: Value) -> _Squares | None:
    v, least = _limited(links, v)
    if least > SMALL * SMALL:
        return None
    node = links.producer(v, "Add")
    for total, e in both_ways(node) if node is not None and not clamps(node) else ():
        epsilon = scalar(e)
        if epsilon is not None and epsilon > 0:
            found = _plain_squares(links, total)
            return found and _Squares(found.x, found.axes, epsilon)
    found = _plain_squares(links, v)
    return found and _Squares(found.x, found.axes, max(least, LEAST))


def _plain_squares(links: Links, v: Value) -> _Squares | None:
    node = links.producer(v)
    if node is None or clamps(node):
        return None
    if node.op == "ReduceSumSquare":
        return _Squares(node.input(0), node.attrs["axes"], 0.0)
    if node.op != "ReduceSum":
        return None
    square = links.producer(node.input(0))
    if square is None or clamps(square):
        return None
    twice = square.op == "Mul" and square.input(0) is square.input(1)
    if twice or (square.op == "Pow" and scalar(square.input(1)) == 2):
        return _Squares(square.input(0), node.attrs["axes"], 0.0)
    return None


def _limited(links: Links, v: Value) -> tuple[Value, float]:
    """`v` without what limits it from below, and the limit; 0 where only 0 itself is replaced."""
    node = links.producer(v)
    if node is None or clamps(node):
        return v, 0.0
    if node.op == "Clip" and node.attrs["max"] == np.inf and node.attrs["min"] >= 0:
        return node.input(0), float(node.attrs["min"])
    if node.op == "Max":
        for x, limit in both_ways(node):
            least = scalar(limit)
            if least is not None and least >= 0:
                return x, least
    if node.op == "Where":
        zero, norm = links.producer(node.input(0), "Equal"), node.input(2)
        if zero is not None and any(a is norm and scalar(b) == 0 for a, b in both_ways(zero)):
            return norm, 0.0
    return v, 0.0
