"""Weights of a quantized model that leave [-127, 127]: uint8 ones less their zero point.

They are a sum of parts that stay inside, and each part multiplies its own copy of the input: the
accumulator is the same.
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Node, TensorType, Value, constant
from ...numerics import WEIGHT_TYPES
from ...ops import definition
from ...ops.move.gather import Gather
from .given import grid_steps

MOST = 255
LIMIT = WEIGHT_TYPES[8].limit


def split_wide_weights(graph: Graph) -> None:
    """Let operators whose weights have 9 bits read channels of their input several times."""
    nodes: list[Node] = []
    for node in graph.nodes:
        parts = _parts(node)
        if parts is None:
            nodes.append(node)
            continue
        weight, columns = parts
        nodes += [_copies(node, columns), node]
        node.inputs[:2] = [nodes[-2].output, weight]
    graph.nodes = nodes


def _parts(node: Node) -> tuple[Value, list[int]] | None:
    """The weights in parts, and which of a group's input channels each column of them reads; None
    where they fit one part."""
    at = definition(node.op).weight
    if at is None or node.input(0).quant is None or node.output.quant is None:
        return None
    weight = node.input(at)
    if weight.const is None:
        return None
    rows = weight.const.reshape(len(weight.const), -1)
    if grid_steps(rows, LIMIT) is not None or (steps := grid_steps(rows, MOST)) is None:
        return None
    scales = np.where(steps > 0, steps, 1.0)[:, None]
    left = np.rint(rows.astype(np.float64) / scales).reshape(-1, weight.shape[-1])
    found, columns = [], []
    picked = np.arange(weight.shape[-1])
    while len(picked):
        part = np.clip(left[:, picked], -LIMIT, LIMIT)
        left[:, picked] -= part
        found.append(part)
        columns += picked.tolist()
        picked = np.flatnonzero(left.any(axis=0))
    shape = (*weight.shape[:-1], len(columns))
    q = np.concatenate(found, axis=1).reshape(len(rows), -1)
    return constant((q * scales).astype(np.float32).reshape(shape), weight.name), columns


def _copies(node: Node, columns: list[int]) -> Node:
    x, groups = node.input(0), int(node.attrs.get("groups", 1))
    starts = np.arange(groups) * (x.shape[-1] // groups)
    index = (starts[:, None] + np.array(columns)).ravel().astype(np.int32)
    shape = (*x.shape[:-1], len(index))
    y = Value(f"{x.name}.for.{node.output.name}", TensorType(x.dtype, shape), None, x.quant)
    indices = constant(index, f"{y.name}.index")
    return Node(Gather.name, [x, indices], [y], {"axis": len(shape) - 1}, y.name)
