"""Which operators work in any layout, and what becomes of their attributes in another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..format.schema import BinaryFn, CompareFn, ReduceFn, UnaryFn
from ..ir import Node, Shape, Value

Attrs = dict[str, Any]
Perm = tuple[int, ...]

UNARY = frozenset(fn.name for fn in UnaryFn)
UNARY |= {"Cast", "Quantize", "Dequantize", "FakeQuantize", "Lut"}
BROADCASTING = frozenset(fn.name for fn in (*BinaryFn, *CompareFn)) | {"Where"}
OVER_NEIGHBOURS = frozenset(f"Reduce{fn.name}" for fn in ReduceFn) | {"LayerNorm"}


def inverse(perm: Sequence[int]) -> Perm:
    """The permutation that undoes `perm`."""
    return tuple(sorted(range(len(perm)), key=lambda i: perm[i]))


def compose(first: Sequence[int], then: Sequence[int]) -> Perm:
    """One permutation for a Transpose by `first` and then by `then`."""
    return tuple(first[p] for p in then)


def is_identity(perm: Sequence[int]) -> bool:
    return list(perm) == sorted(perm)


def is_kept(v: Shape, x: Shape, axes: Sequence[int]) -> bool:
    """Whether `v` has `axes` of `x` with size 1 and all others whole, to broadcast along these."""
    kept = tuple(1 if i in axes else d for i, d in enumerate(x))
    return (1,) * (len(x) - len(v)) + v == kept


def _same(node: Node, perm: Perm) -> Attrs:
    return {}


def _one_axis(node: Node, perm: Perm) -> Attrs:
    return {"axis": perm.index(node.attrs["axis"])}


def _many_axes(node: Node, perm: Perm) -> Attrs:
    return {"axes": tuple(sorted(perm.index(a) for a in node.attrs["axes"]))}


def _per_axis(*names: str) -> Callable[[Node, Perm], Attrs]:
    return lambda node, perm: {n: tuple(node.attrs[n][p] for p in perm) for n in names}


_RULES: dict[str, Callable[[Node, Perm], Attrs]] = {
    **dict.fromkeys(UNARY | BROADCASTING, _same),
    **dict.fromkeys(OVER_NEIGHBOURS, _many_axes),
    **dict.fromkeys(("Concat", "Softmax", "LogSoftmax", "ArgMax", "ArgMin", "Gather"), _one_axis),
    "Pad": _per_axis("before", "after"),
    "Slice": _per_axis("starts", "sizes", "steps"),
    "Expand": _per_axis("shape"),
}


def works_in_any_layout(node: Node) -> bool:
    """Whether permuting inputs and output alike is possible: `permuted` says how."""
    rank = len(node.output.shape)
    if node.op not in _RULES or rank < 2 or not node.attrs.get("keepdims", True):
        return False
    if node.op == "Gather" and len(node.input(1).shape) != 1:
        return False
    if node.op == "Lut" and len(node.inputs) > 2:  # whose tables are of the last axis
        return False
    data = data_inputs(node)
    if node.op in BROADCASTING or node.op == "LayerNorm":
        return all(len(v.shape) <= rank for v in data)
    return all(len(v.shape) == rank for v in data)


def data_inputs(node: Node) -> list[Value]:
    """The inputs that have the output's axes; the others are indices and tables."""
    count = 1 if node.op in ("Gather", "Lut") else len(node.inputs)
    return [v for v in node.inputs[:count] if v is not None]


def allows(node: Node, perm: Perm) -> bool:
    """Whether the node can be computed with its axes permuted: reductions run over neighbours."""
    if node.op not in OVER_NEIGHBOURS:
        return True
    axes = permuted(node, perm)["axes"]
    return tuple(axes) == tuple(range(axes[0], axes[0] + len(axes)))


def permuted(node: Node, perm: Perm) -> Attrs:
    """The attributes that change when all axes are permuted by `perm`."""
    return _RULES[node.op](node, perm)
