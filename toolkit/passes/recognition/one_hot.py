"""A one-hot vector times a matrix is a row of the matrix."""

from __future__ import annotations

import numpy as np

from ...ir import Array, Node, Value
from .._links import Links
from .._pass import NodePass
from ..affine import both_ways, clamps


class OneHot(NodePass):
    """FullyConnected of Cast(Equal(x, [0 .. n-1])), x int32 with one element per vector, is Gather.

    The table gets a row for what equals none of them: the bias, at index n and (from the end) -1,
    and x is clamped to [-1, n]. The same float32 results, without n products for each.
    """

    name = "one-hot"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "FullyConnected" or clamps(node):
            return False
        x = _index(links, node.input(0))
        weight, bias = node.input(1).const, node.inputs[2] if len(node.inputs) > 2 else None
        if x is None or weight is None or (bias is not None and bias.const is None):
            return False
        rows = np.concatenate([weight.T, np.zeros((1, weight.shape[0]), np.float32)])
        table = rows if bias is None else rows + np.asarray(bias.const)
        n = weight.shape[1]
        for op, limit in (("Max", -1), ("Min", n)):
            bound = links.constant(np.array(limit, np.int32), f"{x.name}.limit")
            x = links.emit(node, op, [x, bound], {}, f"{x.name}.{op.lower()}")
        shape = node.output.shape[:-1]
        if x.shape != shape:
            x = links.emit(node, "Reshape", [x], {"shape": shape}, f"{x.name}.index")
        inputs = [links.constant(table.astype(np.float32), node.input(1).name), x]
        links.replace(node, links.emit(node, "Gather", inputs, {"axis": 0}, node.output.name))
        return True


def _index(links: Links, hot: Value) -> Value | None:
    """x, if `hot` is one where its index along the last axis equals x, and zero elsewhere."""
    cast = links.producer(hot, "Cast")
    equal = None if cast is None else links.producer(cast.input(0), "Equal")
    if equal is None:
        return None
    for x, other in both_ways(equal):
        numbers = other.const
        if x.const is not None or x.dtype != np.int32 or numbers is None:
            continue
        alone = x.shape[:-1] == hot.shape[:-1] and x.shape[-1:] == (1,)
        if alone and _counts(numbers, hot.shape[-1]):
            return x
    return None


def _counts(numbers: Array, n: int) -> bool:
    """Whether the last axis is 0 .. n-1, whatever the others."""
    return numbers.shape[-1] == n and bool(np.all(numbers == np.arange(n)))
