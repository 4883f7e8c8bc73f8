"""Activation functions written as products: HardSigmoid, HardSwish, Gelu, GeluTanh."""

from __future__ import annotations

import numpy as np

from ...ir import Node, Value
from .._links import Links
from .._pass import NodePass
from ..affine import both_ways, clamps, scalar

TOLERANCE = 1e-4
"""Relative; exporters write 1/6 and 1/sqrt(2) with few digits."""


class Products(NodePass):
    """A tree of Mul whose parts nobody else reads, with all its constant scalars as one factor k:

    1. k * clip(x + 3, 0, 6) with k = 1/6, or k * clip(x + b, 0, 1 / k), is HardSigmoid;
    2. x * HardSigmoid(x) with alpha = 1/6, beta = 1/2, or x * clip(x + 3, 0, 6) / 6, is HardSwish;
    3. 0.5 * x * (1 + erf(x / sqrt(2))) is Gelu;
    4. 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))) is GeluTanh.
    """

    name = "activation functions"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op != "Mul" or clamps(node) or node.output.dtype != np.float32:
            return False
        leaves, k = _factors(links, node, 1.0)
        if len(leaves) == 1:
            found = _hard_sigmoid(links, leaves[0], k)
        elif len(leaves) == 2:
            found = _of_two(links, leaves, k)
        else:
            return False
        if found is None or found[1].shape != node.output.shape:
            return False
        op, x, attrs = found
        new = links.emit(node, op, [x], attrs, node.output.name)
        links.replace(node, new)
        return True


Found = tuple[str, Value, dict[str, float]]


def _factors(links: Links, node: Node, k: float) -> tuple[list[Value], float]:
    leaves: list[Value] = []
    for v in (node.input(0), node.input(1)):
        if (factor := scalar(v)) is not None:
            k *= factor
            continue
        inner = links.private(v, "Mul")
        if inner is None or clamps(inner):
            leaves.append(v)
        else:
            more, k = _factors(links, inner, k)
            leaves += more
    return leaves, k


def _near(a: float, b: float) -> bool:
    return bool(abs(a - b) <= TOLERANCE * abs(b))


def _plus(links: Links, v: Value) -> tuple[Value, float] | None:
    """(x, c) of v = x + c."""
    node = links.producer(v, "Add")
    if node is None or clamps(node):
        return None
    for x, c in both_ways(node):
        if (number := scalar(c)) is not None and x.const is None:
            return x, number
    return None


def _hard_sigmoid(links: Links, v: Value, k: float) -> Found | None:
    clip = links.private(v, "Clip")
    inner = None if clip is None else _plus(links, clip.input(0))
    if clip is None or inner is None or k <= 0:
        return None
    low, high = float(clip.attrs["min"]), float(clip.attrs["max"])
    if low != 0 or not _near(high * k, 1.0):
        return None
    return "HardSigmoid", inner[0], {"alpha": k, "beta": inner[1] * k}


def _of_two(links: Links, leaves: list[Value], k: float) -> Found | None:
    for x, gate in (leaves, leaves[::-1]):
        if _is_hard_swish(links, x, gate, k):
            return "HardSwish", x, {}
        if _near(k, 0.5) and _is_erf_gate(links, x, gate):
            return "Gelu", x, {}
        if _near(k, 0.5) and _is_tanh_gate(links, x, gate):
            return "GeluTanh", x, {}
    return None


def _is_hard_swish(links: Links, x: Value, gate: Value, k: float) -> bool:
    ready = links.private(gate, "HardSigmoid")
    if ready is not None and _near(k, 1.0):
        alpha, beta = ready.attrs["alpha"], ready.attrs["beta"]
        return ready.input(0) is x and _near(alpha, 1 / 6) and _near(beta, 0.5)
    found = _hard_sigmoid(links, gate, k)
    if found is None or found[1] is not x:
        return False
    return _near(found[2]["alpha"], 1 / 6) and _near(found[2]["beta"], 0.5)


def _is_erf_gate(links: Links, x: Value, gate: Value) -> bool:
    """Whether gate = 1 + erf(x / sqrt(2))."""
    inner = _plus(links, gate)
    erf = None if inner is None else links.private(inner[0], "Erf")
    if inner is None or erf is None or not _near(inner[1], 1.0):
        return False
    scaled = links.producer(erf.input(0))
    if scaled is None or scaled.op not in ("Mul", "Div") or clamps(scaled):
        return False
    for given, c in both_ways(scaled)[: 2 if scaled.op == "Mul" else 1]:
        if given is x and (factor := scalar(c)) is not None:
            return _near(factor if scaled.op == "Mul" else 1 / factor, np.sqrt(0.5))
    return False


def _is_tanh_gate(links: Links, x: Value, gate: Value) -> bool:
    """Whether gate = 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))."""
    inner = _plus(links, gate)
    tanh = None if inner is None else links.private(inner[0], "Tanh")
    scaled = None if tanh is None else links.producer(tanh.input(0), "Mul")
    if inner is None or scaled is None or not _near(inner[1], 1.0):
        return False
    leaves, k = _factors(links, scaled, 1.0)
    total = links.producer(leaves[0], "Add") if len(leaves) == 1 else None
    if total is None or clamps(total) or not _near(k, np.sqrt(2 / np.pi)):
        return False
    for given, cubed in both_ways(total):
        cube = links.producer(cubed, "Mul")
        if given is x and cube is not None:
            leaves, k = _factors(links, cube, 1.0)
            if _near(k, 0.044715) and (leaves == [x] * 3 or _is_cube(links, leaves, x)):
                return True
    return False


def _is_cube(links: Links, leaves: list[Value], x: Value) -> bool:
    power = links.producer(leaves[0], "Pow") if len(leaves) == 1 else None
    if power is None or power.input(0) is not x:
        return False
    return scalar(power.input(1)) == 3.0
