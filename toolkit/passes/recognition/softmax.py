"""Softmax written out is recognized."""

from __future__ import annotations

import numpy as np

from ...ir import Node, Value
from .._links import Links
from .._pass import NodePass
from ..affine import clamps
from ..axes import is_kept


class SoftmaxParts(NodePass):
    """exp(x - m) / sum(exp(x - m)) along one axis is Softmax(x).

    m is the maximum of x along the axis, or of that and a constant, or absent: any m that is the
    same along the axis gives the same quotient. Nobody else may read the parts.
    """

    name = "softmax"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Div" or clamps(node):
            return False
        exp = links.producer(node.input(0), "Exp")
        if exp is None or len(links.users(exp.output)) != 2 or links.is_output(exp.output):
            return False
        axis = _reduced(links, node.input(1), exp.output, "ReduceSum")
        if axis is None:
            return False
        x = _unshifted(links, exp.input(0), axis)
        if x.shape != node.output.shape:
            return False
        links.replace(node, links.emit(node, "Softmax", [x], {"axis": axis}, node.output.name))
        return True


def _reduced(links: Links, v: Value, x: Value, op: str) -> int | None:
    """The axis along which `v` is the reduction `op` of `x`, in a shape that broadcasts with it."""
    node = links.source(v)
    if node is None or node.op != op or node.input(0) is not x or len(node.attrs["axes"]) != 1:
        return None
    axis = int(node.attrs["axes"][0])
    return axis if is_kept(v.shape, x.shape, (axis,)) else None


def _unshifted(links: Links, v: Value, axis: int) -> Value:
    """x of v = x - m, or v itself."""
    sub = links.private(v, "Sub")
    if sub is None or clamps(sub) or sub.input(0).const is not None:
        return v
    x, m = sub.input(0), sub.input(1)
    largest = links.producer(m)
    shape = m.shape
    while largest is not None and largest.op in ("Reshape", "Max"):
        others = [w for w in largest.inputs if w is not None and w.const is None]
        scalars = all(w.const is None or w.const.size == 1 for w in largest.inputs if w is not None)
        if len(others) != 1 or not scalars or np.prod(others[0].shape) != np.prod(shape):
            return v
        m = others[0]
        largest = links.producer(m)
    if largest is None or largest.op != "ReduceMax" or largest.input(0) is not x:
        return v
    same = tuple(largest.attrs["axes"]) == (axis,) and is_kept(shape, x.shape, (axis,))
    return x if same else v
