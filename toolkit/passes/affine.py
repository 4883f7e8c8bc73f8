"""Nodes that scale or shift every channel by a constant, seen as y = scale * x + shift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ir import Node, Value

LINEAR = ("Conv2d", "ConvTranspose2d", "FullyConnected")
"""Operators with weights of one row an output channel, and a bias: inputs x, w, b."""

Real = NDArray[np.float64]


@dataclass(frozen=True)
class Affine:
    """y = scale * x + shift, each one number a channel (the last axis)."""

    x: Value
    scale: Real
    shift: Real


def as_affine(node: Node) -> Affine | None:
    """The node as an Affine; None if it is none. A fused clamp is not looked at."""
    if node.op not in ("Add", "Sub", "Mul", "Div"):
        return None
    side = constant_side(node)
    if side is None:
        return None
    x, c, left = node.input(1 - side), node.input(side), side == 0
    k = per_channel(c, node.output.shape)
    if k is None or x.shape != node.output.shape:
        return None
    one, zero = np.ones_like(k), np.zeros_like(k)
    if node.op == "Add":
        return Affine(x, one, k)
    if node.op == "Sub":
        return Affine(x, -one, k) if left else Affine(x, one, -k)
    if node.op == "Mul":
        return Affine(x, k, zero)
    if left or not np.all(k):
        return None
    return Affine(x, 1 / k, zero)


def per_channel(c: Value, shape: tuple[int, ...]) -> Real | None:
    """A constant that differs only along the last axis of `shape`, one number a channel."""
    if c.const is None or len(c.shape) > len(shape) or not shape:
        return None
    if any(d != 1 for d in c.shape[:-1]):
        return None
    flat = np.ravel(c.const).astype(np.float64)
    return np.broadcast_to(flat, shape[-1:]).copy() if flat.size in (1, shape[-1]) else None


def both_ways(node: Node) -> list[tuple[Value, Value]]:
    """The two inputs, in either order."""
    a, b = node.input(0), node.input(1)
    return [(a, b), (b, a)]


def scalar(v: Value) -> float | None:
    """The one number that a constant holds; None of another value."""
    return None if v.const is None or v.const.size != 1 else float(np.ravel(v.const)[0])


def constant_side(node: Node) -> int | None:
    """Which of a float node's two inputs alone is constant."""
    constant = [v.const is not None for v in (node.input(0), node.input(1))]
    return constant.index(True) if sum(constant) == 1 and node.output.dtype == np.float32 else None


def clamps(node: Node) -> bool:
    """Whether the node has a fused activation."""
    low, high = node.attrs.get("act_min", -np.inf), node.attrs.get("act_max", np.inf)
    return bool(np.isfinite(low) or np.isfinite(high))


def activation_attrs(node: Node) -> dict[str, Any]:
    """The fused activation, to be handed to another node."""
    return {k: node.attrs[k] for k in ("act_min", "act_max") if k in node.attrs}


def weights(node: Node) -> tuple[Real, Real] | None:
    """(w, b) of a linear node, in double; None when they are computed or not float."""
    w, b = node.input(1), node.inputs[2] if len(node.inputs) > 2 else None
    if w.const is None or w.dtype != np.float32 or (b is not None and b.const is None):
        return None
    bias = np.zeros(w.shape[0]) if b is None or b.const is None else b.const.astype(np.float64)
    return w.const.astype(np.float64), np.broadcast_to(bias.ravel(), (w.shape[0],)).copy()


def input_factors(values: Real, node: Node) -> Real:
    """One number an input channel, broadcastable to the node's weights [O, ..., C / groups]."""
    w, groups = node.input(1).shape, int(node.attrs.get("groups", 1))
    rows = np.repeat(values.reshape(groups, w[-1]), w[0] // groups, axis=0)
    return rows.reshape(w[0], *(1,) * (len(w) - 2), w[-1])


def finite(*arrays: Real) -> bool:
    """Whether all are finite as float32."""
    with np.errstate(over="ignore"):
        return all(bool(np.all(np.isfinite(a.astype(np.float32)))) for a in arrays)
